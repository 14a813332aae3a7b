package verbs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/record/store/storetest"
)

// rowsPlan has eight users with the accounts of a file beside the plan, in two processes.
const rowsPlan = `
name: rows
target: {driver: external, url: "URL", ready: /api/v4/system/ping}
workload: {behavior: mattermost, share: 75%, with: {poster: 25%}, users_file: data/users.csv, login: cold, pace: 0.02}
bounded: {users: 8, ramp: 0s, settle: 0s, measure: 1s, slo: ["rate(errors) < 90%"]}
placement: {processes: 2}
` + openGates

// A door is a null server that notes who came through: the logins with passwords, and the bearers
// of other requests.
type door struct {
	mu              sync.Mutex
	logins, bearers map[string]bool
	made            []string // objects that only an administrator makes
}

func newDoor(t *testing.T) (*door, string) {
	t.Helper()
	forward := nullProxy(t)
	forward.ModifyResponse = ofMembers
	d := &door{logins: map[string]bool{}, bearers: map[string]bool{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v4")
		d.mu.Lock()
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			d.bearers[token] = true
		}
		if r.Method == http.MethodPost &&
			(path == "/users" || path == "/teams" || path == "/bots" || strings.HasSuffix(path, "/members/batch")) {
			d.made = append(d.made, path)
		}
		if path == "/users/login" {
			body, err := io.ReadAll(r.Body)
			var in struct {
				LoginID string `json:"login_id"`
			}
			if err == nil && json.Unmarshal(body, &in) == nil {
				d.logins[in.LoginID] = true
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		d.mu.Unlock()
		if strings.HasSuffix(path, "/channels/name/plimsoll-000") {
			fmt.Fprintf(w, `{"id":%q,"name":"plimsoll-000"}`, theirChannel)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return d, srv.URL
}

// theirChannel is the channel of which all users are members, who are in none of the null server
// otherwise.
const theirChannel = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

// ofMembers adds that channel to the lists of the users' channels.
func ofMembers(r *http.Response) error {
	if !strings.Contains(r.Request.URL.Path, "/users/") ||
		!strings.HasSuffix(r.Request.URL.Path, "/channels") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(body), "},")
	_, rest, _ := strings.Cut(first, ",")
	text := fmt.Sprintf(`[{"id":%q,%s},%s`, theirChannel, rest, body[1:])
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", fmt.Sprint(len(text)))
	return nil
}

// TestUsersFile: the users of a plan have the first rows of its file, whatever their behavior and
// process; nothing is made for them, the manifest describes the file, and no password and token is
// in any output or file.
func TestUsersFile(t *testing.T) {
	t.Parallel()
	door, at := newDoor(t)
	dir := t.TempDir()
	file := "\xef\xbb\xbflogin,password,token\r\n"
	var secrets, logins, tokens []string
	for i := range 11 {
		password, token := fmt.Sprintf("Passw0rd-of-%02d", i), ""
		login := fmt.Sprintf("member-%02d", i)
		if i%3 == 2 {
			login, password, token = "", "", fmt.Sprintf("%026d", 7000+i)
			secrets = append(secrets, token)
		} else {
			secrets = append(secrets, password)
		}
		if i < 8 && token != "" {
			tokens = append(tokens, token)
		} else if i < 8 {
			logins = append(logins, login)
		}
		file += login + "," + password + "," + token + "\r\n"
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		failure.None(t, os.MkdirAll(filepath.Dir(name), 0o700))
		failure.None(t, os.WriteFile(name, []byte(text), 0o640))
	}
	write("data/users.csv", file)
	write("plan.yaml", strings.Replace(rowsPlan, "URL", at, 1))
	root := filepath.Join(dir, "store")
	cmd, output := launch(t, inStore(dir, "run", filepath.Join(dir, "plan.yaml"))...)
	if status := wait(t, cmd, time.Minute, output); status != exit.OK && status != exit.Invalid {
		t.Fatalf("status %d\n%s", status, output)
	}
	if !strings.Contains(output.String(), "others than its owner may read") {
		t.Errorf("no word about a file that others may read\n%s", output)
	}
	door.mu.Lock()
	defer door.mu.Unlock()
	for _, login := range logins {
		if !door.logins[login] {
			t.Errorf("%s did not log in", login)
		}
		delete(door.logins, login)
	}
	for _, token := range tokens {
		if !door.bearers[token] {
			t.Errorf("nobody came with token %s", token[len(token)-2:])
		}
	}
	if len(door.logins) > 0 || slices.ContainsFunc(secrets, func(s string) bool {
		return door.bearers[s] && !slices.Contains(tokens, s)
	}) || len(door.made) > 0 {
		t.Errorf("others came, too: %v; made: %v", door.logins, door.made)
	}
	st := storetest.At(t, root)
	entries, _, err := st.List(t.Context())
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d runs, %v", len(entries), err)
	}
	r, err := st.Run(entries[0].ID)
	failure.None(t, err)
	if f := r.Manifest.Accounts; f == nil || f.Name != "users.csv" || f.Rows != 11 ||
		len(f.Digest) != 71 ||
		r.Manifest.Processes != 2 {
		t.Errorf("the manifest has %+v, %d processes", f, r.Manifest.Processes)
	}
	if m := r.Manifest; strings.Contains(m.Plan, dir) ||
		!strings.Contains(m.Plan, "users_file: data/users.csv\n") ||
		!strings.Contains(m.Plan, m.Accounts.Digest) {
		t.Errorf(
			"the plan of the run has not the path as it was written, with the digest:\n%s",
			m.Plan,
		)
	}
	for _, s := range secrets {
		if strings.Contains(output.String(), s) {
			t.Errorf("the output has a secret\n%s", output)
		}
	}
	noSecrets(t, root, secrets)
}
