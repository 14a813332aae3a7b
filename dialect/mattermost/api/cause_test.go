package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

// standIn starts a server, perhaps one with TLS, in the place of a proxy and returns its address.
func standIn(t *testing.T, secure bool, status int, body string, header ...string) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}),
	)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	start := srv.Start
	if secure {
		start = srv.StartTLS
	}
	start()
	t.Cleanup(srv.Close)
	return srv.URL
}

// alerting starts a server that refuses everything but TLS by an alert, as many do, and returns its
// address.
func alerting(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 1<<10))
			conn.Write([]byte{21, 3, 1, 0, 2, 2, 70})
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// A mistaken address, a proxy in between and this host each fail a call with their own name and the
// remedy.
func TestCauses(t *testing.T) {
	for name, tt := range map[string]struct{ url, want string }{
		"redirect": {standIn(t, false, 301, "", "Location",
			"https://chat.example.com/sub/api/v4/users/login?t=SECRET"),
			"a redirect to https://chat.example.com/sub; write that as the address"},
		"redirect to a login": {standIn(t, false, 302, "", "Location",
			"https://u:SECRET@sso.example.com/login?rd=SECRET"),
			"a redirect to https://sso.example.com/login, which is not the API"},
		"redirect to nowhere": {standIn(t, false, 307, ""), "a redirect to nowhere"},
		"nginx's TLS port": {standIn(t, false, 400,
			"<html>400 The plain HTTP request was sent to HTTPS port</html>"), tlsPort},
		"a TLS port":         {strings.Replace(standIn(t, true, 200, ""), "https", "http", 1), tlsPort},
		"a TLS port's alert": {alerting(t), tlsPort},
		"a port without TLS": {strings.Replace(standIn(t, false, 200, ""), "http", "https", 1),
			plainPort},
		"private authority": {standIn(t, true, 200, ""), authority},
		"client certificate": {standIn(t, false, 400,
			"<html>400 No required SSL certificate was sent</html>"), ownCert},
		"nginx's limit_req": {standIn(t, false, 503,
			"<html>503 Service Temporarily Unavailable</html>"), unavailable},
		"another path":     {standIn(t, false, 404, "404 page not found"), noAPI},
		"no server behind": {standIn(t, false, 502, "<html>502 Bad Gateway</html>"), unreached},
		"a page": {standIn(t, false, 200, "<!DOCTYPE html><title>Welcome</title>"),
			pageCause},
		"a login page": {standIn(t, false, 401, "<html><title>Sign in</title></html>"),
			pageCause},
		"the application's": {standIn(t, false, 503, `{"id":"api.context.server_busy.app_error"}`),
			"api.context.server_busy.app_error"},
		"a host in Unicode": {"http://m\u00fcnchen.invalid", "lookup xn--mnchen-3ya.invalid"},
		"a scheme in capitals": {strings.Replace(standIn(t, false, 502, ""), "http", "HTTP", 1),
			unreached},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newTestClient(t, tt.url)
			_, err := c.Me(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestCausesOfBrokenConnections(t *testing.T) {
	for want, err := range map[string]error{
		noPort:    fmt.Errorf("dial tcp 127.0.0.1:80: %w", syscall.EADDRNOTAVAIL),
		ownCert:   &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
		plainPort: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
	} {
		if got := brokenCause(&wire.Error{Phase: wire.PhaseDial, Err: err}); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// A proxy that does not pass the WebSocket's Upgrade on, or limits requests, is named.
func TestCausesOfSockets(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		want   string
	}{
		"upgrade dropped": {400, "the WebSocket's Upgrade did not reach the application"},
		"a page":          {200, "the WebSocket's Upgrade did not reach the application"},
		"a limit":         {429, limited},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newTestClient(t, standIn(t, false, tt.status, "Bad Request"))
			if _, err := c.Connect(t.Context()); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A refused call is repeated when the refusal asks for it, or ever later, until it succeeds or has
// waited too long.
func TestPatience(t *testing.T) {
	refused := &OpError{Op: "login", Class: measure.Status4xx, Status: 429, After: 3 * time.Second}
	later := &OpError{Op: "login", Class: measure.Status4xx, Status: 429, After: time.Hour}
	silent := &OpError{Op: "login", Class: measure.Status5xx, Status: 503}
	other := &OpError{Op: "login", Class: measure.Status5xx, Status: 500}
	for name, tt := range map[string]struct {
		answers     []error
		least, most time.Duration
		err         error
	}{
		"none":        {[]error{nil}, 0, 0, nil},
		"no limit":    {[]error{other, nil}, 0, 0, other},
		"as told":     {[]error{refused, refused, nil}, 6 * time.Second, 6225 * time.Millisecond, nil},
		"too long":    {[]error{later}, 0, time.Nanosecond, later},
		"not told":    {[]error{silent, silent, nil}, 30 * time.Millisecond, 90 * time.Millisecond, nil},
		"then failed": {[]error{refused, other}, 3 * time.Second, 3075 * time.Millisecond, other},
		"for ever":    {[]error{silent}, mostHeld - 2*mostHold, mostHeld, silent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p Patience
				calls := 0
				err := p.do(t.Context(), func() error {
					calls++
					return tt.answers[min(calls, len(tt.answers))-1]
				})
				held, refusals := p.Held()
				if !errors.Is(err, tt.err) || held < tt.least || held > tt.most ||
					(refusals == 0) != (tt.most == 0) {
					t.Errorf(
						"%v after %d calls, %d refused, held for %v",
						err,
						calls,
						refusals,
						held,
					)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := Patience{Log: func(format string, _ ...any) {
			t.Errorf("%q, and nothing is waited for", format)
		}}
		err := p.do(t.Context(), func() error { return later })
		if want := "it asks for a longer wait than 2m0s"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var p Patience
		for range 20 { // a server that refuses all is waited for once
			if err := p.do(t.Context(), func() error { return silent }); !errors.Is(err, silent) {
				t.Error(err)
			}
		}
		if held, _ := p.Held(); held > mostHeld {
			t.Errorf("held for %v in all", held)
		}
	})
	// the end of the calls beside it does not renew the patience
	synctest.Test(t, func(t *testing.T) {
		var p Patience
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				p.do(ctx, func() error { return silent })
				cancel()
			})
		}
		wg.Wait()
		from := time.Now()
		if err := p.do(t.Context(), func() error {
			return silent
		}); err != silent || time.Since(from) != 0 {
			t.Errorf("%v after %v more", err, time.Since(from))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := new(Patience).do(ctx, func() error {
			return refused
		}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of the context: %v", err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "-5": 0, "soon": 0, "0": 0, "3": 3 * time.Second, "1000000000": time.Hour,
		"1" + strings.Repeat("0", 30): time.Hour, "Thu, 01 Jan 1970 00:00:00 GMT": 0,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
