package newsfeed_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/newsfeed"
	"plimsoll/newsfeed/redis"
	"plimsoll/newsfeed/server"
	"plimsoll/target/lab/postgresql"
)

// double is a server that notes requests and answers them well, except for those that break
// refuses.
type double struct {
	mu     sync.Mutex
	log    []string
	people int
	refuse func(path string) bool
}

func (d *double) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, r.Method+" "+r.URL.String()+" "+string(body))
	if d.refuse != nil && d.refuse(r.URL.Path) {
		w.WriteHeader(503)
		fmt.Fprint(w, `{"error":"the wide store is full","store":"wide"}`)
		return
	}
	text := string(body)
	switch {
	case r.URL.Path == "/participant":
		d.people++
		fmt.Fprintf(w, `{"id":%d,%s`, d.people, strings.TrimPrefix(text, "{"))
	case strings.HasSuffix(r.URL.Path, "/friends"):
		fmt.Fprintf(w, `{"id":1,%s`, strings.TrimPrefix(text, "{"))
	case r.URL.Path == "/outbound":
		fmt.Fprint(w, "[]")
	default:
		fmt.Fprint(w, text)
	}
}

func env(url string, params map[string]string) workload.Env {
	return workload.Env{
		URL:      url,
		Seed:     7,
		Pace:     1,
		Params:   params,
		Timeout:  5 * time.Second,
		Registry: measure.NewRegistry(1),
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, 7),
	}
}

func provisioned(t *testing.T, e workload.Env) *newsfeed.Feed {
	t.Helper()
	b := &newsfeed.Feed{}
	if err := b.Provision(t.Context(), e, 1); err != nil {
		t.Fatal(err)
	}
	return b
}

func user(e workload.Env, id int) *workload.User {
	return workload.NewUser(id, id, e.Seed, 1, e.Registry.Recorder(id), clock.New(time.Now()))
}

