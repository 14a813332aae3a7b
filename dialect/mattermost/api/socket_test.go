package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/internal/failure"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// socketServer serves the WebSocket with another implementation than ours. serve gets a function
// that sends an event.
func socketServer(t *testing.T, serve func(c *websocket.Conn, send func(raw string))) string {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	closed := false // no handler may begin while they are waited for
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v4/websocket" || r.Header.Get("Authorization") != "Bearer tok" {
			w.WriteHeader(401)
			return
		}
		c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		mu.Lock()
		if closed {
			mu.Unlock()
			return
		}
		wg.Add(1)
		mu.Unlock()
		defer wg.Done()
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		serve(c, func(raw string) { c.WriteMessage(websocket.TextMessage, []byte(raw+"\n")) })
	}))
	t.Cleanup(func() {
		srv.Close()
		mu.Lock()
		closed = true
		mu.Unlock()
		wg.Wait()
	})
	return srv.URL
}

const hello = `{"event":"hello","data":{"connection_id":"","server_version":"5.37.0"},"broadcast":{"omit_users":null,"user_id":"u"},"seq":0}`

// posted is an event as the real server writes it: the post is a string.
func posted(seq int, id, author, message string) string {
	post, _ := json.Marshal(map[string]any{
		"id":         id,
		"user_id":    author,
		"channel_id": "c",
		"root_id":    "",
		"message":    message,
		"metadata": map[string]any{"files": []any{map[string]any{
			"id":      "wrong",
			"user_id": "wrong",
		}}},
	})
	data, _ := json.Marshal(map[string]any{"channel_type": "O", "post": string(post),
		"sender_name": "@x", "mentions": `["u"]`})
	return fmt.Sprintf(
		`{"event": "posted", "data": %s, "broadcast": {"channel_id":"c"}, "seq": %d}`,
		data,
		seq,
	)
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
	failure.None(t, err)
	defer s.Close()
	if got := rec.take(); got != "websocket:ok" {
		t.Errorf("recorded %q", got)
	}
	for i, want := range []struct {
		kind     EventKind
		lost     int64
		id, user string
	}{
		{EventPosted, 0, "p1", "a"}, {EventTyping, 0, "", ""}, {EventReactionAdded, 2, "", ""},
		{EventPosted, -1, "p2", "b"}, {EventTyping, -4, "", ""}, {EventOther, 0, "", ""},
		{EventDeleted, 0, "p1", "a"},
	} {
		ev, err := s.Next(t.Context())
		failure.None(t, err)
		if ev.Kind != want.kind || ev.Lost != want.lost || ev.Post.ID.String() != want.id ||
			ev.Post.UserID.String() != want.user || ev.At.IsZero() ||
			want.id != "" && ev.Post.ChannelID.String() != "c" {
			t.Errorf(
				"event %d: kind %d, lost %d, post %s by %s in %s; want %+v",
				i,
				ev.Kind,
				ev.Lost,
				ev.Post.ID,
				ev.Post.UserID,
				ev.Post.ChannelID,
				want,
			)
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
		{"something else first", func(c *websocket.Conn, send func(string)) {
			send(posted(0, "p", "a", ""))
			c.ReadMessage()
		}, measure.WS},
		{"an identifier that is none", func(c *websocket.Conn, send func(string)) {
			send(strings.Replace(hello, `"connection_id":""`, `"connection_id":"a b#c"`, 1))
			c.ReadMessage()
		}, measure.WS},
		{"not JSON", func(c *websocket.Conn, send func(string)) {
			send("hello")
			c.ReadMessage()
		}, measure.WS},
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

// A connection that is wanted while the clock stands still is made when it runs. What it waits for
// that is nobody's time, also where the target works on meanwhile, and its time is real.
func TestAConnectionBeginsWhenTheClockRuns(t *testing.T) {
	url := socketServer(t, func(c *websocket.Conn, send func(string)) {
		send(hello)
		c.ReadMessage()
	})
	by := clock.NewUnpaused(time.Now())
	rec := &instants{tally: tally{reg: measure.NewRegistry(1)}}
	c, err := NewClient(Options{URL: url, Token: "tok", Clock: by, Recorder: rec,
		Table: NewTable(rec.reg, "")})
	failure.None(t, err)
	defer c.Close()
	done := make(chan error, 1)
	go func() {
		s, err := c.Connect(t.Context())
		if err == nil {
			s.Close()
		}
		done <- err
	}()
	time.Sleep(50 * time.Millisecond) // it waits
	started := time.Now()
	by.Start()
	if err := <-done; err != nil || rec.due.Before(started) {
		t.Errorf("%v; the op began %v before the clock", err, started.Sub(rec.due))
	}
	by.Stop()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run is over"))
	rec.take()
	if _, err := c.Connect(ctx); err == nil || err.Error() != "the run is over" ||
		rec.take() != "" {
		t.Errorf("a run that is over in a stop: %v", err)
	}
}

// instants keeps when the last op was due.
type instants struct {
	tally
	due time.Time
}

func (r *instants) Done(
	n measure.Name, due, sent, done time.Time, class measure.Class, bytes int64,
) time.Duration {
	r.due = due
	return r.tally.Done(n, due, sent, done, class, bytes)
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
	failure.None(t, err)
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
		{"", "typing:ok"}, {"bad", "typing:ws"}, {"root", "typing:ok"}, {"mute", "typing:timeout"},
		{"", "typing:ok"}, {"gone", "typing:ws"}, {"", "typing:ws"},
	} {
		err := c.Typing(t.Context(), s, "c", tt.parent)
		if got := rec.take(); got != tt.want || (err == nil) != (tt.want == "typing:ok") {
			t.Errorf("parent %q: recorded %q, %v; want %s", tt.parent, got, err, tt.want)
		}
	}
	<-ended
}

// A reply over the WebSocket is done when it arrived. Until the user's goroutine runs again, the
// reader has its other events to handle, and that is the generator's time.
func TestAReplyIsDoneWhenItArrived(t *testing.T) {
	s := &Socket{ws: new(wire.WS), waiting: 3, replies: make(chan reply, 1)}
	at := time.Now().Add(-20 * time.Millisecond)
	if ok, err := s.Event([]byte(`{"status":"OK","seq_reply":3}`), at, new(SocketEvent)); ok ||
		err != nil {
		t.Fatalf("the reply is an event, or wrong: %v, %v", ok, err)
	}
	if r := <-s.replies; !r.ok || !r.at.Equal(at) {
		t.Errorf("%+v, want OK at %v", r, at)
	}
}
