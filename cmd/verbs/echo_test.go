package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
)

const (
	echoedAdmin = "Adm1n-very&secret<1>"
	echoedUser  = "Us3r-very\"secret\"-1"
	forged      = "plimsoll: run 20260101-000000-x-0000: sealed, valid, verdict better"
	escapes     = "\x1b[2J\x1b]0;pwned\x07\u009b31m\u202e\u2066\u2028\u200b\x7f\r\n" + forged + "\n"
)

// An echoTarget stands before the null server. It issues tokens of its own and echoes each secret
// that it has seen, with bytes that control a terminal or forge a line, in every field of an error
// that a client may read.
type echoTarget struct {
	*httptest.Server
	behind *httputil.ReverseProxy
	// attacks reports whether a request is answered by an attack.
	attacks func(*http.Request) bool

	mu     sync.Mutex
	tokens map[string]string // issued -> that of the null server
	n      int
	shown  map[string]bool // of those, which the client has sent
	pages  int             // of metrics
}

func startEcho(t *testing.T, attacks func(*http.Request) bool) *echoTarget {
	t.Helper()
	h := &echoTarget{
		behind:  nullProxy(t),
		attacks: attacks,
		tokens:  map[string]string{},
		shown:   map[string]bool{},
	}
	h.behind.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	h.behind.ModifyResponse = h.issue
	h.Server = httptest.NewServer(h)
	t.Cleanup(func() { h.Server.CloseClientConnections(); h.Server.Close() })
	return h
}

// issue replaces a token that the null server issues.
func (h *echoTarget) issue(r *http.Response) error {
	if r.Request.Method == "POST" && strings.HasSuffix(r.Request.URL.Path, "/tokens") {
		b, err := io.ReadAll(r.Body)
		var v map[string]any
		if err != nil || json.Unmarshal(b, &v) != nil || v["token"] == nil {
			return fmt.Errorf("no token in %q", b)
		}
		v["token"] = h.token(fmt.Sprint(v["token"]))
		if b, err = json.Marshal(v); err != nil {
			return err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.Header.Set("Content-Length", fmt.Sprint(len(b)))
	}
	if inner := r.Header.Get("Token"); inner != "" {
		r.Header.Set("Token", h.token(inner))
	}
	return nil
}

func (h *echoTarget) token(inner string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	token := fmt.Sprintf("t0k3n%021d", h.n)
	h.tokens[token] = inner
	return token
}

// secrets are all that the client knows and may not show.
func (h *echoTarget) secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []string{echoedAdmin, echoedUser, "t0k3n0"}
	for token := range h.tokens {
		out = append(out, token)
	}
	return out
}

// used are the secrets that the client certainly knows.
func (h *echoTarget) used() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(slices.Sorted(maps.Keys(h.shown)), echoedAdmin)
}

func (h *echoTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if r.URL.Path == "/metrics" {
		h.mu.Lock()
		pages := h.pages
		h.pages++
		h.mu.Unlock()
		if pages%3 == 2 {
			_, _ = fmt.Fprintf(
				w,
				"good 1\nbad{a=\"%s%s\"} %s%s\n",
				strings.ReplaceAll(escapes, "\n", " "),
				echoedAdmin,
				echoedUser,
				strings.ReplaceAll(escapes, "\n", " "),
			)
			return
		}
		for i, secret := range h.used() { // a good page
			_, _ = fmt.Fprintf(
				w,
				"held{n=\"%d\",a=%q} 1\nheld_too{a=%q} 1\n",
				i,
				secret,
				"x "+secret+" y",
			)
		}
		return
	}
	if h.attacks(r) {
		h.attack(w, r, own)
		return
	}
	h.mu.Lock()
	inner := h.tokens[own]
	if inner != "" {
		h.shown[own] = true
	}
	h.mu.Unlock()
	if inner != "" {
		r.Header.Set("Authorization", "Bearer "+inner)
	}
	h.behind.ServeHTTP(w, r)
}

