package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTokensAreTheProxysOwn holds the secrets apart from the ids of users, which the null server
// gives as tokens.
func TestTokensAreTheProxysOwn(t *testing.T) {
	const inner = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v4/users/login" {
			w.Header().Set("Token", inner)
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer up.Close()
	secrets := &vault{}
	p, err := newProxy(
		&mode{name: "none"},
		newScript(ready, posters),
		strings.TrimPrefix(up.URL, "http://"),
		"",
		secrets,
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	token := ""
	for range 2 {
		resp, err := http.Post(
			p.URL()+"/api/v4/users/login",
			"application/json",
			strings.NewReader(`{"login_id":"x"}`),
		)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		got := resp.Header.Get("Token")
		if got == inner || len(got) != len(inner) || token != "" && got != token {
			t.Fatalf("token %q, before %q", got, token)
		}
		token = got
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "Bearer "+inner {
		t.Errorf("the server was asked as %q, %v", body, err)
	}
	if secrets.search().in([]byte(token)) < 0 || secrets.search().in([]byte(inner)) >= 0 {
		t.Errorf("the secrets are %q, want the proxy's own alone", secrets.all())
	}
}

// ask is a request as a script sees it.
func ask(t *testing.T, s *script, method, path, body string, header ...string) bool {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.active(r, []byte(body))
}

func TestAFaultStrikesInItsPhaseAlone(t *testing.T) {
	const admin, person = `{"login_id":"sysadmin","password":"x"}`, `{"login_id":"somebody","password":"x"}`
	for _, tc := range []struct {
		phase phase
		load  load
		want  string // of the steps below, those in which the fault strikes
	}{
		{ready, posters, "ready"},
		{provision, posters, "login team"},
		{lists, posters, "team"},
		{ramp, posters, "first early mid"},
		{measured, posters, "mid"},
		{audit, posters, "read"},
	} {
		t.Run(string(tc.phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(tc.phase, tc.load)
				defer s.end()
				var struck []string
				step := func(name, method, path, body string) {
					if ask(t, s, method, path, body) {
						struck = append(struck, name)
					}
				}
				step("ready", "GET", readyPath, "")
				step("login", "POST", "/api/v4/users/login", admin)
				step("team", "GET", "/api/v4/teams/name/x", "")
				step("first", "POST", "/api/v4/posts", "{}")
				time.Sleep(time.Second)
				step("early", "POST", "/api/v4/posts", "{}")
				time.Sleep(time.Second)
				step("mid", "POST", "/api/v4/posts", "{}")
				time.Sleep(2 * time.Second)
				step("late", "POST", "/api/v4/posts", "{}")
				step("again", "POST", "/api/v4/users/login", admin)
				step("read", "GET", "/api/v4/channels/x/posts", "")
				if got := strings.Join(struck, " "); got != tc.want {
					t.Errorf("it strikes at %q, want %q", got, tc.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScript(logins, persons)
		defer s.end()
		if ask(t, s, "POST", "/api/v4/users/login", admin) ||
			!ask(t, s, "POST", "/api/v4/users/login", person) ||
			ask(t, s, "GET", "/api/v4/users/me", "") {
			t.Error("the phase login is of people's logins alone")
		}
		v := newScript(verifyProofs, proofs)
		up := []string{"Upgrade", "websocket"}
		if ask(t, v, "POST", "/api/v4/posts", "") || ask(t, v, "GET", "/api/v4/websocket", "", up...) || ask(t, v, "GET", "/api/v4/websocket", "", up...) ||
			ask(t, v, "GET", "/api/v4/users/me", "") ||
			!ask(t, v, "POST", "/api/v4/posts", "") ||
			!ask(t, v, "GET", "/api/v4/users/me", "") {
			t.Error("the proofs begin with the first message after two people have connected")
		}
	})
}

func TestFramesAreReadWhole(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 65535, 65536, 1 << 20} {
		want := frame(true, 1, strings.Repeat("a", n))
		got, err := readFrame(strings.NewReader(want + "rest"))
		if err != nil || string(got) != want {
			t.Errorf("a frame of %d bytes: %d bytes, %v", n, len(got), err)
		}
	}
	for _, bad := range []string{"", "\x81", "\x81\x7e\x00", "\x81\x05abc", "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if _, err := readFrame(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestAnEndlessAnswerEndsWithItsClient holds every mode that writes without an end, and that waits,
// to the client's life and the proxy's.
func TestAnEndlessAnswerEndsWithItsClient(t *testing.T) {
	for _, name := range []string{"endless-body", "endless-header", "endless-100", "drip", "frozen", "frozen-body", "frozen-accept", "lying-short"} {
		t.Run(name, func(t *testing.T) {
			var m *mode
			for _, x := range modes() {
				if x.name == name {
					m = x
				}
			}
			s := newScript(verifySetup, proofs) // which is active at once
			p, err := newProxy(m, s, "127.0.0.1:1", "", &vault{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", p.ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			for p.struck.Load() == 0 {
				time.Sleep(time.Millisecond) // the test's own limit ends it
			}
			done := make(chan struct{})
			go func() { p.Close(); close(done) }()
			<-done
			c.Close()
		})
	}
}

func TestARunThatDoesNotEndIsEnded(t *testing.T) {
	ran, err := execute(
		t.Context(),
		50*time.Millisecond,
		nil,
		"/bin/sh",
		"-c",
		"echo begun; exec sleep 600",
	)
	if err != nil || ran.status != -1 || string(ran.stdout) != "begun\n" && len(ran.stdout) > 0 {
		t.Errorf("%+v, %v", ran, err)
	}
	ran, err = execute(
		t.Context(),
		time.Minute,
		nil,
		"/bin/sh",
		"-c",
		"echo out; echo err >&2; exit 6",
	)
	if err != nil || ran.status != 6 || string(ran.stdout) != "out\n" ||
		string(ran.stderr) != "err\n" {
		t.Errorf("%+v, %v", ran, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := execute(ctx, time.Minute, nil, "/bin/sh", "-c", "exit 0"); err == nil ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
