package refchat_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/reference/refchat"
)

func TestCheckFault(t *testing.T) {
	for _, good := range []string{"cpu:25%", "cpu:0.5%", "slow-post:20ms", "slow-query:5ms", "pool:3", "stall:2s/30s", "lock:5ms", "hub:1ms", "hot-row:5ms", "work:8ms", "work:8ms@createPost",
		"error:1%", "error:0.01@createPost", "panic:1%", "panic:1%@createPost", "limit:50",
		"limit:50@createPost", "cache:16"} {
		if err := refchat.CheckFault(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		"":                   "unknown fault",
		"cpu":                "percentage",
		"cpu:25":             "percentage",
		"cpu:-1%":            "percentage",
		"cpu:NaN%":           "percentage",
		"cpu:25%@x":          "no @",
		"slow-post:20":       "duration",
		"slow-post:-1s":      "duration",
		"slow-post:20ms@":    "nothing after @",
		"slow-query:1ms@20%": "no @",
		"pool:0":             "number",
		"pool:many":          "number",
		"stall:2s":           "DURATION/PERIOD",
		"stall:30s/2s":       "DURATION/PERIOD",
		"lock:2s":            "duration",
		"work:25%":           "duration",
		"work:8ms@makePost":  "no handler",
		"hub:":               "duration",
		"hot-row:5ms@1%":     "no @",
		"error:x":            "share",
		"error:0":            "share",
		"panic:200%":         "share",
		"limit:0":            "rate",
		"limit:5@makePost":   "no handler",
		"limit:5@":           "nothing after @",
		"cache:15":           "entries",
		"pool:2@createPost":  "no @",
		"error:1%@makePost":  "no handler",
		"sloth:1%":           "unknown fault",
	} {
		err := refchat.CheckFault(bad)
		failure.Says(t, err, why, fmt.Sprintf("%q", bad))
		failure.Hides(t, err, "\n")
	}
	failure.Says(t, failure.Of(refchat.New(t.Context(), refchat.Config{
		DSN:    "postgres://u:hunter2@127.0.0.1:1/x",
		Faults: []string{"sloth"},
	})), "sloth")
}

func TestFaultError(t *testing.T) {
	w := faulty(t, "error:20%@getChannel")
	failed := 0
	for range 200 {
		switch a := w.ann.send("GET", "/channels/"+w.channel, nil); a.status {
		case 500:
			failed++
		case 200:
		default:
			t.Fatalf("status %d", a.status)
		}
		if a := w.ann.send("GET", "/users/me", nil); a.status != 200 {
			t.Fatalf("another handler: %d", a.status)
		}
	}
	if failed < 20 || failed > 65 {
		t.Errorf("%d of 200 failed", failed)
	}
	if n := w.metric("mattermost_api_time", "handler=getChannel", "status_code=500"); n != float64(
		failed,
	) {
		t.Errorf("metrics count %v failures, clients %d", n, failed)
	}
}

// shortest returns the least time of n calls: the time that a fault adds to each shows even on a
// busy machine.
func shortest(n int, fn func()) time.Duration {
	best := time.Hour
	for range n {
		start := time.Now()
		fn()
		best = min(best, time.Since(start))
	}
	return best
}

// quick requires that one of many calls takes less than d: no fault adds that to each.
func quick(t *testing.T, what string, d time.Duration, fn func()) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%s in less than %v", what, d), func() bool {
		return shortest(1, fn) < d
	})
}

func TestFaultSlowPost(t *testing.T) {
	w := faulty(t, "slow-post:60ms")
	if d := shortest(3, func() { w.ann.post(w.channel, "x") }); d < 60*time.Millisecond {
		t.Errorf("a post took %v", d)
	}
	quick(t, "another request", 60*time.Millisecond, func() { w.ann.send("GET", "/users/me", nil) })
}

func TestFaultSlowQuery(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *world) {
		teams := func() { w.ann.send("GET", "/users/me/teams", nil) }
		if n := w.statements(teams); n != 1 {
			t.Fatalf("my teams took %v statements, want 1", n)
		}
		if d := shortest(3, teams); d < 20*time.Millisecond {
			t.Errorf("a statement took %v", d)
		}
		quick(t, "a request without statements", 20*time.Millisecond,
			func() { w.ann.send("GET", "/system/ping", nil) })
	}, "slow-query:20ms")
}

