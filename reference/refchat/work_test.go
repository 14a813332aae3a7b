package refchat_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/reference/refchat"
)

// TestStatementsPerOperation checks doc.go's account of the database work against the executed
// statements. The numbers are the real server's unless doc.go gives others.
func TestStatementsPerOperation(t *testing.T) {
	// The account of the release whose source was read, without collapsed threads and priorities.
	t.Run("5.37", func(t *testing.T) {
		w := newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Version: "5.37.0"})
		root := w.ann.post(w.channel, "warm")
		reply := func() { w.ann.reply(w.channel, root["id"], "aye") }
		reply()
		for _, op := range []struct {
			name string
			fn   func()
			want float64
		}{
			{"post by a user", func() { w.ann.post(w.channel, "x") }, 12},
			{"reply to oneself", reply, 12 + 6 + 5},
			{"thread, a page", func() {
				w.ann.get("/posts/" + idOf(root) + "/thread?perPage=60&direction=down")
			}, 2},
		} {
			if n := w.statements(op.fn); n != op.want {
				t.Errorf("%s: %v statements, want %v", op.name, n, op.want)
			}
		}
	})
	// MySQL marks as viewed by two statements.
	for engine, extra := range map[string]float64{"postgresql": 0, "mysql": 1} {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t, refchat.Config{DSN: database(t, engine)})
			bot := w.addBot("robot")
			root := w.ann.post(w.channel, "warm")
			w.bob.post(w.channel, "warm")
			bot.post(w.channel, "warm")
			private := w.cabin()
			w.ann.post(private, "warm")
			reply := func(c *client) func() {
				return func() {
					c.made("/posts", obj{
						"channel_id": w.channel,
						"root_id":    root["id"],
						"message":    "aye",
					})
				}
			}
			reply(w.ann)()
			team := "/users/me/teams/" + w.team + "/threads"
			thread := team + "/" + idOf(root)
			get := func(path string) func() { return func() { w.ann.get(path) } }
			put := func(path string) func() { return func() { w.ann.ok("PUT", path, nil) } }
			search := func(path, terms string) func() {
				return func() { w.ann.ok("POST", path, obj{"terms": terms}) }
			}
			for _, op := range []struct {
				name string
				fn   func()
				want float64
			}{
				{"post by a user", func() { w.ann.post(w.channel, "x") }, 10 + extra},
				{"post by a user in a private channel", func() {
					w.ann.post(private, "x")
				}, 9 + extra},
				{"post by a bot", func() { bot.post(w.channel, "x") }, 9},
				{"post with a mention", func() { w.ann.post(w.channel, "@bob") }, 13 + extra},
				{"reply to oneself", reply(w.ann), 10 + extra + 6 + 5 + 3},
				{"view", func() {
					w.ann.ok("POST", "/channels/members/me/view", obj{"channel_id": w.channel})
				},
					3 + extra},
				{"view with collapsed threads", func() {
					w.ann.ok("POST", "/channels/members/me/view",
						obj{"channel_id": w.channel, "collapsed_threads_supported": true})
				}, 1 + extra},
				{"threads", get(team), 4},
				{"threads, totals", get(team + "?totalsOnly=true"), 3},
				{"threads, without totals", get(team + "?threadsOnly=true"), 1},
				{"thread as its follower sees it", get(thread), 2},
				{"thread, a page", get("/posts/" + idOf(root) + "/thread?perPage=60&direction=down"), 2 + 2},
				{"read a thread", put(thread + "/read/1"), 1 + 3 + 2 + 2 + 1},
				{"follow a thread", put(thread + "/following"), 1 + 4 + 1},
				{"read all threads", put(team + "/read"), 2},
				{"search", search("/teams/"+w.team+"/posts/search", "warm"), 1 + 2},
				{"search for words and hashtags", search("/teams/"+w.team+"/posts/search", "warm #warm"),
					2 + 2},
				{"search with modifiers", search("/teams/"+w.team+"/posts/search", "warm from:ann in:deck"),
					3 + 2},
				{"acknowledge", func() {
					w.ann.ok("POST", "/users/me/posts/"+idOf(root)+"/ack", nil)
				}, 1 + 4},
				{"remind", func() {
					w.ann.ok("POST", "/users/me/posts/"+idOf(root)+"/reminder", obj{"target_time": 1 << 40})
				}, 1 + 4 + 1},
				{"channel search",
					func() {
						want[[]obj](w.ann, 200, "POST", "/teams/"+w.team+"/channels/search", obj{"term": "de"})
					}, 1},
				{"group search",
					func() {
						want[[]obj](w.ann, 200, "POST", "/channels/group/search", obj{"term": "de"})
					}, 1},
				{"user search", func() {
					want[[]obj](w.ann, 200, "POST", "/users/search", obj{"term": "bo"})
				},
					1},
				{"who am I", func() { w.ann.get("/users/me") }, 1},
				{"ping", func() { w.ann.get("/system/ping") }, 0},
				{"statuses",
					func() {
						want[[]obj](w.ann, 200, "POST", "/users/status/ids", []string{w.ann.id})
					}, 0},
			} {
				if n := w.statements(op.fn); n != op.want {
					t.Errorf("%s: %v statements, want %v", op.name, n, op.want)
				}
			}
		})
	}
}

