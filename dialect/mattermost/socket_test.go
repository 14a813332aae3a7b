package mattermost

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/measure"
	"plimsoll/wire"
	"plimsoll/workload"
)

// socketServer serves the WebSocket with another implementation than ours. serve gets a function that sends an event.
func socketServer(t *testing.T, serve func(c *websocket.Conn, send func(raw string))) string {
	t.Helper()
	return busyServer(t, func() bool { return false }, serve)
}

// busyServer is a socketServer that answers 503 as often as busy says so.
func busyServer(t *testing.T, busy func() bool, serve func(c *websocket.Conn, send func(raw string))) string {
	t.Helper()
	var wg sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v4/websocket" || r.Header.Get("Authorization") != "Bearer tok" {
			w.WriteHeader(401)
			return
		}
		if busy() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		wg.Add(1)
		defer wg.Done()
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		serve(c, func(raw string) { c.WriteMessage(websocket.TextMessage, []byte(raw+"\n")) })
	}))
	t.Cleanup(func() { srv.Close(); wg.Wait() })
	return srv.URL
}

const hello = `{"event":"hello","data":{"connection_id":"","server_version":"5.37.0"},"broadcast":{"omit_users":null,"user_id":"u"},"seq":0}`

// posted is an event as the real server writes it: the post is a string.
func posted(seq int, id, author, message string) string {
	post, _ := json.Marshal(map[string]any{"id": id, "user_id": author, "channel_id": "c", "root_id": "", "message": message,
		"metadata": map[string]any{"files": []any{map[string]any{"id": "wrong", "user_id": "wrong"}}}})
	data, _ := json.Marshal(map[string]any{"channel_type": "O", "post": string(post), "sender_name": "@x", "mentions": `["u"]`})
	return fmt.Sprintf(`{"event": "posted", "data": %s, "broadcast": {"channel_id":"c"}, "seq": %d}`, data, seq)
}

func TestSocketEvents(t *testing.T) {
	tricky := `{"id":"no"} \"id\":\"no\" é😀 ` + "\n\t\\"
	url := socketServer(t, func(c *websocket.Conn, send func(string)) {
		send(hello)
		send(posted(1, "p1", "a", tricky))
		send(`{"event":"typing","data":{"parent_id":"","user_id":"a"},"broadcast":{},"seq":2}`)
		send(`{"status":"OK","seq_reply":9}`)
		send(`{"event":"reaction_added","data":{},"seq":5}`)
		send(posted(5, "p2", "b", strings.Repeat("long ", 3000)))
		send(`{"event":"typing","data":{},"seq":2}`)
		send(`{"event":"status_change","data":{},"seq":6}`)
		send(strings.Replace(posted(7, "p1", "a", tricky), `"posted"`, `"post_deleted"`, 1))
		send(`{"event":"posted","data":{"post":"{\"id\":"},"seq":8}`)
		c.ReadMessage()
	})
	c, rec := newTestClient(t, url)
	s, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := rec.take(); got != "websocket:ok" {
		t.Errorf("recorded %q", got)
	}
	for i, want := range []struct {
		kind     EventKind
		lost     int64
		id, user string
	}{
		{EventPosted, 0, "p1", "a"}, {EventTyping, 0, "", ""}, {EventReactionAdded, 2, "", ""}, {EventPosted, -1, "p2", "b"}, {EventTyping, -4, "", ""}, {EventOther, 0, "", ""},
		{EventDeleted, 0, "p1", "a"},
	} {
		ev, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind != want.kind || ev.Lost != want.lost || ev.Post.ID.String() != want.id || ev.Post.UserID.String() != want.user || ev.At.IsZero() ||
			want.id != "" && ev.Post.ChannelID.String() != "c" {
			t.Errorf("event %d: kind %d, lost %d, post %s by %s in %s; want %+v", i, ev.Kind, ev.Lost, ev.Post.ID, ev.Post.UserID, ev.Post.ChannelID, want)
		}
	}
	if _, err := s.Next(t.Context()); err == nil || workload.ClassOf(err) != measure.WS {
		t.Errorf("a broken event passed: %v", err)
	}
}

