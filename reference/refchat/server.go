package refchat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Defaults of [Config].
const (
	DefaultListen       = "127.0.0.1:8065"
	DefaultHash         = "bcrypt:10"
	DefaultVersion      = "11.0.0"
	DefaultLicense      = "enterprise"
	DefaultMaxOpenConns = 100
	DefaultAdminUser    = "sysadmin"
	// of a server that listens on loopback; set another elsewhere.
	DefaultAdminPassword = "Sys@dmin-sample1"
)

// Config configures a [Server]. The zero value of every field but DSN has a usable meaning.
type Config struct {
	// address to serve on, default DefaultListen; port 0 picks a free one
	Listen string
	DSN    string // postgres://… or mysql://…, a secret; the database must exist
	// copies of the database, of the same engine, from which it reads; secrets
	DSNReplicas []string
	// of new passwords: bcrypt:COST or pbkdf2:ITERATIONS, default DefaultHash
	Hash   string
	Faults []string // see CheckFault
	// of the real server that is played: it lacks later operations; default DefaultVersion
	Version string
	// that is played: none, professional or enterprise; default DefaultLicense
	License string
	// beyond those that Version is known to have, see QuirkDirectMembersOnly and its neighbors
	Quirks    []string
	BusListen string   // address for other servers' events; "" for none
	BusPeers  []string // BusListen addresses of the other servers on this database
	// for uploaded files, shared by all servers on this database; "" for a temporary one
	FilesDir     string
	MaxOpenConns int // database connections, default DefaultMaxOpenConns
	// a system administrator that New makes sure exists, default DefaultAdminUser
	AdminUser     string
	AdminPassword string       // default DefaultAdminPassword, on loopback only
	Log           *slog.Logger // errors of the server; nil discards them

	// Around lets a study wrap the API, and register metrics of its own with the server's; nil
	// wraps nothing.
	Around func(http.Handler, prometheus.Registerer) (http.Handler, error)
}

// Server is one chat server process. Make it with [New], then call [Server.Run] once.
type Server struct {
	cfg    Config
	st     *store
	faults *faults
	met    *metrics
	burn   *burner
	hash   hasher
	hub    *hub
	bus    *bus
	router *router
	api    http.Handler // the server, or what is around it
	ln     net.Listener
	log    *slog.Logger
	files  string
	rmdir  bool // files is temporary
	start  time.Time
	id     string // of this process, for the bus
	client clientConfig

	release release
	quirks  []string // of the release, and those that were asked for
	license license

	sessions   *cache[*session]
	users      *cache[*user]
	teams      *cache[*team]
	channels   *cache[*channel]
	inChannels *cache[map[string]bool] // channels of a user
	inTeams    *cache[map[string]bool] // teams of a user → is team admin
	audience   *cache[*audience]       // members of a channel, for mentions
	statuses   *cache[*status]
	pending    *cache[string] // pending post id → post id, "" while it is being stored
	images     *cache[[]byte]
	shared     map[string]dropper

	bg       sync.WaitGroup // work that outlives its request
	bgCtx    context.Context
	bgCancel context.CancelFunc
}

