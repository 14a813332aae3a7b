package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Defaults of [Config].
const (
	DefaultListen       = "127.0.0.1:8080"
	DefaultMaxConns     = 18 // as the studied service
	DefaultStoreTimeout = 2 * time.Second
)

// Generations of the interface.
const (
	APILegacy = "legacy"
	APIREST   = "rest"
	APIBoth   = "both"
)

// When a story can be found.
const (
	IndexRefresh = "refresh" // at the next refresh of the index, within about a second
	IndexCommit  = "commit"  // before it is acknowledged
)

// Config configures a [Server]. The zero value of every field but DSN, Wide, Search and Bus has a
// usable meaning.
type Config struct {
	Listen string // address to serve on, default DefaultListen; port 0 picks a free one
	DSN    string // postgres://… or mysql://…, a secret; the database must exist
	Redis  string // address; "" caches nothing
	// Wide, Search and Bus are where the other stores are: HOST:PORT of an own store, or the
	// address of a real one, cassandra://HOST:PORT[,HOST:PORT][/KEYSPACE], http://HOST:PORT[/INDEX]
	// (or https) and kafka://HOST:PORT[,HOST:PORT][/TOPIC]. Those of Cassandra and OpenSearch may
	// have USER:PASSWORD@ before the host, and are secrets then.
	Wide, Search, Bus string
	API               string // default APIBoth
	Index             string // default IndexRefresh
	// Repeats sends a story to a friend once per friendship instead of once.
	Repeats bool
	// Array answers the creation of a participant with an array of one.
	Array        bool
	MaxConns     int           // to the database, and to Redis; default DefaultMaxConns
	StoreTimeout time.Duration // of one call to a store, default DefaultStoreTimeout
	Log          *slog.Logger  // errors of the server; nil discards them

	timeout func(role string) time.Duration // of one call to a store, default StoreTimeout
}

// requestPatience is how long a whole request may take, in calls to stores that take their longest:
// a story to many friends makes many.
const requestPatience = 5

// Server is one process of the news feed. Make it with [New], then call [Server.Run] once.
type Server struct {
	cfg    Config
	db     *relational
	cache  *cache // nil: none
	wide   wideRows
	search searcher
	bus    producer
	tel    *telemetry
	met    *metrics
	ln     net.Listener
	log    *slog.Logger
}

func (c *Config) check() error {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.API = cmp.Or(c.API, APIBoth)
	c.Index = cmp.Or(c.Index, IndexRefresh)
	c.MaxConns = cmp.Or(c.MaxConns, DefaultMaxConns)
	c.StoreTimeout = cmp.Or(c.StoreTimeout, DefaultStoreTimeout)
	switch {
	case !slices.Contains([]string{APILegacy, APIREST, APIBoth}, c.API):
		return fmt.Errorf("api %q: want legacy, rest or both", c.API)
	case c.Index != IndexRefresh && c.Index != IndexCommit:
		return fmt.Errorf("index %q: want refresh or commit", c.Index)
	case c.MaxConns < 0:
		return fmt.Errorf("max connections %d: want 1 or more", c.MaxConns)
	case c.StoreTimeout < 0:
		return fmt.Errorf("store timeout %v: want more than 0", c.StoreTimeout)
	}
	if c.timeout == nil {
		c.timeout = func(string) time.Duration { return c.StoreTimeout }
	}
	for role, addr := range map[string]string{
		KindWide:   c.Wide,
		KindSearch: c.Search,
		KindBus:    c.Bus,
	} {
		if addr == "" {
			return fmt.Errorf(
				"no address of the %s store: want %s; newsfeed store -kind %s starts an own one",
				role,
				forms[role],
				role,
			)
		}
		if _, err := parseAddress(role, addr); err != nil {
			return err
		}
	}
	return nil
}

// New connects to the database, makes the schema where there is none, and opens the listener, so
// that Addr is known; nothing is served before Run. The other stores are connected to when they are
// needed: GET /health reports their state. The caller must call Run (with an ended context to give
// up).
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	db, err := openRelational(ctx, cfg.DSN, cfg.MaxConns)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, db: db, log: cfg.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.met = newMetrics(db.db)
	s.tel = newTelemetry(s.bus, s.met, cfg.timeout)
	var lc net.ListenConfig
	if s.ln, err = lc.Listen(ctx, "tcp", cfg.Listen); err != nil {
		s.close()
		return nil, fmt.Errorf("listening: %w", err)
	}
	return s, nil
}

// open makes the clients of the stores other than the database. They connect when they have to.
func (s *Server) open() (err error) {
	if s.wide, err = openWide(s.cfg.Wide, s.cfg.StoreTimeout); err != nil {
		return err
	}
	if s.search, err = openSearch(s.cfg.Search); err != nil {
		return err
	}
	if s.bus, err = openBus(s.cfg.Bus, s.cfg.StoreTimeout); err != nil {
		return err
	}
	s.cache = newCache(s.cfg.Redis, s.cfg.MaxConns, s.cfg.StoreTimeout)
	return nil
}

// Addr is the address that the server listens on, host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

func (s *Server) close() {
	s.wide.Close()
	s.search.Close()
	s.bus.Close()
	if s.cache != nil {
		s.cache.Close()
	}
	s.db.Close()
}

const shutdownTime = 2 * time.Second

// Run serves until ctx ends, then stops: no new connections, requests in progress finished and
// telemetry sent, two seconds at most for each. It returns nil after a requested stop.
func (s *Server) Run(ctx context.Context) error {
	defer s.close()
	mux := http.NewServeMux()
	s.routes(mux)
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /rows", s.rows)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.met.reg, promhttp.HandlerOpts{}))
	profiles(mux)
	hs := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 30 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	var wg sync.WaitGroup
	telCtx, endTelemetry := context.WithCancel(context.WithoutCancel(ctx))
	defer endTelemetry()
	wg.Go(func() { s.tel.run(telCtx) })
	served := make(chan error, 1)
	wg.Go(func() { served <- hs.Serve(s.ln) })
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if serr := hs.Shutdown(sctx); serr != nil {
		hs.Close()
		if !errors.Is(serr, context.DeadlineExceeded) && err == nil {
			err = fmt.Errorf("shutting down: %w", serr)
		}
	}
	endTelemetry()
	wg.Wait()
	return err
}