// statements returns how many SQL statements some work takes.
func (w *world) statements(work func()) float64 {
	w.anon.t.Helper()
	w.settle()
	before := w.metric("refchat_db_statements_total")
	work()
	w.settle()
	return w.metric("refchat_db_statements_total") - before
}

// settle waits until work that outlives its request is done: the count of statements stands still.
func (w *world) settle() {
	last := -1.0
	for range 200 {
		n := w.metric("refchat_db_statements_total")
		if n == last {
			return
		}
		last = n
		time.Sleep(30 * time.Millisecond)
	}
	w.anon.t.Fatal("statements without end")
}

func TestMetrics(t *testing.T) {
	w := plainWorld(t)
	w.bob.dial()
	w.ann.post(w.channel, "x")
	posts := w.metric("mattermost_post_total")
	calls := w.metric("mattermost_api_time", "handler=createPost", "method=POST", "status_code=201")
	stored := w.metric("mattermost_db_store_time", "method=PostStore.Save", "success=true")
	requests := w.metric("mattermost_http_requests_total")
	for range 5 {
		w.ann.post(w.channel, "x")
	}
	for name, got := range map[string]float64{
		"mattermost_post_total":          w.metric("mattermost_post_total") - posts,
		"mattermost_api_time":            w.metric("mattermost_api_time", "handler=createPost", "method=POST", "status_code=201") - calls,
		"mattermost_db_store_time":       w.metric("mattermost_db_store_time", "method=PostStore.Save", "success=true") - stored,
		"mattermost_http_requests_total": w.metric("mattermost_http_requests_total") - requests,
	} {
		if got != 5 {
			t.Errorf("%s rose by %v, want 5", name, got)
		}
	}
	if n := w.metric("mattermost_http_websockets_total"); n != 1 {
		t.Errorf("mattermost_http_websockets_total = %v, want 1", n)
	}
	for _, name := range []string{"mattermost_process_cpu_seconds_total", "mattermost_db_master_connections_total", "process_cpu_seconds_total",
		"go_goroutines", "go_memstats_heap_inuse_bytes", "go_memstats_stack_inuse_bytes",
		"go_sql_max_open_connections", "process_resident_memory_bytes"} {
		if w.metric(name) <= 0 {
			t.Errorf("no %s", name)
		}
	}
	resp, err := http.Get(w.anon.url + "/debug/pprof/goroutine?debug=1")
	noError(t, err)
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !bytes.Contains(b, []byte("goroutine profile:")) {
		t.Errorf("pprof: %.100s", b)
	}
}