// New connects to the database, makes the schema where there is none, ensures the administrator and
// opens the listeners, so that Addr is known; nothing is served before Run. The caller must call
// Run (with an ended context to give up) or Close.
func New(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Listen = cmp.Or(cfg.Listen, DefaultListen)
	cfg.Hash = cmp.Or(cfg.Hash, DefaultHash)
	cfg.Version = cmp.Or(cfg.Version, DefaultVersion)
	cfg.License = cmp.Or(cfg.License, DefaultLicense)
	cfg.MaxOpenConns = cmp.Or(cfg.MaxOpenConns, DefaultMaxOpenConns)
	cfg.AdminUser = cmp.Or(cfg.AdminUser, DefaultAdminUser)
	cfg.AdminPassword = cmp.Or(cfg.AdminPassword, DefaultAdminPassword)
	if err := cfg.checkReach(); err != nil {
		return nil, err
	}
	f := &faults{}
	for _, text := range cfg.Faults {
		if err := f.add(text); err != nil {
			return nil, err
		}
	}
	h, err := parseHash(cfg.Hash)
	if err != nil {
		return nil, err
	}
	rel, err := parseRelease(cfg.Version)
	if err != nil {
		return nil, err
	}
	lic, ok := licenses[cfg.License]
	if !ok {
		return nil,
			fmt.Errorf("license %q: want none, professional or enterprise", cfg.License)
	}
	if err := checkQuirks(cfg.Quirks); err != nil {
		return nil, err
	}
	if cfg.MaxOpenConns < 0 {
		return nil, fmt.Errorf("max open connections %d: want 1 or more", cfg.MaxOpenConns)
	}
	conns := cmp.Or(f.pool, cfg.MaxOpenConns)
	db, eng, err := openDB(ctx, cfg.DSN, conns)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:     cfg,
		faults:  f,
		hash:    h,
		log:     cfg.Log,
		start:   time.Now(),
		id:      newID(),
		release: rel,
		license: lic,
		quirks:  append(quirksOf(rel), cfg.Quirks...),
	}
	s.api = s
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.met = newMetrics(db)
	// The set-up is spared the faults.
	s.st = &store{pool: &pool{db: db, eng: eng, faults: &faults{}, met: s.met, later: s.background}}
	if err := s.st.openReplicas(ctx, cfg.DSNReplicas, conns); err != nil {
		s.st.close()
		return nil, err
	}
	s.burn = &burner{share: f.cpu, work: f.work, workOf: f.workOf, met: s.met}
	s.router = newRouter(operations, rel)
	s.client = newClientConfig(cfg.Version, rel, lic)
	s.makeCaches()
	s.bgCtx, s.bgCancel = context.WithCancel(context.WithoutCancel(ctx))
	s.hub = newHub(s)
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.st.plant(f)
	return s, nil
}

func (s *Server) makeCaches() {
	s.sessions = cacheOf[*session](s, 10*time.Minute, 35000)
	s.users = cacheOf[*user](s, 30*time.Minute, 20000)
	s.teams = cacheOf[*team](s, 30*time.Minute, 20000)
	s.channels = cacheOf[*channel](s, 15*time.Minute, 25000)
	s.inChannels = cacheOf[map[string]bool](s, 30*time.Minute, 50000)
	s.inTeams = cacheOf[map[string]bool](s, 30*time.Minute, 50000)
	s.audience = cacheOf[*audience](s, 30*time.Minute, 5000)
	s.statuses = newCache[*status](24*time.Hour, 100000)
	s.pending = newCache[string](30*time.Second, 25000)
	s.images = newCache[[]byte](time.Hour, 256)
	s.shared = map[string]dropper{
		dropUser:     s.users,
		dropChannel:  s.channels,
		dropRoles:    s.inChannels,
		dropInTeams:  s.inTeams,
		dropAudience: s.audience,
		dropSession:  s.sessions,
		dropStatus:   s.statuses,
		"team":       s.teams,
	}
}

// cacheOf makes a cache of database values, of the size that the fault cache sets, if there is one.
func cacheOf[V any](s *Server, ttl time.Duration, size int) *cache[V] {
	c := newCache[V](ttl, min(size, cmp.Or(s.faults.cache, size)))
	c.out = s.met.evicted.Inc
	return c
}

