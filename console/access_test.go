package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/live"
)

const (
	viewerToken   = "viewer-token-of-at-least-32-characters"
	operatorToken = "operator-token-of-at-least-32-characters"
)

func tokens(t *testing.T) Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("# people\nviewer "+viewerToken+"\n\noperator "+operatorToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadTokens(t *testing.T) {
	for text, want := range map[string]string{
		"viewer short\n":                   "tokens:1: want viewer or operator",
		"admin " + viewerToken + "\n":      "tokens:1: want viewer",
		"\nviewer " + viewerToken + " x\n": "tokens:2: want",
		"# none\n":                         "has no token",
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadTokens(path)
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), viewerToken) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("others may read: %v", err)
		}
	}
}

// under is a store with a run that publishes and takes orders, behind a server with a login.
type under struct {
	*Console
	srv    *httptest.Server
	pub    *live.Publisher
	orders chan live.Order
}

func serveUnder(t *testing.T, c Config) *under {
	t.Helper()
	// A short path: the publisher's own test has the long ones.
	st := newStore(t)
	w, err := st.Create(record.Manifest{
		ID:    testRun,
		Name:  "quickstart",
		Epoch: time.Unix(200, 0).UTC(),
	})
	if err != nil {
		t.Fatal(err)
	}
	u := &under{orders: make(chan live.Order, 10)}
	u.pub, err = live.Open(w.Dir(), func(o live.Order) (string, error) {
		if o.Do == live.OrderStorm {
			return "", errors.New("these users take part in no storms")
		}
		u.orders <- o
		return "as you like", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Store = st
	var end func()
	u.Console, u.srv, end = looking(t, c)
	t.Cleanup(func() { end(); u.pub.Close(live.Ending{State: "ended"}) })
	u.publish(1)
	until(t, u.Console, 1)
	return u
}

func (u *under) publish(seq int64) {
	u.pub.Publish(&live.Frame{
		V:     live.Version,
		Kind:  live.KindRun,
		ID:    testRun,
		Seq:   seq,
		At:    float64(seq),
		Phase: "measure",
	})
}

// post sends JSON with further header lines, and returns the answer.
func post(
	t *testing.T,
	srv *httptest.Server,
	path, body string,
	header ...string,
) (*http.Response, string) {
	t.Helper()
	return send(
		t,
		srv,
		"POST",
		path,
		body,
		append([]string{"Content-Type: application/json"}, header...)...)
}

func TestLogin(t *testing.T) {
	u := serveUnder(t, Config{Tokens: tokens(t)})
	for _, path := range []string{"/api/live", "/api/history", "/api/live/" + testRun + "/stream", "/api/documents/runs/x/report.html", "/api/plans"} {
		if resp, body := ask(t, u.srv, "GET", path, ""); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a login: %s %s", path, resp.Status, body)
		}
	}
	// the page that asks for the token
	for _, path := range []string{"/", "/app.js", "/api/session"} {
		if resp, body := ask(t, u.srv, "GET", path, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("%s without a login: %s %.100s", path, resp.Status, body)
		}
	}
	if resp, _ := post(t, u.srv, "/api/login", `{"token":"`+viewerToken+`x"}`); resp.StatusCode != http.StatusUnauthorized ||
		len(resp.Cookies()) != 0 {
		t.Fatalf("a wrong token: %s, cookies %v", resp.Status, resp.Cookies())
	}
	resp, body := post(t, u.srv, "/api/login", `{"token":"`+viewerToken+`"}`)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"role":"viewer"`) ||
		len(resp.Cookies()) != 1 {
		t.Fatalf("%s %s, cookies %v", resp.Status, body, resp.Cookies())
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" ||
		c.MaxAge <= 0 ||
		strings.Contains(c.Value, viewerToken) {
		t.Errorf("cookie %v", c)
	}
	cookie := "Cookie: " + c.Name + "=" + c.Value
	if resp, body := getWith(t, u.srv, "/api/live", cookie); resp.StatusCode != http.StatusOK ||
		!strings.Contains(body, testRun) {
		t.Fatalf("%s %s", resp.Status, body)
	}
	if resp, body := post(t, u.srv, "/api/live/"+testRun+"/stop", `{}`, cookie); resp.StatusCode != http.StatusForbidden ||
		!strings.Contains(body, "operator") {
		t.Fatalf("a viewer stops: %s %s", resp.Status, body)
	}
	if resp, _ := post(t, u.srv, "/api/logout", `{}`, cookie); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	if resp, _ := getWith(t, u.srv, "/api/live", cookie); resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("after the logout: %s", resp.Status)
	}
	if resp, _ := getWith(t, u.srv, "/api/live", "Authorization: Bearer "+operatorToken); resp.StatusCode != http.StatusOK {
		t.Fatalf("a program's token: %s", resp.Status)
	}
	if len(u.orders) != 0 {
		t.Fatal("an order came through")
	}
}

// TestWrongTokensLockNobodyOut tries many wrong tokens by login and by header: the right one is
// taken all the same, from the host that failed, too.
func TestWrongTokensLockNobodyOut(t *testing.T) {
	u := serveUnder(t, Config{Tokens: tokens(t)})
	now := time.Now()
	u.access.now = func() time.Time { return now }
	for range 60 {
		if resp, _ := getWith(t, u.srv, "/api/live", "Authorization: Bearer wrong"); resp.StatusCode != http.StatusUnauthorized {
			t.Fatal(resp.Status)
		}
		if resp, _ := post(t, u.srv, "/api/login", `{"token":"wrong"}`); resp.StatusCode != http.StatusUnauthorized {
			t.Fatal(resp.Status)
		}
	}
	resp, body := post(t, u.srv, "/api/login", `{"token":"`+operatorToken+`"}`)
	if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		t.Fatalf("%s %s", resp.Status, body)
	}
	cookie := "Cookie: " + cookieName + "=" + resp.Cookies()[0].Value
	if resp, _ := getWith(t, u.srv, "/api/live", cookie); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	now = now.Add(sessionLength + time.Second)
	if resp, _ := getWith(t, u.srv, "/api/live", cookie); resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("a session that is over: %s", resp.Status)
	}
}

func TestOrdersOfAnOperator(t *testing.T) {
	u := serveUnder(t, Config{Tokens: tokens(t)})
	bearer := "Authorization: Bearer " + operatorToken
	own := "Origin: " + u.srv.URL
	users := "/api/live/" + testRun + "/users"
	for _, c := range []struct {
		path, body string
		header     []string
		status     int
		want       string
	}{
		{users, `{"users": 7, "over": 2}`, []string{bearer, own}, 200, `{"done":"as you like"}`},
		{"/api/live/" + testRun + "/stop", `{}`, []string{bearer}, 200, "as you like"},
		{"/api/live/" + testRun + "/storm", `{"kind":"login","share":0.5}`, []string{bearer, own}, 409, "no storms"},
		{users, `{"users": 7}`, []string{bearer, "Origin: http://evil.example"}, 403, "Origin"},
		{users, `{"users": 7}`, []string{bearer, "Origin: null"}, 403, "Origin"},
		{users, `{"users": 7}`, []string{bearer, strings.Replace(own, "http:", "https:", 1)}, 403, "Origin"},
		{users, `{"users": 7}`, []string{bearer, "Sec-Fetch-Site: cross-site"}, 403, "Origin"},
		{users, `{"users": 7}`, []string{bearer, own, "Host: evil.example"}, 403, "Host"},
		{users, `{"users": 7}`, []string{bearer, own, "Content-Type: text/plain"}, 415, "application/json"},
		{users, `{"users": 7, "unknown": 1}`, []string{bearer, own}, 400, "unknown"},
		{users, `{"users": 7} {}`, []string{bearer, own}, 400, "more than one"},
		{users, `{}`, []string{bearer, own}, 400, "users is missing"},
		{users, `{"users": 7, "x": "` + strings.Repeat("x", mostBody) + `"}`, []string{bearer, own}, 413, "larger"},
		{"/api/live/nothing/users", `{"users": 7}`, []string{bearer, own}, 404, "under way"},
		{"/api/start", `{"plan": "x.yaml", "verb": "run"}`, []string{bearer, own}, 409, "-plans"},
	} {
		resp, body := post(t, u.srv, c.path, c.body, c.header...)
		if resp.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf(
				"%s %.60s %v: %s %s, want %d %s",
				c.path,
				c.body,
				c.header[1:],
				resp.Status,
				body,
				c.status,
				c.want,
			)
		}
	}
	if o := <-u.orders; o.Do != live.OrderUsers || o.Users != 7 || o.Over != 2 {
		t.Errorf("%+v", o)
	}
	if o := <-u.orders; o.Do != live.OrderStop {
		t.Errorf("%+v", o)
	}
	if n := len(u.orders); n != 0 {
		t.Errorf("%d more orders came through", n)
	}
}

// TestTenStreams has ten browsers follow a run by the real publisher: each sees each frame, and the
// end.
func TestTenStreams(t *testing.T) {
	u := serveUnder(t, Config{Open: Viewer})
	var all []func() (string, map[string]any)
	for range 10 {
		next := follow(t, u.srv, "")
		if name, _ := next(); name != "past" {
			t.Fatal(name)
		}
		next()
		all = append(all, next)
	}
	for seq := int64(2); seq <= 4; seq++ {
		u.publish(seq)
		for i, next := range all {
			if name, f := next(); name != "frame" || f["seq"] != float64(seq) {
				t.Fatalf("stream %d: %s %v, want frame %d", i, name, f["seq"], seq)
			}
		}
	}
	valid := true
	u.pub.Close(live.Ending{State: "ended", Valid: &valid})
	for _, next := range all {
		if name, e := next(); name != "end" || e["state"] != "ended" || e["valid"] != true {
			t.Fatalf("%s %v", name, e)
		}
	}
}

// TestTLSElsewhere listens at an address that is not of the loopback device, in a way that a client
// can pin.
func TestTLSElsewhere(t *testing.T) {
	st := newStore(t)
	s := New(Config{Store: st, Tokens: tokens(t)})
	l, url, pin, err := s.Listen(Listening{Address: "0.0.0.0:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	client := &http.Client{
		Timeout: 20 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
			VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
				if sum := sha256.Sum256(raw[0]); hex.EncodeToString(sum[:]) != pin {
					return fmt.Errorf("another certificate than %s", pin)
				}
				return nil
			}}},
	}
	resp, err := client.Post(
		"https://localhost:"+port+"/api/login",
		"application/json",
		bytes.NewReader([]byte(`{"token":"`+viewerToken+`"}`)),
	)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if c := resp.Cookies(); len(c) != 1 || !c[0].Secure ||
		resp.Header.Get("Strict-Transport-Security") == "" ||
		!strings.HasPrefix(url, "https://") {
		t.Errorf("%s: cookies %v, header %v", url, c, resp.Header)
	}
	req, err := http.NewRequest("GET", "https://localhost:"+port+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example:" + port
	if resp, err = client.Do(req); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host: %s", resp.Status)
	}
	cancel()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(st.Root(), ownCertificate))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v %v", fi, err)
	}
	again, _, same, err := s.Listen(Listening{Address: "0.0.0.0:0"})
	if err != nil || same != pin {
		t.Fatalf("a pin of %s the second time, %s the first: %v", same, pin, err)
	}
	again.Close()
}

// program is a script that plays this program: it prints its arguments and waits for a file.
func program(t *testing.T) (path, release string) {
	t.Helper()
	dir := t.TempDir()
	path, release = filepath.Join(dir, "program"), filepath.Join(dir, "release")
	script := fmt.Sprintf(
		"#!/bin/sh\nfor a in \"$@\"; do echo \"<$a>\"; done\nn=0\nwhile [ ! -e %s ] && [ $n -lt 2000 ]; do sleep 0.01; n=$((n+1)); done\nexit 5\n",
		release,
	)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path, release
}

func TestStart(t *testing.T) {
	plans := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":   "name: a\ntarget: {driver: refchat}\ndatabase: {engine: [postgresql, mysql]}\nworkload: {behavior: poster}\nbounded: {users: 10, ramp: 1s, settle: 1s, measure: 4s}\n",
		"bad.yaml": "name: [\n",
		"note.txt": "no plan",
	} {
		if err := os.WriteFile(filepath.Join(plans, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(plans, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	exe, release := program(t)
	u := serveUnder(t, Config{Open: Operator, Plans: plans, Program: exe, Parse: plan.Parse})
	if _, body := ask(t, u.srv, "GET", "/api/plans", ""); !strings.Contains(body, `"file":"a.yaml"`) || !strings.Contains(body, `"verbs":["run"]`) ||
		!strings.Contains(body, `"engines":["postgresql","mysql"]`) ||
		!strings.Contains(body, `"problem":`) ||
		strings.Contains(body, "note.txt") ||
		strings.Contains(body, "link.yaml") {
		t.Fatal(body)
	}
	if resp, body := post(t, u.srv, "/api/start", `{"plan":"a.yaml","verb":"run"}`); resp.StatusCode != http.StatusConflict ||
		!strings.Contains(body, testRun+" is under way") {
		t.Fatalf("beside a run that another one has started: %s %s", resp.Status, body)
	}
	u.pub.Close(live.Ending{State: "ended"})
	for end := time.Now().Add(20 * time.Second); u.hub.busy() != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the run that has ended is under way")
		}
	}
	for body, want := range map[string]string{
		`{"plan":"../a.yaml","verb":"run"}`:                     "no such plan",
		`{"plan":"link.yaml","verb":"run"}`:                     "no such plan",
		`{"plan":"bad.yaml","verb":"run"}`:                      "cannot be started",
		`{"plan":"a.yaml","verb":"data"}`:                       "this plan is for run",
		`{"plan":"a.yaml","verb":"run","arm":"-store=/tmp"}`:    "is no name",
		`{"plan":"a.yaml","verb":"run","database":"x; reboot"}`: "is no name",
		`{"plan":"a.yaml","verb":"run","users":-3}`:             "want 1 or more",
	} {
		if resp, got := post(t, u.srv, "/api/start", body); resp.StatusCode != http.StatusBadRequest ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %s %s, want %s", body, resp.Status, got, want)
		}
	}
	resp, body := post(
		t,
		u.srv,
		"/api/start",
		`{"plan":"a.yaml","verb":"run","database":"mysql","users":20}`,
	)
	var begun struct{ PID int }
	if err := json.Unmarshal([]byte(body), &begun); err != nil || resp.StatusCode != 200 ||
		begun.PID <= 0 {
		t.Fatalf("%s %s", resp.Status, body)
	}
	if resp, body := post(t, u.srv, "/api/start", `{"plan":"a.yaml","verb":"run"}`); resp.StatusCode != http.StatusConflict ||
		!strings.Contains(body, "is running") {
		t.Fatalf("a second one: %s %s", resp.Status, body)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, body := ask(t, u.srv, "GET", "/api/started", "")
		var got struct {
			Processes []struct {
				Output  string
				Running bool
				Status  int
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Processes) != 1 {
			t.Fatal(body, err)
		}
		if p := got.Processes[0]; !p.Running {
			want := fmt.Sprintf(
				"<run>\n<-store=%s>\n<-database=mysql>\n<-users=20>\n<%s>\n",
				u.store.Root(),
				filepath.Join(plans, "a.yaml"),
			)
			if p.Output != want || p.Status != 5 {
				t.Fatalf("status %d, output %q, want %q", p.Status, p.Output, want)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("it did not end")
		}
	}
}