// TestHashes logs in by both kinds of hash, and sees a hash of the other kind renewed by the login.
func TestHashes(t *testing.T) {
	dsn := database(t, "postgresql")
	for i, hash := range []string{"bcrypt:4", "pbkdf2:1000", "pbkdf2:2000", "bcrypt:5"} {
		t.Run(hash, func(t *testing.T) {
			c := newClient(t, serve(t, refchat.Config{DSN: dsn, Hash: hash}))
			for range 2 {
				c.login(refchat.DefaultAdminUser, refchat.DefaultAdminPassword)
			}
			renewed := c.metric("mattermost_db_store_time", "method=UserStore.UpdatePassword")
			if want := min(float64(i), 1); renewed != want {
				t.Errorf("%v hashes renewed, want %v", renewed, want)
			}
		})
	}
	for _, bad := range []string{"bcrypt", "bcrypt:99", "pbkdf2:1", "md5:1"} {
		_, err := refchat.New(t.Context(), refchat.Config{DSN: dsn, Hash: bad})
		failure.Says(t, err, fmt.Sprintf("hash %q", bad), "want bcrypt:COST")
	}
}

// An account that was made on loopback keeps its password when the server is opened to others: that
// is refused as well.
func TestAnAdministratorWithTheDefaultPasswordIsForLoopback(t *testing.T) {
	dsn := database(t, "postgresql")
	s, err := refchat.New(t.Context(), refchat.Config{
		DSN:    dsn,
		Hash:   "bcrypt:4",
		Listen: "127.0.0.1:0",
	})
	noError(t, err)
	s.Close()
	_, err = refchat.New(t.Context(), refchat.Config{
		DSN:           dsn,
		Hash:          "bcrypt:4",
		Listen:        "0.0.0.0:0",
		AdminPassword: "One-of-my-own-1",
	})
	failure.Says(t, err, "was made with it")
	s, err = refchat.New(t.Context(), refchat.Config{
		DSN:           dsn,
		Hash:          "bcrypt:4",
		Listen:        "127.0.0.1:0",
		AdminPassword: "One-of-my-own-1",
	})
	noError(t, err)
	s.Close()
}

// TestCommand runs the command: one line when ready, and a clean end with open connections.
func TestCommand(t *testing.T) {
	dsn := database(t, "postgresql")
	env := func(k string) string {
		return map[string]string{"MY_DSN": dsn, "REFCHAT_ADMIN_PASSWORD": "Another-1"}[k]
	}
	r, wr := io.Pipe()
	var stderr bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	dir := t.TempDir() + "/files"
	go func() {
		done <- refchat.Config{}.Main(ctx,
			[]string{"-listen=127.0.0.1:0", "-dsn-env=MY_DSN", "-hash=bcrypt:4", "-files=" + dir, "-version=9.9.9", "-max-conns=7"}, env, wr, &stderr)
	}()
	var url string
	if _, err := fmt.Fscanf(r, "refchat: listening on %s\n", &url); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, url: url, http: &http.Client{Timeout: 10 * time.Second}}
	admin := c.login(refchat.DefaultAdminUser, "Another-1")
	if v := admin.send("GET", "/users/me", nil).header.Get("X-Version-Id"); !strings.HasPrefix(
		v,
		"9.9.9.9.9.9.",
	) {
		t.Errorf("version %s", v)
	}
	if n := c.metric("go_sql_max_open_connections"); n != 7 {
		t.Errorf("max open connections %v", n)
	}
	admin.dial()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatalf("no end in %v", patience)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the given files directory is gone: %v", err)
	}
	for _, bad := range []struct{ arg, want string }{
		{"-dsn-env=NOTHING", "environment variable NOTHING"},
		{"-fault=sloth", `fault "sloth"`},
		{"surplus", `unexpected argument "surplus"`},
		{"-hash=md5:1", `hash "md5:1"`},
		{"-max-conns=-1", "max open connections"},
	} {
		err := refchat.Config{}.Main(
			t.Context(),
			[]string{"-dsn-env=MY_DSN", bad.arg},
			env,
			io.Discard,
			io.Discard,
		)
		failure.Says(t, err, bad.want)
	}
}