// attack answers a request, in another way each time.
func (h *echoTarget) attack(w http.ResponseWriter, r *http.Request, token string) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	h.mu.Lock()
	h.n++
	kind := h.n % 7
	h.mu.Unlock()
	all := fmt.Sprintf(
		"%sAuthorization: Bearer %s %s %s %s",
		escapes,
		token,
		echoedAdmin,
		echoedUser,
		body,
	)
	id := []string{all, token, "x." + token + ".y", echoedAdmin, "api.error" + escapes, (token + "." + strings.Repeat("y", 119))[:119], "u1"}[kind]
	status := []int{500, 400, 403, 401, 404, 503, 200}[kind]
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Version-Id", token+"\u202e")
	if strings.HasSuffix(r.URL.Path, "/login") {
		w.Header().Set("Token", h.token(""))
	}
	w.WriteHeader(status)
	b, _ := json.Marshal(map[string]any{
		"id":             id,
		"message":        all,
		"detailed_error": all,
		"request_id":     all,
		"status":         all,
		"status_code":    status,
		"username":       all,
		"roles":          all,
		"Version":        all,
	})
	_, _ = w.Write(b)
}

// controlIn returns the first character of text that no terminal should see.
func controlIn(text string) string {
	for i, r := range text {
		if r == '\n' || r == '\t' {
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) ||
			r == utf8.RuneError && n == 1 {
			return fmt.Sprintf("%q in %q", r, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	return ""
}

// harmless reports the parts of an attack that arrived in a text.
func harmless(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	if c := controlIn(text); c != "" {
		t.Errorf("%s: control character %s", where, c)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), forged) {
			t.Errorf("%s: a forged line: %s", where, line)
		}
	}
	unveiled(t, where, text, secrets)
}

// unveiled reports the secrets in a text, also as encoders write them.
func unveiled(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		encoded, _ := json.Marshal(s)
		for _, form := range []string{s, string(encoded[1 : len(encoded)-1]), url.QueryEscape(s)} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf(
					"%s: the secret %q is shown: %q",
					where,
					s,
					text[max(0, i-60):min(len(text), i+60)],
				)
				return
			}
		}
	}
}

// The first answer attacks in any field, with any content.
func TestEchoingLoginShowsNothing(t *testing.T) {
	for kind := range 7 {
		h := startEcho(t, func(*http.Request) bool { return true })
		h.mu.Lock()
		h.n = kind
		h.mu.Unlock()
		env := map[string]string{
			"PLIMSOLL_ADMIN_TOKEN":    "t0k3n" + strings.Repeat("7", 21),
			"PLIMSOLL_ADMIN_PASSWORD": echoedAdmin,
			"PLIMSOLL_USER_PASSWORD":  echoedUser,
		}
		var out safeBuffer
		a := &app.App{
			Stdin:  strings.NewReader(""),
			Stdout: &out,
			Stderr: &out,
			Env:    func(k string) string { return env[k] },
		}
		if status := run(t.Context(), a, []string{"target", "verify", h.URL}); status != exit.Tool ||
			!strings.Contains(out.String(), "administrator") {
			t.Errorf("attack %d: status %d: %s", kind, status, out.String())
		}
		harmless(
			t,
			fmt.Sprint("attack ", kind),
			out.String(),
			append(h.secrets(), env["PLIMSOLL_ADMIN_TOKEN"]),
		)
	}
}