func TestFaultPool(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *world) {
		if n := w.metric("go_sql_max_open_connections"); n != 1 {
			t.Errorf("max open %v", n)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { w.ann.send("GET", "/users/me/teams", nil) })
		}
		wg.Wait()
		if n := w.metric("go_sql_wait_count_total"); n == 0 {
			t.Error("nobody waited for the only connection")
		}
	}, "pool:1", "slow-query:5ms")
}

// TestFaultLock lets requests that need no database wait for each other, and Go's own account of
// mutexes see it.
func TestFaultLock(t *testing.T) {
	w := faulty(t, "lock:20ms")
	start := time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { w.anon.send("GET", "/system/ping", nil) })
	}
	wg.Wait()
	if d := time.Since(start); d < 160*time.Millisecond {
		t.Errorf("eight requests through a section of 20 ms took %v", d)
	}
	if n := w.metric("refchat_fault_wait_seconds_total", "fault=lock"); n < 0.16 {
		t.Errorf("the section's own account is %v s", n)
	}
}

// TestFaultHub makes events wait for the hub, and the queue's metric show them.
func TestFaultHub(t *testing.T) {
	w := faulty(t, "hub:100ms")
	sock := w.bob.dial()
	start := time.Now()
	for i := range 10 {
		w.ann.post(w.channel, fmt.Sprint(i))
	}
	waiting := w.metric("mattermost_websocket_broadcast_buffer_size")
	got := messages(t, sock.sync(1))
	if len(got) != 10 {
		t.Errorf("%d of 10 messages", len(got))
	}
	if d := time.Since(start); d < time.Second {
		t.Errorf("ten events of 100 ms took %v", d)
	}
	if waiting == 0 {
		t.Error("nothing waited for the hub")
	}
}

// TestFaultHotRow makes posts wait for each other in the database.
func TestFaultHotRow(t *testing.T) {
	onFaulty(t, func(t *testing.T, w *world) {
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { w.ann.post(w.channel, fmt.Sprint(i)) })
		}
		wg.Wait()
		if d := time.Since(start); d < 160*time.Millisecond {
			t.Errorf("eight posts that keep a row for 20 ms took %v", d)
		}
		quick(t, "a request that posts nothing", 20*time.Millisecond,
			func() { w.ann.send("GET", "/users/me/teams", nil) })
	}, "hot-row:20ms")
}

func TestFaultStall(t *testing.T) {
	w := faulty(t, "stall:300ms/1s")
	for range 2 { // the second is the next one, as a stall ends what it held
		waitFor(t, "a stalled request", func() bool {
			return shortest(1, func() {
				w.anon.send("GET", "/system/ping", nil)
			}) > 150*time.Millisecond
		})
	}
}

// TestFaultCPU checks the share by the server's own accounts: the burnt time against the rest of
// this process's CPU time. This process is also the client and more, which the burner cannot
// separate from the server; the share holds all the same.
func TestFaultCPU(t *testing.T) {
	w := faulty(t, "cpu:50%")
	load := func(d time.Duration) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for start := time.Now(); time.Since(start) < d; {
					w.ann.send("GET", "/users/me/teams", nil)
				}
			})
		}
		wg.Wait()
	}
	load(2 * time.Second) // the mean finds its level
	cpu, burnt := w.metric("process_cpu_seconds_total"), w.metric("refchat_fault_cpu_seconds_total")
	load(3 * time.Second)
	cpu = w.metric("process_cpu_seconds_total") - cpu
	burnt = w.metric("refchat_fault_cpu_seconds_total") - burnt
	t.Logf("burnt %.1f %% on top", 100*burnt/(cpu-burnt))
	// Neither 25 % nor 100 %, also on a machine that others use.
	if share := burnt / (cpu - burnt); share < 0.35 || share > 0.75 {
		t.Errorf("burnt %.3f s of %.3f s: %.1f %% on top, want 50 %%", burnt, cpu, 100*share)
	}
}

// TestFaultWork measures the burn of a fixed number of requests.
func TestFaultWork(t *testing.T) {
	w := faulty(t, "work:4ms")
	before := w.metric("refchat_fault_cpu_seconds_total")
	for range 50 {
		w.ann.send("GET", "/users/me/teams", nil)
	}
	// A request ends its burn at the first reading of the clock after its time: never before, and
	// by thread time, so preemption does not make it longer.
	if burnt := w.metric("refchat_fault_cpu_seconds_total") - before; burnt < 0.2 || burnt > 0.3 {
		t.Errorf("50 requests burnt %.4f s, want 0.2", burnt)
	}
	w = faulty(t, "work:4ms@createPost")
	before = w.metric("refchat_fault_cpu_seconds_total")
	for range 10 {
		w.ann.send("GET", "/users/me/teams", nil)
		w.ann.post(w.channel, "aye")
	}
	if burnt := w.metric("refchat_fault_cpu_seconds_total") - before; burnt < 0.04 || burnt > 0.06 {
		t.Errorf("10 posts and 10 other requests burnt %.4f s, want 0.04", burnt)
	}
}