// act lets one user act n times.
func act(t *testing.T, b *newsfeed.Feed, e workload.Env, id, n int) workload.Actor {
	t.Helper()
	a, err := b.NewActor(e, user(e, id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	for range n {
		if err := a.Act(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// TestTheSameSeedIsTheSameLoad compares whole request logs: of one user twice, and of another.
func TestTheSameSeedIsTheSameLoad(t *testing.T) {
	play := func(id int) []string {
		d := &double{}
		s := httptest.NewServer(d)
		defer s.Close()
		e := env(s.URL, nil)
		act(t, provisioned(t, e), e, id, 120)
		return d.requests()
	}
	one := play(1)
	if diff := cmp.Diff(one, play(1)); diff != "" {
		t.Errorf("two logs of one user differ:\n%s", diff)
	}
	if cmp.Equal(one, play(2)) {
		t.Error("two users make the same requests")
	}
	if !strings.HasPrefix(one[1], `POST /participant {"name":"user `) || one[1] != one[10] {
		t.Errorf("first requests %q and %q: want ten participants of one name", one[1], one[10])
	}
	for _, line := range one {
		if !strings.HasSuffix(strings.Fields(line)[1], "/outbound") ||
			!strings.HasPrefix(line, "POST") {
			continue
		}
		_, story, _ := strings.Cut(line, `"story":"`)
		_, subject, _ := strings.Cut(line, `"subject":"`)
		subject, _, _ = strings.Cut(subject, `"`)
		if n := len(strings.Fields(strings.Trim(story, `"}`))); n != 150 ||
			len(strings.Fields(subject)) != 5 {
			t.Fatalf("a story of %d words, subject %q: want 150 and 5", n, subject)
		}
	}
}

// TestArrivalsAreBatches: the requests of an arrival depend on its number alone.
func TestArrivalsAreBatches(t *testing.T) {
	play := func(server int) []string {
		d := &double{}
		s := httptest.NewServer(d)
		defer s.Close()
		e := env(s.URL, nil)
		u := workload.NewServerUser(server, e, clock.New(time.Now()))
		srv, err := provisioned(t, e).NewServer(e, u)
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		u.Become(42)
		if err := srv.Serve(t.Context(), 42); err != nil {
			t.Fatal(err)
		}
		return d.requests()
	}
	one := play(0)
	if n := len(one) - 1; n < 10+3+20 || n > 10+9+30 {
		t.Errorf("an arrival made %d requests, want a batch", n)
	}
	if diff := cmp.Diff(one, play(5)); diff != "" {
		t.Errorf("one arrival differs by who serves it:\n%s", diff)
	}
}

// TestAFailureEndsItsBatch and is recorded with its class and printed once.
func TestAFailureEndsItsBatch(t *testing.T) {
	d := &double{refuse: func(path string) bool { return strings.HasSuffix(path, "/friends") }}
	s := httptest.NewServer(d)
	defer s.Close()
	e := env(s.URL, nil)
	var told []string
	e.Log = func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	b := provisioned(t, e)
	a := act(t, b, e, 0, 11)
	if a.Think() == 0 {
		t.Error("no pause after a failure")
	}
	if err := a.Act(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := d.requests(); !strings.HasPrefix(log[len(log)-1], "POST /participant ") {
		t.Errorf("after a failure: %s, want the next batch", log[len(log)-1])
	}
	if a.Think() != 0 {
		t.Error("a pause after a success")
	}
	classes := map[measure.Class]uint64{}
	for _, w := range e.Registry.Cut() {
		if w.Name == "befriend" {
			for c, n := range w.Classes {
				classes[measure.Class(c)] += n
			}
		}
	}
	if classes[measure.Status5xx] != 1 || classes[measure.OK] != 0 {
		t.Errorf("befriend: %v, want one of class 5xx", classes)
	}
	if len(told) != 1 || !strings.Contains(told[0], "the wide store is full") {
		t.Errorf("told %q, want what the server said, once", told)
	}
}

// TestALyingServer answers with something other than the requested data.
func TestALyingServer(t *testing.T) {
	for _, answer := range []string{`{"id":0}`, `{"id":3,"name":"somebody else"}`, `[]`, `{`, ``, `"x"`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "GET" {
				fmt.Fprint(w, "[]")
				return
			}
			fmt.Fprint(w, answer)
		}))
		e := env(s.URL, nil)
		act(t, provisioned(t, e), e, 0, 1)
		for _, w := range e.Registry.Cut() {
			if w.Name == "participant" && w.Classes[measure.Decode] != 1 {
				t.Errorf("answer %q: counts %v, want one of class decode", answer, w.Classes)
			}
		}
		s.Close()
	}
}

func TestCheck(t *testing.T) {
	err := newsfeed.Check(map[string]string{
		"preset":    "x",
		"api":       "soap",
		"body":      "xml",
		"searchers": "11",
		"admin":     "me",
	})
	for _, key := range []string{"preset", "api", "body", "searchers", "admin"} {
		if err == nil || !strings.Contains(err.Error(), "setting "+key) {
			t.Errorf("%v: nothing about %s", err, key)
		}
	}
	if err := newsfeed.Check(map[string]string{
		"preset":    "rdbms-heavy",
		"api":       "legacy",
		"body":      "form",
		"searchers": "10",
	}); err != nil {
		t.Error(err)
	}
}

// TestAgainstTheService plays batches against the reference service in both generations and
// encodings, and audits them.
func TestAgainstTheService(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pg, err := postgresql.Start(ctx, postgresql.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	if err := pg.CreateDatabase(ctx, "feed"); err != nil {
		t.Fatal(err)
	}
	r, err := redis.Start(ctx, redis.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	cfg := server.Config{Listen: "127.0.0.1:0", DSN: pg.DSN("feed"), Redis: r.Addr()}
	for kind, at := range map[string]*string{
		server.KindWide:   &cfg.Wide,
		server.KindSearch: &cfg.Search,
		server.KindBus:    &cfg.Bus,
	} {
		s, err := server.NewStore(ctx, server.StoreConfig{
			Kind:   kind,
			Listen: "127.0.0.1:0",
			Sync:   server.DefaultSync,
		})
		if err != nil {
			t.Fatal(err)
		}
		*at = s.Addr()
		background(t, s.Run)
	}
	for _, api := range []string{"rest", "legacy"} {
		for _, body := range []string{"json", "form"} {
			t.Run(api+" "+body, func(t *testing.T) {
				cfg.API, cfg.Array = api, body == "form"
				s, err := server.New(ctx, cfg)
				if err != nil {
					t.Fatal(err)
				}
				background(t, s.Run)
				e := env("http://"+s.Addr(), map[string]string{
					"api":       api,
					"body":      body,
					"searchers": "1",
				})
				b := provisioned(t, e)
				b.Before(ctx, e)
				act(t, b, e, 9, 5) // searches
				act(t, b, e, 0, 150)
				for _, m := range e.Tally.Snapshot().Mixes() {
					if m.OK != m.Attempts || m.OK == 0 {
						t.Errorf("%s: %d of %d succeeded", m.Behavior, m.OK, m.Attempts)
					}
				}
				acked, _ := e.Ledger.Messages()
				res, err := b.Audit(ctx, e, acked)
				if err != nil || res.Expected < 50 || res.Readable != res.Expected {
					t.Fatalf("audit: %+v, %v; want all readable", res, err)
				}
				checkRows(t, res.Rows, "")
				http.Post("http://"+s.Addr()+map[string]string{
					"rest":   "/participant",
					"legacy": "/participant/new",
				}[api], "application/json", strings.NewReader(`{"name":"nobody's"}`))
				for { // its record is on the way to the bus
					// at the latest when ctx is over
					if res, err = b.Audit(ctx, e, acked); err != nil {
						t.Fatal(err)
					}
					if !slices.ContainsFunc(res.Rows, func(r workload.RowCount) bool {
						return r.Store == "bus" && r.Right()
					}) {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				checkRows(t, res.Rows, "database: participants", "bus: records")
				acked[0].IDs = append(acked[0].IDs, "a story that nobody has")
				acked[1].Channel += " 999999" // who is not a friend
				res, err = b.Audit(ctx, e, acked)
				if want := 1 + len(acked[1].IDs); err != nil || res.Missing != want {
					t.Errorf("audit: %+v, %v; want %d missing", res, err, want)
				}
			})
		}
	}
}

// checkRows requires all six counts, and that these alone are wrong; a right one is exact, because
// nothing has failed.
func checkRows(t *testing.T, rows []workload.RowCount, wrong ...string) {
	t.Helper()
	if len(rows) != 6 {
		t.Fatalf("counts %v, want six", rows)
	}
	for _, r := range rows {
		bad := slices.Contains(wrong, r.Store+": "+r.What)
		if r.Right() == bad || r.Least != r.Most || r.Least < 1 {
			t.Errorf("%v; want it wrong: %v", r, bad)
		}
	}
}

// TestWhoCannotTellIsNotCounted: another service of this interface has no GET /rows.
func TestWhoCannotTellIsNotCounted(t *testing.T) {
	s := httptest.NewServer(&double{})
	defer s.Close()
	e := env(s.URL, nil)
	b := provisioned(t, e)
	b.Before(t.Context(), e)
	act(t, b, e, 0, 40)
	acked, _ := e.Ledger.Messages()
	if res, _ := b.Audit(t.Context(), e, acked); res.Rows != nil {
		t.Errorf("counts %v of a service that tells none", res.Rows)
	}
}

// TestTheCountBeforeARun is taken again when the request fails, and is not silently left out when
// it always fails.
func TestTheCountBeforeARun(t *testing.T) {
	const ok = 200
	for _, tt := range []struct {
		name   string
		before []int // statuses of GET /rows before the run, the last one for ever
		want   string
	}{
		{"told twice", []int{ok}, ""},
		{"the first answer fails", []int{500, ok}, ""},
		{"the second answer fails", []int{ok, 500, ok}, ""},
		{"the service has no such page", []int{404}, "none"},
		{"it never tells", []int{503}, "every store: rows before the run: expected 0, not known: asking for the rows: setup_rows: status 503 (5xx)"},
		{"it told once", []int{ok, 503}, "every store: rows before the run: expected 0, not known: asking for the rows: setup_rows: status 503 (5xx)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // a failing one is retried for five seconds
			var asked atomic.Int32
			var running atomic.Bool
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(asked.Load())
				switch {
				case r.URL.Path != "/rows":
					fmt.Fprint(w, "[]")
				case running.Load():
					fmt.Fprint(w, `{"Stores":{"database":{"participants":7},"bus":{"records":3}}}`)
				case tt.before[min(n, len(tt.before)-1)] != ok:
					asked.Add(1)
					w.WriteHeader(tt.before[min(n, len(tt.before)-1)])
				default:
					asked.Add(1)
					fmt.Fprint(w, `{"Stores":{"database":{"participants":7},"bus":{"records":3}}}`)
				}
			}))
			defer s.Close()
			e := env(s.URL, nil)
			b := provisioned(t, e)
			b.Before(t.Context(), e)
			running.Store(true)
			res, err := b.Audit(t.Context(), e, nil)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tt.want == "none" && res.Rows != nil,
				tt.want == "" && len(res.Rows) != 2,
				tt.want != "" && tt.want != "none" && len(res.Rows) != 1:
				t.Fatalf("counts %v", res.Rows)
			}
			for _, r := range res.Rows {
				if tt.want == "" && !r.Right() ||
					tt.want != "" && (r.Right() || r.String() != tt.want) {
					t.Errorf("count %v, want %q", r, tt.want)
				}
			}
		})
	}
}

func background(t *testing.T, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// rowsOf is a service that reports the rows of its stores, before a run and after it.
func rowsOf(t *testing.T, before, after string) (url string, began func()) {
	t.Helper()
	var running atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/rows":
			fmt.Fprint(w, "[]")
		case running.Load():
			fmt.Fprint(w, after)
		default:
			fmt.Fprint(w, before)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() { running.Store(true) }
}

// TestAStoreThatDoesNotTellBeforeARun is not silently left out of the count.
func TestAStoreThatDoesNotTellBeforeARun(t *testing.T) {
	t.Parallel() // it is asked for five seconds
	url, began := rowsOf(
		t,
		`{"stores":{"bus":{"records":3}},"untold":{"wide":"it did not answer"}}`,
		`{"stores":{"wide":{"outbound":7,"inbound":7},"bus":{"records":3}}}`,
	)
	e := env(url, nil)
	b := provisioned(t, e)
	b.Before(t.Context(), e)
	began()
	res, err := b.Audit(t.Context(), e, nil)
	if err != nil || len(res.Rows) != 2 || res.Rows[1].Right() || res.Rows[1].Store != "wide" {
		t.Errorf("counts %v, %v; want one that says that wide is not known", res.Rows, err)
	}
}

// TestTelemetryThatIsSentAgain may be on the bus twice, and voids no run.
func TestTelemetryThatIsSentAgain(t *testing.T) {
	for again, right := range map[int]bool{0: false, 2: true} {
		url, began := rowsOf(
			t,
			`{"stores":{"bus":{"records":3}}}`,
			fmt.Sprintf(`{"stores":{"bus":{"records":5}},"again":%d}`, again),
		)
		e := env(url, nil)
		b := provisioned(t, e)
		b.Before(t.Context(), e)
		began()
		res, err := b.Audit(t.Context(), e, nil)
		if err != nil || len(res.Rows) != 1 || res.Rows[0].Right() != right {
			t.Errorf("two records more, %d sent again: %v, %v", again, res.Rows, err)
		}
	}
}
