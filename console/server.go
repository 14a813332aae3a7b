package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"plimsoll/console/ui"
	"plimsoll/run/store"
)

// policy is the Content-Security-Policy of the page, as its browser tests have it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A Console answers the routes of openapi.yaml that only read. It is made by [New].
type Console struct {
	store   *store.Store
	version string
	hub     *hub
	streams chan struct{}
	closing chan struct{} // closed when streams have to end
}

// New returns a server of a store; version is what the page shows.
func New(st *store.Store, version string) *Console {
	return &Console{store: st, version: version, hub: newHub(st), streams: make(chan struct{}, maxStreams), closing: make(chan struct{})}
}

// Listen opens a listener at address, which must be of the loopback device.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("-listen %s: %w; want an address such as 127.0.0.1:7575", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("-listen %s: the console listens on the loopback device only, such as at 127.0.0.1:7575: "+
			"login and TLS, which other addresses need, are not built yet; forward a port by ssh instead", address)
	}
	return net.Listen("tcp", address)
}

// Serve answers at l until ctx is done.
func (s *Console) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looked := make(chan struct{})
	go func() { defer close(looked); s.hub.look(ctx) }()
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 60 * time.Second,
		IdleTimeout: 60 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	stop := context.AfterFunc(ctx, func() {
		close(s.closing)
		end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if srv.Shutdown(end) != nil {
			srv.Close()
		}
	})
	defer stop()
	err := srv.Serve(l)
	cancel()
	<-looked
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// idForm is the form of ids in paths.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

func wholeID(id string) bool { return len(id) <= 200 && idForm.MatchString(id) }

// Handler returns the routes, behind the checks of host and method.
func (s *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.page)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "there is no such route") })
	mux.HandleFunc("/api/session", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"role": "viewer", "login": false, "plans": false, "version": s.version})
	})
	mux.HandleFunc("/api/live", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"items": s.hub.list()}) })
	mux.HandleFunc("/api/live/{id}/stream", s.stream)
	mux.HandleFunc("/api/history", s.history)
	mux.HandleFunc("/api/runs/{id}", s.ofRun(s.run))
	mux.HandleFunc("/api/runs/{id}/series", s.ofRun(series))
	mux.HandleFunc("/api/runs/{id}/operations", s.ofRun(operations))
	mux.HandleFunc("/api/runs/{id}/errors", s.ofRun(failures))
	mux.HandleFunc("/api/runs/{id}/events", s.ofRun(events))
	mux.HandleFunc("/api/comparisons/{id}", s.comparison)
	mux.HandleFunc("/api/sizings/{id}", s.sizing)
	mux.HandleFunc("/api/documents/{kind}/{id}/{file...}", s.document)
	mux.HandleFunc("/api/plans", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"plans": []any{}}) })
	mux.HandleFunc("/api/started", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"processes": []any{}}) })
	for path, what := range map[string]string{
		"/api/live/stream":                    "the list of runs as a stream; ask for /api/live",
		"/api/runs/{id}/limiter":              "the limiter of a run; plimsoll show names it",
		"/api/runs/{id}/prometheus/{path...}": "PromQL in the console; plimsoll serve -prometheus answers it",
		"/api/trend":                          "the trend over comparisons; plimsoll report trend draws it",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotImplemented, "this server does not have yet: "+what)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", policy)
		h.Set("Cache-Control", "no-store")
		switch {
		case !ownHost(r):
			refuse(w, http.StatusForbidden, "the Host header names another host than this server: open it by 127.0.0.1, localhost or [::1]")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "this server only shows: starting, steering and login are not built yet")
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// ownHost reports whether a request names this server by a loopback name and the port that it came to. A page of another
// host whose name was bound to 127.0.0.1 does not.
func ownHost(r *http.Request) bool {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]"), "80"
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, own, err := net.SplitHostPort(local.String()); err == nil && port != own {
			return false
		}
	}
	return host == "127.0.0.1" || host == "localhost" || host == "::1"
}

// page answers the files of the page.
func (s *Console) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if info, err := fs.Stat(ui.Files(), name); err != nil || !info.Mode().IsRegular() {
		refuse(w, http.StatusNotFound, "there is no such page")
		return
	}
	w.Header().Set("Cache-Control", "no-cache") // a newer build has other files of the same names
	r.URL.Path = "/" + strings.TrimSuffix(name, "index.html")
	http.FileServerFS(ui.Files()).ServeHTTP(w, r)
}

// answer writes JSON.
func answer(w http.ResponseWriter, body any) { respond(w, http.StatusOK, body) }

// refuse writes the Error of the contract.
func refuse(w http.ResponseWriter, status int, why string) {
	respond(w, status, map[string]any{"error": why})
}

func respond(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
