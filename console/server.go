package console

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/console/ui"
	"plimsoll/evidence"
	"plimsoll/internal/boundary"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// policy is the Content-Security-Policy of the page, as its browser tests have it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A Console answers the routes of openapi.yaml. It is made by [New].
type Console struct {
	store   *store.Store
	version string
	hub     *hub
	access  *access
	plans   *starter // nil without a directory of plans
	catalog *evidence.Catalog
	// hosts reports whether a request may name the host; nil accepts the names of the loopback
	// device.
	hosts   func(host string) bool
	streams chan struct{}
	closing chan struct{} // closed when streams have to end
	opened  *opened

	wholes   *remembered[item]                // comparisons and sizings in the history
	partly   *remembered[evidence.Conclusion] // of comparisons without an outcome, by their files
	graded   *remembered[[]gradedStep]
	limits   *remembered[any] // limiters of runs that are over, by their manifests
	soFar    limits
	trends   *remembered[released]
	trending chan struct{}
	reading  chan struct{}
}

// Config configures a [Console]. Only Store is required.
type Config struct {
	Store   *store.Store
	Version string // which the page shows
	// Tokens are the login tokens; nil: everybody who reaches the server has the role Open.
	Tokens Tokens
	Open   Role
	// Plans is the directory of the plans that operators may start by Program, whose verbs they
	// are; empty for none. Parse reads one.
	Plans, Program string
	Parse          func([]byte) (*plan.Plan, error)
	// Catalog knows the servers under test; nil for none.
	Catalog *evidence.Catalog
	// Series answers PromQL; nil for none.
	Series SeriesAPI
}

// New returns a server of a store.
func New(c Config) *Console {
	s := &Console{
		store:    c.Store,
		version:  c.Version,
		hub:      newHub(c.Store),
		access:   newAccess(c.Tokens, c.Open),
		catalog:  c.Catalog,
		streams:  make(chan struct{}, maxStreams),
		closing:  make(chan struct{}),
		opened:   newOpened(c.Series),
		partly:   newRemembered[evidence.Conclusion](mostReports),
		wholes:   newRemembered[item](mostReleases),
		limits:   newRemembered[any](mostReports),
		trends:   newRemembered[released](mostReleases),
		graded:   newRemembered[[]gradedStep](mostReports),
		trending: make(chan struct{}, 1),
		reading:  make(chan struct{}, maxReading),
	}
	if c.Series == nil {
		s.opened.open = func(string) (http.Handler, func(), error) {
			return nil, nil, errors.New("this server has no PromQL")
		}
	}
	if s.catalog == nil {
		s.catalog = new(evidence.Catalog)
	}
	s.hub.tidy = s.opened.look
	s.hub.recorded = func(ctx context.Context, dir string) (*recorded, error) {
		select { // each takes memory
		case s.reading <- struct{}{}:
			defer func() { <-s.reading }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		r, err := record.Open(dir)
		if err != nil {
			return nil, err
		}
		return recordedOf(ctx, s.catalog.Of(r), newColumns(mostPoints, kept))
	}
	s.hub.judge = func(ctx context.Context, id string) (any, error) {
		c, err := s.store.Comparison(id)
		if err != nil {
			return nil, err
		}
		return s.judgedOf(ctx, c), nil
	}
	if c.Plans != "" {
		s.plans = &starter{
			dir:     c.Plans,
			program: c.Program,
			store:   c.Store,
			parse:   c.Parse,
			looked:  newRemembered[planFile](mostPlans),
		}
	}
	return s
}

// A Listening is the address and certificate of a console.
type Listening struct {
	Address   string // such as 127.0.0.1:7575
	Cert, Key string // PEM files; without, a certificate of our own is kept in the store
}

// Listen opens a listener and returns its URL. On the loopback device it speaks HTTP; elsewhere it
// needs tokens and speaks TLS, and pin is the SHA-256 of its certificate.
func (s *Console) Listen(at Listening) (l net.Listener, url, pin string, err error) {
	host, _, err := net.SplitHostPort(at.Address)
	if err != nil {
		return nil, "", "", fmt.Errorf(
			"-listen %s: %w; want an address such as 127.0.0.1:7575",
			at.Address,
			err,
		)
	}
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	switch {
	case !local && s.access.tokens == nil:
		return nil, "", "", fmt.Errorf(
			"-listen %s: beyond the loopback device people have to log in: add -tokens FILE",
			at.Address,
		)
	case !local && ip == nil:
		return nil, "", "", fmt.Errorf(
			"-listen %s: %q is no IP address; want that of an interface, or 0.0.0.0 for all",
			at.Address,
			host,
		)
	}
	if l, err = net.Listen("tcp", at.Address); err != nil {
		return nil, "", "", err
	}
	if local && at.Cert == "" && at.Key == "" {
		return l, "http://" + l.Addr().String(), "", nil
	}
	c, err := certificate(s.store.Root(), at.Cert, at.Key, namesOf(at.Address))
	if err != nil {
		return nil, "", "", errors.Join(fmt.Errorf("the certificate: %w", err), l.Close())
	}
	s.access.secure = true
	s.hosts = func(host string) bool { return c.Leaf.VerifyHostname(host) == nil }
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{c},
		MinVersion:   tls.VersionTLS13,
	}), "https://" + l.Addr().String(), fingerprint(c), nil
}