// prepare is the part of New after which there is something to close.
func (s *Server) prepare(ctx context.Context) error {
	if err := migrate(ctx, s.st.db, s.st.eng); err != nil {
		return err
	}
	if err := s.ensureAdmin(ctx); err != nil {
		return fmt.Errorf("ensuring the administrator: %w", err)
	}
	s.files = s.cfg.FilesDir
	if s.files == "" {
		dir, err := os.MkdirTemp("", "refchat-files-")
		if err != nil {
			return fmt.Errorf("making the files directory: %w", err)
		}
		s.files, s.rmdir = dir, true
	} else if err := os.MkdirAll(s.files, 0o750); err != nil {
		return fmt.Errorf("making the files directory: %w", err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	s.ln = ln
	if s.cfg.Around != nil {
		if s.api, err = s.cfg.Around(s, s.met.reg); err != nil {
			return err
		}
	}
	s.bus, err = newBus(ctx, s, s.cfg.BusListen, s.cfg.BusPeers)
	return err
}

// Addr is the address that the server listens on, host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// BusAddr is the address for peers, or "" when the server has no bus listener.
func (s *Server) BusAddr() string { return s.bus.addr() }

// Close releases the resources of New, for a server whose Run is never called.
func (s *Server) Close() {
	s.bgCancel()
	s.hub.stop()
	if s.bus != nil {
		s.bus.stop()
	}
	s.bg.Wait()
	if s.ln != nil {
		s.ln.Close()
	}
	s.st.close()
	if s.rmdir {
		os.RemoveAll(s.files)
	}
}

const shutdownTime = 5 * time.Second

// Run serves until ctx ends, then stops: no new connections, WebSockets closed, requests in
// progress finished (at most five seconds), database closed. It returns nil after a requested stop.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	mux := http.NewServeMux()
	mux.Handle("/api/v4/", s.api)
	mux.Handle("/hooks/", s.api)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.met.reg, promhttp.HandlerOpts{}))
	s.profiles(mux)
	hs := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 30 * time.Second,
		ReadTimeout:       5 * time.Minute,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       60 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.hub.run()
	s.bus.run()
	s.every(sendScheduledEvery, "sending scheduled posts", s.sendDue)
	s.every(time.Minute, "reminding", s.remindOnce)
	served := make(chan error, 1)
	s.bg.Go(func() { served <- hs.Serve(s.ln) })
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	s.hub.closeAll() // hijacked connections are not the HTTP server's any more
	if serr := hs.Shutdown(sctx); serr != nil {
		hs.Close()
		if !errors.Is(serr, context.DeadlineExceeded) && err == nil {
			err = fmt.Errorf("shutting down: %w", serr)
		}
	}
	return err
}

// background runs fn after its request, waited for at the end of the server.
func (s *Server) background(fn func(ctx context.Context)) {
	s.bg.Go(func() {
		ctx, cancel := context.WithTimeout(s.bgCtx, 30*time.Second)
		defer cancel()
		fn(ctx)
	})
}

// every carries out work after each interval until the server ends. Its errors are logged.
func (s *Server) every(
	interval time.Duration,
	doing string,
	work func(ctx context.Context, now time.Time) error,
) {
	s.bg.Go(func() {
		for sleep(s.bgCtx, interval) == nil {
			if err := work(s.bgCtx, time.Now()); s.bgCtx.Err() == nil {
				s.warn(doing, err)
			}
		}
	})
}

// warn logs an error that no client gets.
func (s *Server) warn(doing string, err error) {
	if err != nil {
		s.log.Warn(doing, "err", err)
	}
}

// Kinds of entries that other servers must drop when this one changes them.
const (
	dropUser     = "user"
	dropChannel  = "channel"
	dropRoles    = "roles"    // of a user in channels
	dropInTeams  = "inteams"  // of a user
	dropAudience = "audience" // of a channel
	dropSession  = "session"
	dropStatus   = "status"
)

// dropper is a cache of values that another server may change.
type dropper interface {
	drop(key string)
	clear()
}

// invalidate drops a cached value here and at the peers.
func (s *Server) invalidate(kind, key string) {
	s.forget(kind, key)
	s.bus.send(busMessage{Drop: kind, Key: key})
}

func (s *Server) forget(kind, key string) {
	if c := s.shared[kind]; c != nil {
		c.drop(key)
	}
}

// forgetAll drops every cached value that another server may have changed.
func (s *Server) forgetAll() {
	for _, c := range s.shared {
		c.clear()
	}
}