// A target that echoes every secret in every field, with escapes and forged lines, shows none of
// it: neither on a terminal nor in a file.
func TestEchoingTargetShowsNothing(t *testing.T) {
	t.Parallel()
	const refused = "does not answer as a server" // by the preflight
	everything := func(*http.Request) bool { return true }
	later := func(r *http.Request) bool { // the calls of the load, after provisioning
		return strings.HasSuffix(r.URL.Path, "/posts") || strings.Contains(r.URL.Path, "/drafts") ||
			strings.Contains(r.URL.Path, "/search") ||
			strings.Contains(r.URL.Path, "/reactions")
	}
	plan := `
name: hostile
target: {driver: external, url: %q, ready: /api/v4/system/ping, metrics_url: /metrics}
workload: {behavior: %s, pace: 0.05, login: cold}
bounded: {users: 15, ramp: 1s, settle: 1s, measure: 2s}
unbounded: {max_users: 20, start: 10, budget: 1500ms}
`
	pinging := func(f func(*http.Request) bool) func(*http.Request) bool {
		return func(r *http.Request) bool {
			return !strings.HasSuffix(r.URL.Path, "/system/ping") && f(r)
		}
	}
	for _, tt := range []struct {
		name, behavior string
		attacks        func(*http.Request) bool
		args           []string // URL or plan follows
		tell           string   // text in stderr or a file that shows that the attack was noticed
	}{
		{"run, everything", "poster", pinging(everything), []string{"run"}, refused},
		{"capacity, everything", "mattermost", pinging(everything), []string{"capacity"}, refused},
		{"verify, the load", "", pinging(later), []string{"target", "verify", "-only=create_post,search_posts,upsert_draft,add_reaction"}, "FAILED"},
		{"verify as JSON", "", pinging(later), []string{"target", "verify", "-json", "-only=create_post,search_posts,upsert_draft"}, "FAILED"},
		{"posters", "poster", pinging(later), []string{"run"}, "first failure of its kind"},
		{"persons", "mattermost", pinging(later), []string{"run", "-json"}, "first failure of its kind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("loads a server")
			}
			h := startEcho(t, tt.attacks)
			dir := t.TempDir()
			last := h.URL
			if tt.behavior != "" {
				last = filepath.Join(dir, "plan.yaml")
				failure.None(t, os.WriteFile(last, fmt.Appendf(nil, plan, h.URL, tt.behavior), 0o600))
			}
			root := filepath.Join(dir, "store")
			env := map[string]string{
				"PLIMSOLL_ADMIN_PASSWORD": echoedAdmin,
				"PLIMSOLL_USER_PASSWORD":  echoedUser,
				"PLIMSOLL_STORE":          root,
				"PLIMSOLL_CALIBRATE":      "false",
			}
			var stdout, stderr safeBuffer
			a := &app.App{
				Stdin:    strings.NewReader(""),
				Stdout:   &stdout,
				Stderr:   &stderr,
				Env:      func(k string) string { return env[k] },
				Terminal: tt.args[0] == "run",
			}
			if status := run(t.Context(), a, append(tt.args, last)); status == exit.OK ||
				(status == exit.Usage) != (tt.tell == refused) {
				t.Errorf("exit status %d of a target that fails", status)
			}
			talk := strings.ReplaceAll(stderr.String(), "\r\x1b[K", "\n") // ours
			secrets := h.secrets()
			harmless(t, "stdout", stdout.String(), secrets)
			harmless(t, "stderr", talk, secrets)
			told := stdout.String() + talk
			told += harmlessStore(t, root, secrets)
			if !strings.Contains(told, tt.tell) {
				t.Errorf("nothing says %q:\n%s", tt.tell, told)
			}
			if tt.behavior == "" || !strings.HasPrefix(tt.tell, "first") {
				return
			}
			// The output about the stored run, by another process that knows no secret.
			for _, verb := range [][]string{{"show", onlyRunID(t, root)}, {"show", "-json", onlyRunID(t, root)}, {"ls"}} {
				var out safeBuffer
				b := &app.App{
					Stdin:  strings.NewReader(""),
					Stdout: &out,
					Stderr: &out,
					Env: func(k string) string {
						return map[string]string{"PLIMSOLL_STORE": root}[k]
					},
				}
				if status := run(t.Context(), b, verb); status == exit.Tool ||
					status == exit.Usage {
					t.Errorf("%v: status %d\n%s", verb, status, out.String())
				}
				harmless(t, verb[0], out.String(), secrets)
			}
		})
	}
}

