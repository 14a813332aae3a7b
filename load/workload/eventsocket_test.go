package workload_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// echo is a server that sends each message back: to its author, and as one of a channel to another
// WebSocket. The text "deaf" has no answer, and "cut" ends the connection.
func echo(t *testing.T) (url string) {
	t.Helper()
	var up websocket.Upgrader
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/talk" {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		for {
			_, data, err := ws.ReadMessage()
			if err != nil || string(data) == "cut" {
				return
			}
			if string(data) != "deaf" {
				_ = ws.WriteMessage(websocket.TextMessage, data)
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// heardText is a message of the test's protocol.
type heardText struct{ Channel, ID, Ref string }

func socketUser(t *testing.T, url string) (*workload.EventSocket, workload.Env, chan string) {
	t.Helper()
	reg := measure.NewRegistry(1)
	env := workload.Env{URL: url, Timeout: time.Minute, Registry: reg, Ledger: workload.NewLedger(0, 1)}
	u := workload.NewUser(7, 0, 1, 0.01, reg.Recorder(0), clock.New(time.Now()))
	s := new(workload.Cast).EventSocket(env, u)
	s.Path = "/talk"
	joined := make(chan string, 100)
	s.Greet = func() error { return s.Send([]byte(`{"channel":"c","id":"joined"}`)) }
	s.Heard = func(data []byte, at time.Time) {
		var m heardText
		if err := json.Unmarshal(data, &m); err != nil {
			panic(err)
		}
		if m.ID == "joined" {
			s.Join(m.Channel, at)
			joined <- m.Channel
			return
		}
		s.Seen(m.Channel, m.ID, m.Ref, at)
		s.Answer(m.Ref, m.ID, at)
	}
	t.Cleanup(s.Close)
	return s, env, joined
}

func say(id, ref string) []byte {
	return fmt.Appendf(nil, `{"channel":"c","id":%q,"ref":%q}`, id, ref)
}

func await(t *testing.T, joined <-chan string) {
	t.Helper()
	select {
	case <-joined:
	case <-time.After(30 * time.Second):
		t.Fatal("not in the channel within 30 s")
	}
}

func TestEventSocketOpensAgain(t *testing.T) {
	t.Parallel()
	s, env, joined := socketUser(t, echo(t))
	if err := s.Open(t.Context(), workload.Login); err != nil {
		t.Fatal(err)
	}
	await(t, joined)
	if got, err := s.Ask(t.Context(), "ask", say("id-1", "r1"), "r1"); got != "id-1" || err != nil {
		t.Errorf("answer %q, %v", got, err)
	}
	// The connection ends while an answer is waited for, and comes back by itself.
	var e *workload.CallError
	if _, err := s.Ask(t.Context(), "ask", []byte("cut"), "r2"); !errors.As(err, &e) || e.Class != measure.WS {
		t.Errorf("cut off: %v", err)
	}
	await(t, joined)
	m := workload.Message{Channel: "c", Pending: "r3"}
	if err := s.Post(t.Context(), "say", m, say("id-3", "r3")); err != nil {
		t.Error(err)
	}
	s.Close()
	m.Pending = "r4"
	if err := s.Post(t.Context(), "say", m, say("id-4", "r4")); !errors.As(err, &e) || e.Class != measure.WS {
		t.Errorf("after Close: %v", err)
	}
	if err := s.Open(t.Context(), workload.Login); err != nil {
		t.Errorf("opened again: %v", err)
	}
	s.Close()
	want := map[string]map[measure.Class]uint64{
		"login_websocket": {measure.OK: 2},
		"websocket":       {measure.OK: 1, measure.WS: 1},
		"ask":             {measure.OK: 1, measure.WS: 1},
		"say":             {measure.OK: 1, measure.WS: 1},
	}
	if diff := cmp.Diff(want, classesOf(env.Registry)); diff != "" {
		t.Error(diff)
	}
	if got := env.Ledger.Count(); got.Acked != 1 || got.Unanswered != 0 {
		t.Errorf("ledger %+v, want one message", got)
	}
}

func TestEventSocketTimesOut(t *testing.T) {
	t.Parallel()
	s, env, joined := socketUser(t, echo(t))
	if err := s.Open(t.Context(), workload.Login); err != nil {
		t.Fatal(err)
	}
	await(t, joined)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := s.Ask(ctx, "ask", []byte("deaf"), "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the run: %v", err)
	}
	hasty := env
	hasty.Timeout = 50 * time.Millisecond
	u := workload.NewUser(8, 1, 1, 1, env.Registry.Recorder(0), clock.New(time.Now()))
	other := new(workload.Cast).EventSocket(hasty, u)
	other.Path = "/talk"
	defer other.Close()
	for other.Open(t.Context(), workload.Login) != nil { // where the handshake is late as well
		if t.Context().Err() != nil {
			return
		}
	}
	var e *workload.CallError
	if _, err := other.Ask(t.Context(), "ask", []byte("deaf"), "r"); !errors.As(err, &e) ||
		e.Class != measure.Timeout {
		t.Errorf("no answer: %v", err)
	}
	if got := classesOf(env.Registry)["ask"]; got[measure.Timeout] != 1 || len(got) != 1 {
		t.Errorf("ask: %v, want one timeout", got)
	}
}

func TestEventSocketThatIsRefused(t *testing.T) {
	t.Parallel()
	s, env, _ := socketUser(t, echo(t))
	s.Path = "/elsewhere"
	var e *workload.CallError
	if err := s.Open(t.Context(), workload.Login); !errors.As(err, &e) || e.Status != 403 {
		t.Errorf("%v, want status 403", err)
	}
	want := map[string]map[measure.Class]uint64{"login_websocket": {measure.Status4xx: 1}}
	if diff := cmp.Diff(want, classesOf(env.Registry)); diff != "" {
		t.Error(diff)
	}
}

// TestEventSocketPanics: a message that the behavior cannot bear ends the connection, not the
// process.
func TestEventSocketPanics(t *testing.T) {
	t.Parallel()
	s, env, joined := socketUser(t, echo(t))
	if err := s.Open(t.Context(), workload.Login); err != nil {
		t.Fatal(err)
	}
	await(t, joined)
	if _, err := s.Ask(t.Context(), "ask", []byte("no JSON"), "r"); err == nil {
		t.Error("no error")
	}
	await(t, joined)
	if got := classesOf(env.Registry)["websocket"]; got[measure.Decode] != 1 {
		t.Errorf("websocket: %v, want one of class decode", got)
	}
}

// TestReopening holds the pauses, and that a thousand users who lost their sockets together do not come back together.
func TestReopening(t *testing.T) {
	t.Parallel()
	for n, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		30 * time.Second, 30 * time.Second} {
		moments := map[time.Duration]int{}
		for id := range 1000 {
			got := (&workload.User{ID: id, Pace: 0.5}).Reopening(n)
			if got < want*3/8 || got > want*5/8 {
				t.Fatalf("user %d waits %v before attempt %d, want %v and a quarter to both sides", id, got, n, want/2)
			}
			moments[got*20/want]++
		}
		if len(moments) < 5 || moments[10] > 300 {
			t.Errorf("attempt %d: %v", n, moments)
		}
	}
}
