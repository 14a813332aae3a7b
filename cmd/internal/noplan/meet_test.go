package noplan

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/internal/failure"
	"plimsoll/internal/plain"
	"plimsoll/run/deploy"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
)

// other is a dialect that cannot report a version; its server is asked whether it is ready.
var other = &dialect.Dialect{
	Name:    "other",
	Title:   "another service",
	Drivers: []dialect.ServerDriver{{Name: "other", Ready: "/health"}},
}

// page answers every request.
func page(status int, header, value, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestMeet: a server is known by its answers, and one that is none of the program's gets an error
// with the remedy.
func TestMeet(t *testing.T) {
	plainly := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewTLSServer(page(200, "", "", `{"Version":"11.0.0"}`))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	closed.Close()
	health := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			http.NotFound(w, r)
		}
	}
	for _, tt := range []struct{ name, at, want, problem string }{
		{"a chat server", plainly(page(200, "", "", `{"Version":"11.0.0"}`)), "a server of the Mattermost family, version 11.0.0", ""},
		{"another service", plainly(http.HandlerFunc(health)), "another service", ""},
		{"neither", plainly(page(404, "", "", "nothing here")), "", "as another service: "},
		{"a page", plainly(page(200, "Content-Type", "text/html", "<html>Welcome to nginx!</html>")), "another service", ""},
		{"a redirect", plainly(page(301, "Location", "https://chat.example.com/api/v4/config/client", "")), "", "a redirect to https://chat.example.com; write that as the address"},
		{"a login page", plainly(page(302, "Location", "https://sso.example.com/login", "")), "", "let the proxy pass"},
		{"no TLS there", "https" + strings.TrimPrefix(plainly(page(200, "", "", "")), "http"), "", "the port speaks no TLS: write the address with http://"},
		{"TLS there", "http" + strings.TrimPrefix(secure.URL, "https"), "", "the port speaks TLS: write the address with https://"},
		{"a private authority", secure.URL, "", "name its file with -ca"},
		{"nobody", "http://" + closed.Addr().String(), "", "connection refused"},
		{"no such host", "http://nowhere.invalid", "", "nowhere.invalid"},
		{"no address", "http://::1:8065", "", "without brackets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pr := &session.Program{Resolver: deploy.Resolver{
				Dialects: dialect.Set{mattermost.Dialect, other},
				Secrets:  new(plain.Secrets),
			}}
			m, err := preflight.Meet(t.Context(), &pr.Resolver, tt.at+"/", "")
			switch {
			case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
				t.Errorf("got %v, want %q", err, tt.problem)
			case tt.problem == "" && (err != nil || m.String() != tt.want || m.Address != tt.at):
				t.Errorf("got %v, %v, want %s", m, err, tt.want)
			}
		})
	}
}

// A server that takes connections and says nothing is given up, and no other dialect is tried after
// that.
func TestMeetIsNotKeptWaiting(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	defer l.Close()
	pr := &session.Program{Resolver: deploy.Resolver{
		Dialects: dialect.Set{mattermost.Dialect, other},
		Secrets:  new(plain.Secrets),
	}}
	if _, err := preflight.Meet(t.Context(), &pr.Resolver, "http://"+l.Addr().String(), ""); err == nil ||
		strings.Count(err.Error(), "no answer within 5s") != 1 {
		t.Error(err)
	}
}

// What stops a run is known before it begins, with the number of users that the server takes.
func TestObstaclesOfAServer(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Token", "token-of-the-session")
			_, _ = io.WriteString(w, body)
		})
	}
	answer(
		"/api/v4/users/login",
		`{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaa","username":"root","roles":"system_admin system_user"}`,
	)
	answer(
		"/api/v4/config",
		`{"ServiceSettings":{},"TeamSettings":{"MaxUsersPerTeam":50},"RateLimitSettings":{"Enable":false}}`,
	)
	answer("/api/v4/config/client", `{"Version":"11.0.0"}`)
	answer("/api/v4/license/client", `{"IsLicensed":"false"}`)
	answer("/api/v4/limits/server", `{"activeUserCount":9,"maxUsersHardLimit":100}`)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	env := map[string]string{"PLIMSOLL_ADMIN_PASSWORD": "Very-secret-1"}
	pr := &session.Program{Resolver: deploy.Resolver{
		Dialects: dialect.Set{mattermost.Dialect},
		Secrets:  new(plain.Secrets),
		Env:      func(k string) string { return env[k] },
	}}
	m := &preflight.Met{Address: srv.URL, Dialect: mattermost.Dialect}
	most := map[string]int{}
	list, err := m.Obstacles(t.Context(), &pr.Resolver, "root", 200)
	for _, o := range list {
		if o.Stops {
			most[o.Setting] = o.Most
		}
	}
	if err != nil || len(most) != 2 || most["TeamSettings.MaxUsersPerTeam"] != 48 ||
		most["limit of users"] != 89 {
		t.Errorf("%v, %v, %v", most, list, err)
	}
	delete(env, "PLIMSOLL_ADMIN_PASSWORD")
	failure.Says(t, failure.Of(m.Obstacles(t.Context(), &pr.Resolver, "root", 200)),
		"needs an administrator")
}