func TestConnectFailures(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve func(*websocket.Conn, func(string))
		class measure.Class
	}{
		{"no hello", func(c *websocket.Conn, _ func(string)) { c.ReadMessage() }, measure.Timeout},
		{"closed instead", func(*websocket.Conn, func(string)) {}, measure.WS},
		{"something else first", func(c *websocket.Conn, send func(string)) { send(posted(0, "p", "a", "")); c.ReadMessage() }, measure.WS},
		{"not JSON", func(c *websocket.Conn, send func(string)) { send("hello"); c.ReadMessage() }, measure.WS},
	} {
		c, rec := newTestClient(t, socketServer(t, tt.serve))
		_, err := c.Connect(t.Context())
		if got := rec.take(); err == nil || got != "websocket:"+tt.class.String() {
			t.Errorf("%s: recorded %q, %v; want %s", tt.name, got, err, tt.class)
		}
	}
	c, rec := newTestClient(t, socketServer(t, nil))
	c.SetToken("wrong")
	if _, err := c.Connect(t.Context()); err == nil || rec.take() != "websocket:4xx" {
		t.Errorf("refused: %v", err)
	}
}

func TestTyping(t *testing.T) {
	url := socketServer(t, func(c *websocket.Conn, send func(string)) {
		send(hello)
		for {
			var req struct {
				Action string
				Seq    int
				Data   map[string]string
			}
			if c.ReadJSON(&req) != nil {
				return
			}
			if req.Action != "user_typing" || req.Data["channel_id"] != "c" {
				send(`{"status":"FAIL","seq_reply":0}`)
				return
			}
			switch req.Data["parent_id"] {
			case "bad":
				send(fmt.Sprintf(`{"status":"FAIL","seq_reply":%d,"error":{"id":"x"}}`, req.Seq))
			case "mute":
			case "gone":
				return
			default:
				send(fmt.Sprintf(`{"status":"OK","seq_reply":%d}`, req.Seq))
			}
		}
	})
	c, rec := newTestClient(t, url)
	s, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec.take()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := s.Next(t.Context()); err != nil {
				s.Close()
				return
			}
		}
	}()
	for _, tt := range []struct{ parent, want string }{
		{"", "typing:ok"}, {"bad", "typing:ws"}, {"root", "typing:ok"}, {"mute", "typing:timeout"}, {"", "typing:ok"}, {"gone", "typing:ws"}, {"", "typing:ws"},
	} {
		err := c.Typing(t.Context(), s, "c", tt.parent)
		if got := rec.take(); got != tt.want || (err == nil) != (tt.want == "typing:ok") {
			t.Errorf("parent %q: recorded %q, %v; want %s", tt.parent, got, err, tt.want)
		}
	}
	<-ended
}

// A lost connection, a gap and a repeated event are counted, deliveries are recorded for others' posts only, and the user reconnects.
func TestListen(t *testing.T) {
	var mu sync.Mutex
	conns := 0
	second := make(chan struct{})
	url := socketServer(t, func(c *websocket.Conn, send func(string)) {
		mu.Lock()
		conns++
		n := conns
		mu.Unlock()
		send(hello)
		if n == 2 {
			send(posted(1, "p4", "other", ""))
			close(second)
			c.ReadMessage()
			return
		}
		send(posted(1, "p1", "other", ""))
		send(posted(2, "mine", "me", ""))
		send(posted(4, "p2", "other", "")) // one is missing
		send(posted(4, "p2", "other", "")) // and one comes twice
	})
	reg := measure.NewRegistry(1)
	u := workload.NewUser(0, 0, 1, 0.001, reg.Recorder(0), time.Now())
	env := workload.Env{URL: url, Pace: 0.001, Registry: reg, Timeout: 5 * time.Second, Ledger: workload.NewLedger(0, 1)}
	b := &Person{ids: []string{"me"}, tokens: []string{"tok"}, channels: []string{"c"}, dir: newDirectory()}
	ch := b.dir.channel(Channel{ID: "c"})
	actor, err := b.NewActor(env, u)
	if err != nil {
		t.Fatal(err)
	}
	a := actor.(*person)
	a.places, a.current = []place{{ch: ch}}, 0
	for _, id := range []string{"p1", "mine", "p2", "p4"} {
		author := 1
		if id == "mine" {
			author = 0
		}
		env.Ledger.Acked(workload.Message{ID: parseID(id).String(), Channel: ch.id.String(), Author: author, Sent: time.Now(), Acked: time.Now()})
	}
	a.begin(a.login)
	if err := a.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	<-second
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		ch.mu.RLock()
		n := len(ch.posts)
		ch.mu.RUnlock()
		if n == 4 || time.Now().After(deadline) {
			break
		}
	}
	var kept []string
	ch.mu.RLock()
	for _, p := range ch.posts {
		kept = append(kept, p.id.String())
	}
	ch.mu.RUnlock()
	if fmt.Sprint(kept) != "[mine p1 p2 p4]" {
		t.Errorf("kept %v, want [mine p1 p2 p4]", kept)
	}
	for _, w := range reg.Cut() {
		switch w.Name {
		case workload.Delivery:
			if w.Classes[measure.OK] != 3 {
				t.Errorf("%d deliveries, want 3 (p1, p2, p4)", w.Classes[measure.OK])
			}
		case "websocket": // gap, repetition, loss; one reconnection
			if w.Classes[measure.WS] != 3 || w.Classes[measure.OK] != 1 {
				t.Errorf("websocket: %d ws, %d ok; want 3 and 1", w.Classes[measure.WS], w.Classes[measure.OK])
			}
		case "login_websocket":
		case workload.Inbox: // one for each event that came with the kernel's stamp
			if n := w.Lag.Count(); n < 5 || w.Lag.Max() > 5*time.Second {
				t.Errorf("%d events lay in the kernel, for up to %v", n, w.Lag.Max())
			}
		default:
			t.Errorf("unexpected series %s", w.Name)
		}
	}
}

