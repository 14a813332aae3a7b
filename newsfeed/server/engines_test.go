package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/newsfeed/redis"
	"plimsoll/newsfeed/server"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// engine is a database server under test.
type engine interface {
	CreateDatabase(ctx context.Context, name string) error
	DSN(db string) string
	Stop(ctx context.Context) error
}

var engines = map[string]engine{}

func TestMain(m *testing.M) {
	code, err := withEngines(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the databases:", err)
		code = 1
	}
	os.Exit(code)
}

func withEngines(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "newsfeed-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the servers run as other users
		return 0, err
	}
	defer func() {
		for name, e := range engines {
			if serr := e.Stop(context.Background()); serr != nil && err == nil {
				err = fmt.Errorf("stopping %s: %w", name, serr)
			}
		}
	}()
	pg, err := postgresql.Start(ctx, postgresql.Config{Dir: dir + "/postgresql"})
	if err != nil {
		return 0, err
	}
	engines["postgresql"] = pg
	my, err := mysql.Start(ctx, mysql.Config{Dir: dir + "/mysql"})
	if err != nil {
		return 0, err
	}
	engines["mysql"] = my
	return m.Run(), nil
}

var databases atomic.Int64

// database makes an empty database and returns its DSN.
func database(t testing.TB, engine string) string {
	t.Helper()
	name := fmt.Sprintf("newsfeed_%d", databases.Add(1))
	if err := engines[engine].CreateDatabase(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return engines[engine].DSN(name)
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, fn func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) { fn(t, engine) })
	}
}

// running is something that runs until it is stopped or the test ends.
type running struct {
	cancel context.CancelFunc
	done   chan error
}

func runUntilEnd(t testing.TB, run func(context.Context) error) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel, make(chan error, 1)}
	go func() { r.done <- run(ctx) }()
	t.Cleanup(func() { r.stop(t) })
	return r
}

func (r *running) stop(t testing.TB) {
	t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.cancel = nil
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		t.Errorf("it did not stop in %v", patience)
	}
}

// store runs an own store and returns its address.
func store(t testing.TB, cfg server.StoreConfig) (string, *running) {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Sync == 0 {
		cfg.Sync = server.DefaultSync
	}
	s, err := server.NewStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s.Addr(), runUntilEnd(t, s.Run)
}

// feed is a server with all its stores.
type feed struct {
	t      testing.TB
	url    string
	redis  *redis.Server
	bus    string
	dsn    string
	server *running
	gate   map[string]*relay // by role, on demand
}

// start runs a server on an engine with stores of its own.
func start(t testing.TB, engine string, cfg server.Config) *feed {
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	if cfg.DSN == "" {
		cfg.DSN = database(t, engine)
	}
	r, err := redis.Start(t.Context(), redis.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	cfg.Redis = r.Addr()
	if outside != nil {
		cfg.Wide, cfg.Search, cfg.Bus = outside.addresses()
	}
	if cfg.Wide == "" {
		cfg.Wide, _ = store(t, server.StoreConfig{Kind: server.KindWide})
	}
	if cfg.Search == "" {
		cfg.Search, _ = store(t, server.StoreConfig{Kind: server.KindSearch})
	}
	if cfg.Bus == "" {
		cfg.Bus, _ = store(t, server.StoreConfig{Kind: server.KindBus})
	}
	f := &feed{t: t, redis: r, bus: cfg.Bus, dsn: cfg.DSN}
	f.serve(cfg)
	if outside != nil { // their tables are made at first use
		eventually(t, "good health", func() bool {
			status, _ := f.do("GET", "/health", nil)
			return status == 200
		})
	}
	return f
}

// outside are external stores, which the tests use while it is set; see TestFull.
var outside interface {
	// addresses returns where each test finds stores of its own.
	addresses() (wide, search, bus string)
	// fetch returns all records of a bus.
	fetch(ctx context.Context, bus string) ([][]byte, error)
}

// patience is how long eventually polls.
const patience = time.Minute

func (f *feed) serve(cfg server.Config) {
	f.t.Helper()
	s, err := server.New(f.t.Context(), cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.url, f.server = "http://"+s.Addr(), runUntilEnd(f.t, s.Run)
}

// do makes a request and returns status and body. A body of type url.Values goes as a form, any
// other but nil as JSON.
func (f *feed) do(method, path string, body any) (int, string) {
	f.t.Helper()
	var r io.Reader
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case url.Values:
		r, kind = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			f.t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, f.url+path, r)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

// ok is do for a request that must succeed, with the answer in v.
func (f *feed) ok(method, path string, body, v any) {
	f.t.Helper()
	status, text := f.do(method, path, body)
	if status != http.StatusOK {
		f.t.Fatalf("%s %s: status %d: %s", method, path, status, text)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			f.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
}

type object = map[string]any

// person makes a participant and returns its number.
func (f *feed) person(name string) int64 {
	f.t.Helper()
	var p struct {
		ID   int64
		Link string
	}
	f.ok("POST", "/participant", object{"name": name}, &p)
	if p.ID == 0 || p.Link != fmt.Sprintf("/participant/%d", p.ID) {
		f.t.Fatalf("participant %+v: want a number and its link", p)
	}
	return p.ID
}

// befriend makes a friendship through the REST generation.
func (f *feed) befriend(from, to int64) {
	f.t.Helper()
	f.ok("POST", fmt.Sprintf("/participant/%d/friends", from), object{
		"from": link(from),
		"to":   link(to),
	}, nil)
}

func link(id int64) string { return fmt.Sprintf("/participant/%d", id) }

// eventually polls until cond is true or its patience is at an end.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