// TestFaultWorkDelaysTheAnswer checks the burnt time when an answer begins to arrive: all of it,
// also where net/http sends before the handler returns, and where a WebSocket keeps the handler for
// its whole life. And each request burns once.
func TestFaultWorkDelaysTheAnswer(t *testing.T) {
	const work = 0.05 // s
	w := faulty(t, "work:50ms")
	post := "/posts/" + text(w.ann.post(w.channel, strings.Repeat("long ", 3000))["id"])
	tag := w.ann.send("GET", "/users/me", nil).header.Get("Etag")
	var sock *socket
	for _, tt := range []struct {
		name    string
		status  int
		request func(t *testing.T) int
	}{
		{"small", 200, func(*testing.T) int { return w.ann.begun(t, "/users/me", "", "") }},
		{"large", 200, func(*testing.T) int { return w.ann.begun(t, post, "", "") }},
		{"not modified", 304,
			func(*testing.T) int { return w.ann.begun(t, "/users/me", "If-None-Match", tag) }},
		{"refused", 404, func(*testing.T) int { return w.ann.begun(t, "/no/such/thing", "", "") }},
		{"no upgrade", 400, func(*testing.T) int { return w.ann.begun(t, "/websocket", "", "") }},
		{"upgrade", 101, func(*testing.T) int { sock = w.ann.dialRaw(); return 101 }},
		{"end of the WebSocket, then small", 200, func(t *testing.T) int {
			sock.conn.Close()
			waitFor(t, "the socket's end",
				func() bool { return w.metric("mattermost_http_websockets_total") == 0 })
			return w.ann.begun(t, "/users/me", "", "")
		}},
	} {
		before := w.metric("refchat_fault_cpu_seconds_total")
		if got := tt.request(t); got != tt.status {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.status)
		}
		if burnt := w.metric("refchat_fault_cpu_seconds_total") - before; burnt < work ||
			burnt > 1.5*work {
			t.Errorf("%s: %.3f s were burnt when the answer came, want %v", tt.name, burnt, work)
		}
	}
}

// begun makes a request and returns the answer's status as soon as it is there, without its body.
func (c *client) begun(t *testing.T, path, header, value string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", c.url+"/api/v4"+path, nil)
	noError(t, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept-Encoding", "identity")
	if header != "" {
		req.Header.Set(header, value)
	}
	resp, err := c.http.Do(req)
	noError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp.StatusCode
}

func TestFaultLimitAnswers429(t *testing.T) {
	w := faulty(t, "limit:1@createPost")
	refused := 0
	for range 40 {
		switch a := w.ann.send("POST", "/posts", obj{"channel_id": w.channel, "message": "x"}); {
		case a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "":
			refused++
		case a.status != http.StatusCreated:
			t.Fatalf("status %d: %s", a.status, a.body)
		}
		if a := w.ann.send("GET", "/users/me", nil); a.status != 200 {
			t.Fatalf("another handler: %d", a.status)
		}
	}
	if n := w.metric("refchat_requests_refused_total"); refused == 0 || n != float64(refused) {
		t.Errorf("%d were refused, the server counts %v", refused, n)
	}
}

// TestFaultCacheGoesToTheDatabase counts statements: the same requests take more with a cache that
// holds one entry a shard.
func TestFaultCacheGoesToTheDatabase(t *testing.T) {
	statements := func(faults ...string) (n, evicted float64) {
		w := newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Faults: faults})
		users := []*client{w.ann, w.bob}
		for i := range 40 {
			users = append(users, w.addUser("user"+string(rune('a'+i/10))+string(rune('a'+i%10))))
		}
		n = w.statements(func() {
			for range 3 {
				for _, u := range users {
					u.send("GET", "/users/me", nil)
				}
			}
		})
		return n, w.metric("refchat_cache_evicted_total")
	}
	large, none := statements()
	small, evicted := statements("cache:16")
	if small < large+60 || none != 0 || evicted == 0 {
		t.Errorf(
			"%v statements and %v evictions with small caches, %v and %v without",
			small,
			evicted,
			large,
			none,
		)
	}
}