// A further device that is cut off counts that once, and each refusal once, as the first one does.
func TestCarry(t *testing.T) {
	var asked, made atomic.Int64
	url := busyServer(t, func() bool {
		n := asked.Add(1)
		return n == 3 || n == 4
	}, func(c *websocket.Conn, send func(string)) {
		n := made.Add(1)
		send(hello)
		if n != 2 { // the first device's, and the second one's when it is back
			c.ReadMessage()
		}
	})
	reg := measure.NewRegistry(1)
	u := workload.NewUser(0, 0, 1, 0.001, reg.Recorder(0), time.Now())
	b := &Person{set: settings{devices: 2}, ids: []string{"me"}, tokens: []string{"tok"}, dir: newDirectory()}
	actor, err := b.NewActor(workload.Env{URL: url, Pace: 0.001, Registry: reg, Timeout: 5 * time.Second}, u)
	if err != nil {
		t.Fatal(err)
	}
	a := actor.(*person)
	a.begin(a.login)
	if err := a.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var got [measure.NumClasses]uint64
	for deadline := time.Now().Add(5 * time.Second); got[measure.OK] == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, w := range reg.Cut() {
			if w.Name == "websocket" {
				for class, n := range w.Classes {
					got[class] += n
				}
			}
		}
	}
	if want := [measure.NumClasses]uint64{measure.OK: 1, measure.WS: 1, measure.Status5xx: 2}; got != want {
		t.Errorf("websocket: %v by class, want %v: back once, cut off once, refused twice", got, want)
	}
}

func TestProvisionNeedsAnAdministrator(t *testing.T) {
	for _, b := range []workload.Behavior{&Poster{}, &Person{}} {
		err := b.Provision(t.Context(), workload.Env{URL: "http://127.0.0.1:1"}, 1)
		if err == nil || !strings.Contains(err.Error(), "admin_password") {
			t.Errorf("%T: got %v, want a hint at the secret", b, err)
		}
		err = b.Provision(t.Context(), workload.Env{URL: "http://127.0.0.1:1", Params: map[string]string{"admin_password": "hunter2"}}, 1)
		if e, ok := errors.AsType[*OpError](err); !ok || e.Class != measure.Dial || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%T: got %v, want a dial error without the password", b, err)
		}
		if _, err := b.NewActor(workload.Env{}, workload.NewUser(0, 0, 1, 1, nil, time.Now())); err == nil {
			t.Errorf("%T: an actor without provisioning", b)
		}
	}
}

// A reply over the WebSocket is done when it arrived. Until the user's goroutine runs again, the reader has its other events to handle, and that
// is the generator's time.
func TestAReplyIsDoneWhenItArrived(t *testing.T) {
	s := &Socket{ws: new(wire.WS), waiting: 3, replies: make(chan reply, 1)}
	at := time.Now().Add(-20 * time.Millisecond)
	if ok, err := s.event([]byte(`{"status":"OK","seq_reply":3}`), at, new(Event)); ok || err != nil {
		t.Fatalf("the reply is an event, or wrong: %v, %v", ok, err)
	}
	if r := <-s.replies; !r.ok || !r.at.Equal(at) {
		t.Errorf("%+v, want OK at %v", r, at)
	}
}
