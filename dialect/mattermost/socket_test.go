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

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// socketServer serves the WebSocket with another implementation than ours. serve gets a function
// that sends an event.
func socketServer(t *testing.T, serve func(c *websocket.Conn, send func(raw string))) string {
	t.Helper()
	return busyServer(t, func() bool { return false }, serve)
}

// busyServer is a socketServer that answers 503 whenever busy returns true.
func busyServer(
	t *testing.T, busy func() bool, serve func(c *websocket.Conn, send func(raw string)),
) string {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	closed := false // no handler may begin while they are waited for
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

// A lost connection, a gap and a repeated event are counted, deliveries are recorded for others'
// posts only, and the user reconnects.
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
	env := workload.Env{URL: url, Ledger: workload.NewLedger(0, 1)}
	a := lone(t, &env, settings{})
	b := a.b
	reg := env.Registry
	ch := b.dir.channel(api.Channel{ID: "c"})
	a.places = []place{{ch: ch}}
	a.current = 0
	for _, id := range []string{"p1", "mine", "p2", "p4"} {
		author := 1
		if id == "mine" {
			author = 0
		}
		env.Ledger.Acked(workload.Message{
			ID:      api.ParseID(id).String(),
			Channel: ch.key,
			Author:  author,
			Sent:    time.Now(),
			Acked:   time.Now(),
		})
	}
	a.begin(a.login)
	noError(t, (&act{t.Context(), a}).connect())
	defer a.Close()
	<-second
	failure.Unless(t, func() bool {
		kept := ""
		ch.mu.RLock()
		defer ch.mu.RUnlock()
		for _, p := range ch.posts {
			kept += p.id.String() + " "
		}
		return kept == "mine p1 p2 p4 "
	}, "other posts are kept than mine, p1, p2 and p4")
	for _, w := range reg.Cut() {
		switch w.Name {
		case workload.Delivery:
			if w.Classes[measure.OK] != 3 {
				t.Errorf("%d deliveries, want 3 (p1, p2, p4)", w.Classes[measure.OK])
			}
		case "websocket": // gap, repetition, loss; one reconnection
			if w.Classes[measure.WS] != 3 || w.Classes[measure.OK] != 1 {
				t.Errorf(
					"websocket: %d ws, %d ok; want 3 and 1",
					w.Classes[measure.WS],
					w.Classes[measure.OK],
				)
			}
		case "login_websocket":
		case workload.Inbox: // events that came with the kernel's stamp: not each of several in one segment
			if n := w.Lag.Count(); n < 1 || w.Lag.Max() > time.Minute {
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
	env := workload.Env{URL: url}
	a := lone(t, &env, settings{devices: 2})
	reg := env.Registry
	a.begin(a.login)
	noError(t, (&act{t.Context(), a}).connect())
	defer a.Close()
	var got [measure.NumClasses]uint64
	failure.Unless(t, func() bool {
		for _, w := range reg.Cut() {
			if w.Name == "websocket" {
				for class, n := range w.Classes {
					got[class] += n
				}
			}
		}
		return got[measure.OK] > 0
	}, "the device is not back")
	if want := [measure.NumClasses]uint64{measure.OK: 1, measure.WS: 1,
		measure.Status5xx: 2}; got != want {
		t.Errorf(
			"websocket: %v by class, want %v: back once, cut off once, refused twice",
			got,
			want,
		)
	}
}

func TestProvisionNeedsAnAdministrator(t *testing.T) {
	for _, b := range []workload.Behavior{&Poster{}, &Person{}} {
		err := b.Provision(t.Context(), workload.Env{URL: "http://127.0.0.1:1"}, 1)
		if err == nil || !strings.Contains(err.Error(), "admin_password") {
			t.Errorf("%T: got %v, want a hint at the secret", b, err)
		}
		err = b.Provision(t.Context(),
			workload.Env{
				URL:    "http://127.0.0.1:1",
				Params: map[string]string{"admin_password": "hunter2"},
			},
			1)
		if e, ok := errors.AsType[*api.OpError](err); !ok || e.Class != measure.Dial ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%T: got %v, want a dial error without the password", b, err)
		}
		if _, err := b.NewActor(workload.Env{}, userOf(workload.Env{}, 0)); err == nil {
			t.Errorf("%T: an actor without provisioning", b)
		}
	}
}
