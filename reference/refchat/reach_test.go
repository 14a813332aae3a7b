package refchat

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTheDefaultPasswordIsForLoopback(t *testing.T) {
	for listen, open := range map[string]bool{
		"127.0.0.1:0":           false,
		"127.8.8.8:8065":        false,
		"[::1]:0":               false,
		"localhost:8065":        false,
		"[::ffff:127.0.0.1]:0":  false,
		":0":                    true,
		"0.0.0.0:0":             true,
		"[::]:8065":             true,
		"10.0.0.4:8065":         true,
		"chat.example.com:8065": true,
		"[fe80::1]:0":           true,
	} {
		// The database is never queried: there is none.
		_, err := New(t.Context(), Config{
			Listen: listen,
			DSN:    "postgres://nobody@127.0.0.1:1/none",
		})
		if got := errors.Is(err, errOpen); got != open || err == nil {
			t.Errorf("%s with the default password: %v", listen, err)
		}
		if _, err := New(t.Context(), Config{
			Listen:        listen,
			DSN:           "postgres://nobody@127.0.0.1:1/none",
			AdminPassword: "One-of-my-own-1",
		}); errors.Is(err, errOpen) {
			t.Errorf("%s with a password of one's own: %v", listen, err)
		}
	}
}

func TestProfilesAreForThisHostAndItsAdministrator(t *testing.T) {
	mux := http.NewServeMux()
	(&Server{cfg: Config{AdminUser: "sysadmin", AdminPassword: "One-of-my-own-1"}}).profiles(mux)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
		for _, tt := range []struct {
			from, name, password, via string
			want                      int
		}{
			{"127.0.0.1:4711", "", "", "", 200},
			{"[::1]:4711", "", "", "", 200},
			{"127.0.0.1:4711", "", "", "10.0.0.9", 401},
			{"10.0.0.9:4711", "", "", "", 401},
			{"10.0.0.9:4711", "sysadmin", DefaultAdminPassword, "", 401},
			{"10.0.0.9:4711", "root", "One-of-my-own-1", "", 401},
			{"10.0.0.9:4711", "sysadmin", "One-of-my-own-1", "", 200},
		} {
			r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
			r.RemoteAddr = tt.from
			if tt.name != "" {
				r.SetBasicAuth(tt.name, tt.password)
			}
			if tt.via != "" {
				r.Header.Set("X-Forwarded-For", tt.via)
			}
			mux.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf(
					"%s of %s by %s %q through %q: %d, want %d",
					path,
					tt.from,
					tt.name,
					tt.password,
					tt.via,
					w.Code,
					tt.want,
				)
			}
		}
	}
}
