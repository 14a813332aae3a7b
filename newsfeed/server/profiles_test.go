package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestProfilesAreForThisHost(t *testing.T) {
	mux := http.NewServeMux()
	profiles(mux)
	for _, tt := range []struct {
		from, via string
		want      int
	}{{"127.0.0.1:4711", "", 200}, {"[::1]:4711", "", 200}, {"10.0.0.9:4711", "", 403}, {"127.0.0.1:4711", "10.0.0.9", 403}, {"@", "", 403}} {
		r, w := httptest.NewRequest("GET", "/debug/pprof/cmdline", nil), httptest.NewRecorder()
		r.RemoteAddr = tt.from
		if tt.via != "" {
			r.Header.Set("X-Forwarded-For", tt.via)
		}
		mux.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("from %s through %q: %d, want %d", tt.from, tt.via, w.Code, tt.want)
		}
	}
}
