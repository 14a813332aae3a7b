package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/newsfeed/redis"
	"plimsoll/newsfeed/server"
)

// startGated is start with a relay before every store. A call to a store may take 20 s, and to one
// that its relay silences 300 ms.
func startGated(t testing.TB, engine string, wide, search server.StoreConfig) *feed {
	t.Helper()
	r, err := redis.Start(t.Context(), redis.Config{
		Dir:      t.TempDir(),
		Settings: map[string]string{"maxmemory-policy": "noeviction"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	wide.Kind, search.Kind = server.KindWide, server.KindSearch
	addrs := map[string]string{"cache": r.Addr()}
	addrs["wide"], _ = store(t, wide)
	addrs["search"], _ = store(t, search)
	addrs["bus"], _ = store(t, server.StoreConfig{Kind: server.KindBus})
	dsn := database(t, engine)
	u, err := url.Parse(strings.NewReplacer("tcp(", "", ")", "").Replace(dsn))
	if err != nil {
		t.Fatal("the DSN is no URL")
	}
	addrs["database"] = u.Host
	f := &feed{t: t, redis: r, bus: addrs["bus"], gate: map[string]*relay{}}
	for role, addr := range addrs {
		f.gate[role] = newRelay(t, addr)
	}
	cfg := server.Config{
		Listen:       "127.0.0.1:0",
		DSN:          strings.ReplaceAll(dsn, u.Host, f.gate["database"].addr()),
		Redis:        f.gate["cache"].addr(),
		Wide:         f.gate["wide"].addr(),
		Search:       f.gate["search"].addr(),
		Bus:          f.gate["bus"].addr(),
		Index:        server.IndexCommit,
		StoreTimeout: 20 * time.Second,
	}
	f.serve(server.WithTimeout(cfg, func(role string) time.Duration {
		if f.gate[role].is("slow") {
			return 300 * time.Millisecond
		}
		return cfg.StoreTimeout
	}))
	return f
}

// records reads all telemetry that the bus has.
func (f *feed) records() (list []server.Record) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	fetch := func(ctx context.Context, bus string) ([][]byte, error) {
		b := server.NewBus(bus)
		defer b.Close()
		return b.Fetch(ctx, 0)
	}
	if outside != nil {
		fetch = outside.fetch
	}
	raw, err := fetch(ctx, f.bus)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range raw {
		var rec server.Record
		if err := json.Unmarshal(r, &rec); err != nil {
			f.t.Fatal(err)
		}
		list = append(list, rec)
	}
	return list
}

// tell requires that the newest story's telemetry has this status and store.
func (f *feed) tell(status int, store string) {
	f.t.Helper()
	eventually(
		f.t,
		fmt.Sprintf("telemetry of a story with status %d for %q", status, store),
		func() bool {
			l := f.records()
			i := slices.IndexFunc(l, func(r server.Record) bool {
				return r.Entity == "outbound" && r.Operation == "post" && r.Status == status &&
					r.Store == store &&
					r.Micros > 0
			})
			return i >= 0
		},
	)
}

// TestAFaultOfEachStore breaks one store after the other: refused connections, and silence. The
// client's error names it, no story that it sends counts as done, the telemetry has it, and
// afterwards the same server works again.
func TestAFaultOfEachStore(t *testing.T) {
	onBoth(t, func(t *testing.T, engine string) {
		f := startGated(t, engine, server.StoreConfig{}, server.StoreConfig{})
		n := 0
		post := func(from int64) (int, string, string) {
			n++
			word := fmt.Sprintf("word%d", n)
			status, text := f.do("POST", "/outbound/new", object{
				"from":    from,
				"subject": "s",
				"story":   word,
			})
			return status, text, word
		}
		whole := func(to int64, word string) bool {
			var senders []string
			f.ok("GET", "/outbound?keywords="+word, nil, &senders)
			return len(senders) == 1 && slices.ContainsFunc(f.inbound(to), func(e entry) bool {
				return e.Story == word
			})
		}
		for _, role := range []string{"database", "cache", "wide", "search"} {
			for mode, want := range map[string]int{"refuse": 503, "slow": 504} {
				a, b := f.person("a"), f.person("b") // whose friends no cache has
				f.befriend(a, b)
				f.gate[role].set(mode)
				status, text, _ := post(a)
				if status != want || !strings.Contains(text, fmt.Sprintf("%q", role)) {
					t.Errorf("%s %s: %d %s; want %d and its role", role, mode, status, text, want)
				}
				if strings.Contains(text, "127.0.0.1") || strings.Contains(text, "password") {
					t.Errorf("%s %s: the client is told %s", role, mode, text)
				}
				if health, text := f.do("GET", "/health", nil); health != 503 ||
					!strings.Contains(text, role) {
					t.Errorf("%s %s: health says %d %s", role, mode, health, text)
				}
				f.tell(want, role)
				f.gate[role].set("")
				word := ""
				eventually(t, role+" "+mode+": a story after it", func() bool {
					status, _, word = post(a)
					return status == 200
				})
				if !whole(b, word) {
					t.Errorf("%s %s: the first story after it is not whole", role, mode)
				}
				eventually(t, role+" "+mode+": good health after it", func() bool {
					health, _ := f.do("GET", "/health", nil)
					return health == 200
				})
			}
		}
	})
}

// TestNoBusNoLoss checks that without a bus the service goes on, and that its telemetry is sent
// once the bus is back.
func TestNoBusNoLoss(t *testing.T) {
	f := startGated(t, "postgresql", server.StoreConfig{}, server.StoreConfig{})
	for _, mode := range []string{"refuse", "slow"} {
		var then server.Rows
		f.ok("GET", "/rows", nil, &then)
		again := then.Again
		f.gate["bus"].set(mode)
		before := len(f.records())
		for range 20 {
			f.person("x")
		}
		if health, text := f.do("GET", "/health", nil); health != 503 ||
			!strings.Contains(text, "bus") {
			t.Errorf("%s: health says %d %s", mode, health, text)
		}
		if got := len(f.records()); got > before {
			t.Errorf("%s: the bus has %d more records", mode, got-before)
		}
		eventually(t, mode+": records that are sent again are counted", func() bool {
			var rows server.Rows
			f.ok("GET", "/rows", nil, &rows)
			return rows.Again > again
		})
		f.gate["bus"].set("")
		eventually(t, mode+": all records on the bus", func() bool {
			seen := map[int64]bool{}
			for _, r := range f.records()[before:] {
				seen[r.Number] = true
			}
			return len(seen) == 20
		})
	}
}

// TestFullStores fills each store that can be full.
func TestFullStores(t *testing.T) {
	t.Run("wide", func(t *testing.T) {
		f := startGated(t, "postgresql", server.StoreConfig{Most: 3000}, server.StoreConfig{})
		f.fill("wide")
	})
	t.Run("search", func(t *testing.T) {
		f := startGated(t, "postgresql", server.StoreConfig{}, server.StoreConfig{Most: 3000})
		f.fill("search")
	})
	t.Run("cache", func(t *testing.T) {
		f := startGated(t, "postgresql", server.StoreConfig{}, server.StoreConfig{})
		a, b := f.person("a"), f.person("b")
		f.befriend(a, b)
		f.redisSay("CONFIG SET maxmemory 1")
		if status, text := f.do("GET", link(a), nil); status != 507 ||
			!strings.Contains(text, "cache") {
			t.Errorf("full: %d %s, want 507", status, text)
		}
		f.redisSay("CONFIG SET maxmemory 0")
		f.ok("GET", link(a), nil, nil)
	})
}

// fill posts until the store is full and requires that every acknowledged story is there whole.
func (f *feed) fill(role string) {
	f.t.Helper()
	a, b := f.person("a"), f.person("b")
	f.befriend(a, b)
	acked := map[string]bool{}
	for i := range 100 {
		word := fmt.Sprintf("word%d", i)
		status, text := f.do("POST", "/outbound/new", object{
			"from":    a,
			"subject": "s",
			"story":   strings.Repeat(word+" ", 20),
		})
		if status == 200 {
			acked[word] = true
			continue
		}
		if status != 507 || !strings.Contains(text, role) {
			f.t.Fatalf("full: %d %s, want 507 and its role", status, text)
		}
		break
	}
	if len(acked) == 0 || len(acked) == 100 {
		f.t.Fatalf("%d stories of 100 were acknowledged", len(acked))
	}
	f.tell(507, role)
	for _, e := range f.inbound(b) {
		delete(acked, strings.Fields(e.Story)[0])
	}
	if len(acked) > 0 {
		f.t.Errorf("acknowledged and not received: %v", acked)
	}
}

// TestADropThatFailedIsMadeGood: a friendship is stored while Redis is away; its old list is not
// used later.
func TestADropThatFailedIsMadeGood(t *testing.T) {
	f := startGated(t, "postgresql", server.StoreConfig{}, server.StoreConfig{})
	a := f.person("a")
	b := f.person("b")
	c := f.person("c")
	f.befriend(a, b)
	if l := f.friends(a); len(l) != 1 { // cached
		t.Fatalf("%d friends, want 1", len(l))
	}
	f.gate["cache"].set("refuse")
	if status, text := f.do("POST", link(a)+"/friends", object{"to": link(c)}); status != 503 ||
		!strings.Contains(text, "cache") {
		t.Fatalf("%d %s, want 503 for the cache", status, text)
	}
	f.gate["cache"].set("")
	eventually(t, "the list is read again", func() bool {
		status, _ := f.do("GET", link(a)+"/friends", nil)
		return status == 200
	})
	if l := f.friends(a); len(l) != 2 {
		t.Errorf("%d friends, want 2: the list of before is believed", len(l))
	}
}

// redisSay sends an inline command past the relay.
func (f *feed) redisSay(command string) {
	f.t.Helper()
	c, err := dial(f.redis.Addr())
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s\r\n", command)
	b := make([]byte, 100)
	n, err := c.Read(b)
	if err != nil || !strings.HasPrefix(string(b[:n]), "+OK") {
		f.t.Fatalf("%s: %s %v", command, b[:n], err)
	}
}

func TestTelemetryOfEachRequest(t *testing.T) {
	f := start(t, "postgresql", server.Config{})
	a := f.person("a")
	f.do("GET", "/participant/77", nil)
	f.do("POST", "/participant", "{")
	f.do("GET", "/outbound?keywords=x", nil)
	f.do("DELETE", link(a), nil)
	want := []string{
		"participant post 200",
		"participant get 404",
		"participant post 400",
		"outbound search 200",
		"none none 404",
	}
	var got []string
	eventually(t, "five records", func() bool {
		got = nil
		for i, r := range f.records() {
			got = append(got, fmt.Sprintf("%s %s %d", r.Entity, r.Operation, r.Status))
			if r.Number != int64(i+1) || r.Server == "" || time.Since(r.At) > time.Minute ||
				r.Micros <= 0 {
				t.Errorf("record %+v", r)
			}
		}
		return len(got) == len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTheEndOfAServerSendsItsTelemetry checks that a stop sends the waiting records.
func TestTheEndOfAServerSendsItsTelemetry(t *testing.T) {
	f := start(t, "postgresql", server.Config{})
	for range 5 {
		f.person("x")
	}
	f.server.stop(t)
	// a batch that the stop has cut off is sent again, and may be there twice
	numbers := map[int64]bool{}
	for _, r := range f.records() {
		numbers[r.Number] = true
	}
	if len(numbers) != 5 {
		t.Errorf("records %v, want 5", numbers)
	}
}
