package nginx_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/target/lab/nginx"
)

// need is where a proxy is missing: an error in CI, which installs one.
func need(t *testing.T) {
	t.Helper()
	if _, err := nginx.Find(); err != nil {
		failure.Lacks(t, err)
	}
}

// upstream answers with its name, and upgrades a request for that to an echo of lines.
func upstream(t *testing.T, name string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, name)
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprintf(
			rw,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
			r.Header.Get("Upgrade"),
		)
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprintf(rw, "%s %s", name, line)
		_ = rw.Flush()
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func start(t *testing.T, conf nginx.Config) *nginx.Proxy {
	t.Helper()
	port, err := lab.FreePort()
	failure.None(t, err)
	conf.Dir, conf.Listen = t.TempDir(), fmt.Sprintf("127.0.0.1:%d", port)
	s, err := nginx.Start(t.Context(), conf)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	return s
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	failure.None(t, err)
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	failure.None(t, err)
	return string(b)
}

// TestProxy checks that requests go to both upstreams in turn, an upgraded connection passes, and
// the page and the log tell of it.
func TestProxy(t *testing.T) {
	need(t)
	a, b := upstream(t, "a"), upstream(t, "b")
	s := start(t, nginx.Config{Upstreams: []string{a, b}})
	got := map[string]int{}
	for range 20 {
		got[get(t, "http://"+s.Addr()+"/x")]++
	}
	if got["a"] != 10 || got["b"] != 10 {
		t.Errorf("answers %v, want 10 of each", got)
	}
	c, err := net.DialTimeout("tcp", s.Addr(), time.Minute)
	failure.None(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(
		c,
		"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello\n",
	)
	r := bufio.NewReader(c)
	status, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 101") {
		t.Fatalf("the upgrade is answered with %q, %v", status, err)
	}
	rest, _ := io.ReadAll(r)
	if !strings.HasSuffix(string(rest), " hello\n") {
		t.Errorf("over the upgraded connection came %q", rest)
	}
	if page := get(t, s.Status()); !strings.HasPrefix(page, "Active connections: ") {
		t.Errorf("the status page is %q", page)
	}
	failure.Unless(t, func() bool {
		text, err := os.ReadFile(s.Log())
		failure.None(t, err)
		return strings.Count(string(text), a+" 200 ") == 10 &&
			strings.Count(string(text), b+" 200 ") == 10
	}, "the log does not tell of all requests")
	if d, err := s.Describe(t.Context()); err != nil || d.Name != "nginx" || d.Version == "" ||
		d.Settings["upstreams"] != a+" "+b {
		t.Errorf("described as %+v, %v", d, err)
	}
}

// A port that is taken is named, and nothing is left.
func TestTakenPort(t *testing.T) {
	need(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = nginx.Start(ctx, nginx.Config{
		Dir:       t.TempDir(),
		Listen:    l.Addr().String(),
		Upstreams: []string{"127.0.0.1:1"},
	})
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
		t.Errorf("on a taken port: %v", err)
	}
}