func onlyRunID(t *testing.T, root string) string {
	t.Helper()
	runs, err := os.ReadDir(filepath.Join(root, "runs"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0].Name()
}

// harmlessStore checks every file of a store, and that no other user may read it; it returns the
// texts.
func harmlessStore(t *testing.T, root string, secrets []string) string {
	t.Helper()
	var texts strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		// As root, a database's user may read it, too.
		if mode := fi.Mode().Perm(); mode&0o077 != 0 && (path != root || mode != 0o711) {
			t.Errorf("%s: mode %04o, want nothing for others", path, mode)
		}
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".json", ".jsonl", ".md", ".html", ".csv", ".txt", ".log":
			harmless(t, path, string(b), secrets)
			texts.Write(b)
		default:
			unveiled(t, path, string(b), secrets)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return texts.String()
}

// Names in foreign and stored files, and in arguments, drive no terminal and forge no line.
func TestForeignFilesShowNothing(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		writeText(t, path, text)
		return path
	}
	quoted, err := json.Marshal(escapes)
	failure.None(t, err)
	root := filepath.Join(dir, "store")
	st := storetest.At(t, root)
	w, err := st.Create(record.Manifest{
		ID:         "20260101-000000-x-0000",
		Name:       escapes,
		Arm:        escapes,
		Engine:     escapes,
		Comparison: escapes,
		Plan:       escapes,
		PlanDigest: escapes,
		Target:     json.RawMessage(`{"version":` + string(quoted) + `}`),
		Phases:     []record.Phase{{Name: "measure", To: 1, Ended: escapes}},
		Capacity: &record.Capacity{
			Kind:    record.Unstable,
			Why:     escapes,
			Rule:    escapes,
			Stopped: escapes,
		},
	})
	failure.None(t, err)
	failure.None(t, failure.Of(w.Seal(t.Context(), record.Validity{Findings: []record.Finding{{
		Gate:  escapes,
		Level: record.Red,
		Text:  escapes,
	}}}, "")))
	events := filepath.Join(w.Dir(), record.EventsFile)
	writeText(
		t,
		events,
		`{"kind":"error","text":`+string(
			quoted,
		)+"}\n"+`{"kind":"slo","rule":`+string(
			quoted,
		)+",\"violated\":true}\n",
	)
	cell := write("cell.csv", "pair,base,new\n1,10,\"11"+escapes+"\"\n2,x,y\n")
	k6 := write(
		"k6.json",
		`{"metrics":{"http_req_duration":{"contains":`+string(
			quoted,
		)+`,"type":"trend","values":{"p(95)":1}},"http_reqs":{"contains":"default","type":"counter","values":{"count":1,"rate":1}}}}`,
	)
	figures := write("figures.txt", "capacity"+escapes+": 12 users\nname: value\n")
	plan := write(
		"plan.yaml",
		"name: x\nworkload: {behavor: "+string(quoted)+"}\n"+string(quoted)+": 1\n",
	)
	for _, args := range [][]string{
		{"ls"}, {"ls", "-json"}, {"show", "20260101"}, {"show", "-json", "20260101"}, {"judge", cell}, {"judge", "-base", k6, "-new", k6}, {"judge", "-base", figures, "-new", cell},
		{"judge", "-base", "20260101", "-new", k6}, {"judge", filepath.Join(dir, escapes)}, {"plan", "check", plan}, {"report", filepath.Join(dir, escapes)}, {"show", escapes}, {escapes}, {"run", "-database", escapes, plan},
		{"target", "verify", escapes}, {"serve", "-prometheus", escapes},
	} {
		var out safeBuffer
		a := &app.App{
			Stdin:  strings.NewReader(""),
			Stdout: &out,
			Stderr: &out,
			Env:    func(k string) string { return map[string]string{"PLIMSOLL_STORE": root}[k] },
		}
		run(t.Context(), a, args)
		harmless(t, strings.ToValidUTF8(fmt.Sprintf("%q", args), "?"), out.String(), nil)
		if out.String() == "" {
			t.Errorf("%q printed nothing", args)
		}
	}
}