// Serve answers at l until ctx is done.
func (s *Console) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looked := make(chan struct{})
	go func() { defer close(looked); s.hub.look(ctx) }()
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
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
	s.opened.close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// idForm is the form of ids in paths.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

func wholeID(id string) bool { return len(id) <= 200 && idForm.MatchString(id) }

// Handler returns the routes, behind the checks of host, method, role and origin.
func (s *Console) Handler() http.Handler {
	read := muxOf(s.readers(), s.page)
	write := muxOf(
		s.writers(),
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "there is nothing to change by this path")
		},
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", policy)
		h.Set("Cache-Control", "no-store")
		if s.access.secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !s.ownHost(r) {
			refuse(
				w,
				http.StatusForbidden,
				"the Host header names another host than this server: open it by the address that serve has printed",
			)
			return
		}
		role := s.access.of(r)
		open := !strings.HasPrefix(r.URL.Path, "/api/") ||
			slices.Contains([]string{"/api/session", "/api/login", "/api/logout"}, r.URL.Path)
		if role == Nobody && !open {
			refuse(
				w,
				http.StatusUnauthorized,
				"log in: send a token to /api/login, or as Authorization: Bearer",
			)
			return
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			if strings.HasPrefix(r.URL.Path, "/api/") && !ownReader(r) {
				refuse(w, http.StatusForbidden, "the request comes from a page of another server")
				return
			}
			read.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), roleKey{}, role)))
		case http.MethodPost:
			switch {
			case !boundary.OwnPage(r):
				refuse(
					w,
					http.StatusForbidden,
					"the Origin header names another page than this server's",
				)
			case !open && role < Operator:
				refuse(
					w,
					http.StatusForbidden,
					"this needs the role operator, and yours is "+role.String(),
				)
			default:
				write.ServeHTTP(w, r)
			}
		default:
			h.Set("Allow", "GET, HEAD, POST")
			refuse(w, http.StatusMethodNotAllowed, "want GET or POST")
		}
	})
}

// readers are the routes that change nothing, by their paths.
func (s *Console) readers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/api/session": s.session,
		"/api/live": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, map[string]any{"items": s.hub.list()})
		},
		"/api/live/stream":                    s.liveStream,
		"/api/live/{id}/stream":               s.stream,
		"/api/history":                        answering(s.history),
		"/api/runs/{id}":                      s.ofRun(s.few(s.run)),
		"/api/runs/{id}/series":               s.ofRun(s.few(s.series)),
		"/api/runs/{id}/operations":           s.ofRun(s.few(operations)),
		"/api/runs/{id}/errors":               s.ofRun(s.few(failures)),
		"/api/runs/{id}/events":               s.ofRun(s.few(events)),
		"/api/runs/{id}/limiter":              s.ofRun(s.limiter),
		"/api/runs/{id}/prometheus/{path...}": s.ofRun(s.prometheus),
		"/api/comparisons/{id}": ofID(
			"comparison",
			s.store.Comparison,
			func(c *record.Comparison) string {
				return c.ID
			},
			s.comparison,
		),
		"/api/sizings/{id}": ofID("sizing", s.store.Sizing, func(z *record.Sizing) string {
			return z.ID
		}, s.sizing),
		"/api/trend":                           s.trend,
		"/api/documents/{kind}/{id}/{file...}": s.document,
		"/api/plans":                           answering(s.listPlans),
		"/api/started": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, map[string]any{"processes": s.plans.processes()})
		},
	}
}

// writers are the routes that change something.
func (s *Console) writers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/api/login":           s.login,
		"/api/logout":          s.logout,
		"/api/start":           s.start,
		"/api/live/{id}/stop":  s.stopIt,
		"/api/live/{id}/users": s.setUsers,
		"/api/live/{id}/storm": s.storm,
	}
}

// muxOf serves routes, and by other for other paths.
func muxOf(routes map[string]http.HandlerFunc, other http.HandlerFunc) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/", other)
	for path, h := range routes {
		mux.HandleFunc(path, h)
	}
	return mux
}

// ownHost reports whether a request names this server by one of its names and the port that it came
// to. A page of another host whose name was bound to this server's address does not.
func (s *Console) ownHost(r *http.Request) bool {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		if host, port = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]"), "80"; s.access.secure {
			port = "443"
		}
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if _, own, err := net.SplitHostPort(local.String()); err == nil && port != own {
			return false
		}
	}
	if s.hosts != nil {
		return s.hosts(host)
	}
	return boundary.Loopback(host)
}

// roleKey is the key of the role of a request that reads, in its context.
type roleKey struct{}

func (s *Console) session(w http.ResponseWriter, r *http.Request) {
	role, _ := r.Context().Value(roleKey{}).(Role)
	answer(w, s.sessionOf(role))
}

// page answers the files of the page.
func (s *Console) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case strings.HasPrefix(name, "api/"):
		refuse(w, http.StatusNotFound, "there is no such route")
		return
	case name == "":
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

// answering answers with the result of f for a request.
func answering(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := f(r)
		respondWith(w, out, err)
	}
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
		status = http.StatusInternalServerError
		b = []byte(`{"error": "the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
