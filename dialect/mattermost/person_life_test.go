package mattermost

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A person whose reload or new session fails half way is no worse off than one whose first login
// fails: its next action begins with another arrival, which succeeds as soon as the server does,
// and it never calls with a session that it has ended.
func TestAFailedArrivalIsMadeUpFor(t *testing.T) {
	null, err := url.Parse(nullProcess(t))
	noError(t, err)
	var refused atomic.Pointer[string] // the end of the path that fails
	var loggedOut atomic.Bool
	var strays atomic.Int64 // calls with the session that was ended
	behind := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(null) }}
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch bad := refused.Load(); {
		case bad != nil && strings.HasSuffix(r.URL.Path, *bad):
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case strings.HasSuffix(r.URL.Path, "/users/logout"):
			loggedOut.Store(true)
		case strings.HasSuffix(r.URL.Path, "/users/login"):
			loggedOut.Store(false)
		case loggedOut.Load():
			strays.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	})
	for _, tt := range []struct{ action, refused string }{
		{"full_reload", "/users/me"},
		{"full_reload", "/websocket"},
		{"full_reload", "/roles/names"}, // connected, and nothing loaded
		{"logout_login", "/users/logout"},
		{"logout_login", "/users/login"},
		{"logout_login", "/websocket"},
		{"logout_login", "/roles/names"},
	} {
		t.Run(tt.action+tt.refused, func(t *testing.T) {
			env := nullEnv(addr, 0.01)
			env.Weights = map[string]float64{tt.action: 1}
			loggedOut.Store(false) // the null server's tokens are not more than names
			b := &Person{}
			noError(t, b.Provision(t.Context(), env, 1))
			actor := newActor(t, b, env, userOf(env, 0))
			defer actor.Close()
			noError(t, actor.Login(t.Context()))
			strays.Store(0)
			refused.Store(&tt.refused)
			defer refused.Store(nil)
			for range 2 { // the second time, it is the arrival that fails
				if err := actor.Act(t.Context()); err != nil {
					t.Fatalf(
						"%s, refused by the server: %v; want no error, for it is recorded",
						tt.action,
						err,
					)
				}
			}
			refused.Store(nil)
			if b.mix, err = newMix(map[string]float64{"reconnect_websocket": 1}, &b.facts); err != nil {
				t.Fatal(err)
			}
			if err := actor.Act(t.Context()); err != nil {
				t.Errorf("the next action: %v", err)
			}
			a := actor.(*person)
			if a.socket() == nil || a.channel() == nil || a.isGone() {
				t.Errorf("the person has a socket: %v, a channel: %v; want both", a.socket() != nil,
					a.channel() != nil)
			}
			if n := strays.Load(); n != 0 {
				t.Errorf("%d calls with the session that was ended", n)
			}
		})
	}
}
