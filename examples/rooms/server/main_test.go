package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"golang.org/x/sys/unix"
)

// member is a client of a chat under test.
type member struct {
	t  *testing.T
	ws *websocket.Conn
}

func start(t *testing.T, work, lose int64) (url string) {
	t.Helper()
	s := httptest.NewServer(newRooms(work, lose).handler())
	t.Cleanup(s.Close)
	return s.URL
}

func enter(t *testing.T, url, name string, rooms ...string) *member {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/rooms?name="+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	m := &member{t, ws}
	for _, r := range rooms {
		m.ask(`{"do":"join","room":"` + r + `"}`)
		if e := m.next(); e.On != "joined" || e.Room != r {
			t.Fatalf("%s joins %s: %+v", name, r, e)
		}
	}
	return m
}

func (m *member) ask(text string) {
	m.t.Helper()
	if err := m.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *member) next() (e event) {
	m.t.Helper()
	_ = m.ws.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := m.ws.ReadJSON(&e); err != nil {
		m.t.Fatal(err)
	}
	return e
}

func TestAMessageGoesToAllMembers(t *testing.T) {
	t.Parallel()
	url := start(t, 0, 0)
	ann, bob := enter(t, url, "ann", "r1", "r2"), enter(t, url, "bob", "r1")
	ann.ask(`{"do":"join","room":"r1"}`) // again
	if got, want := ann.next(), (event{On: "joined", Room: "r1", Members: 2}); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	ann.ask(`{"do":"say","room":"r2","text":"alone"}`)
	ann.ask(`{"do":"say","room":"r1","text":"hello","ref":"a1"}`)
	bob.ask(`{"do":"leave","room":"r1"}`)
	first := event{On: "said", Room: "r2", ID: "2-1", From: "ann", Text: "alone"}
	if got := ann.next(); !cmp.Equal(got, first) {
		t.Errorf("got %+v, want %+v", got, first)
	}
	said := event{On: "said", Room: "r1", ID: "1-1", From: "ann", Text: "hello", Ref: "a1"}
	if got := ann.next(); !cmp.Equal(got, said) {
		t.Errorf("the author got %+v, want %+v", got, said)
	}
	// Bob may have left before the message, which only the order of both connections decides.
	got := bob.next()
	if cmp.Equal(got, said) {
		got = bob.next()
	}
	if want := (event{On: "left", Room: "r1"}); !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	ann.ask(`{"do":"say","room":"r1","text":"gone?"}`)
	if got := ann.next(); got.ID != "1-2" {
		t.Errorf("got %+v, want 1-2", got)
	}
	bob.ask(`{"do":"say","room":"r1","text":"still here"}`)
	if got := bob.next(); got.On != "error" || got.Text != "say: not a member of r1" {
		t.Errorf("a message after leaving: %+v", got)
	}
}

func TestMessagesComeInOneOrder(t *testing.T) {
	t.Parallel()
	url := start(t, 0, 0)
	const each = 50
	all := []*member{enter(t, url, "a", "r"), enter(t, url, "b", "r"), enter(t, url, "c", "r")}
	for i := range each {
		for _, m := range all {
			m.ask(fmt.Sprintf(`{"do":"say","room":"r","text":"%d"}`, i))
		}
	}
	for _, m := range all {
		for n := range each * len(all) {
			// "joined" of others is not sent: only messages come.
			if got, want := m.next().ID, fmt.Sprintf("1-%d", n+1); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	c := newRooms(0, 0)
	s := httptest.NewServer(c.handler())
	t.Cleanup(s.Close)
	m := enter(t, s.URL, "ann", "r")
	r := c.room("r")
	r.mu.Lock()
	r.said = make([]string, mostHistory+2)
	r.mu.Unlock()
	for _, tt := range []struct {
		after       string
		ids         int
		first, last string
	}{
		{"", 1000, "1-1", "1-1000"},
		{"1-1", 1000, "1-2", "1-1001"},
		{"1-1000", 2, "1-1001", "1-1002"},
		{"1-1002", 0, "", ""},
		{"1-99999", 0, "", ""},
		{"2-5", 1000, "1-1", "1-1000"},
		{"1--5", 1000, "1-1", "1-1000"},
		{"nonsense", 1000, "1-1", "1-1000"},
	} {
		q, err := json.Marshal(map[string]string{"do": "history", "room": "r", "after": tt.after})
		if err != nil {
			t.Fatal(err)
		}
		m.ask(string(q))
		e := m.next()
		if e.On != "history" || e.IDs == nil || len(e.IDs) != tt.ids {
			t.Fatalf("after %q: %s with %d ids, want %d", tt.after, e.On, len(e.IDs), tt.ids)
		}
		if tt.ids > 0 && (e.IDs[0] != tt.first || e.IDs[tt.ids-1] != tt.last) {
			t.Errorf("after %q: %s to %s, want %s to %s",
				tt.after, e.IDs[0], e.IDs[tt.ids-1], tt.first, tt.last)
		}
	}
}

func TestEveryThirdDeliveryIsLost(t *testing.T) {
	t.Parallel()
	url := start(t, 0, 3)
	ann, bob := enter(t, url, "ann", "r"), enter(t, url, "bob", "r")
	for range 9 {
		ann.ask(`{"do":"say","room":"r","text":"x"}`)
	}
	ann.ask(`{"do":"history","room":"r"}`)
	for n := range 9 {
		if got, want := ann.next().ID, fmt.Sprintf("1-%d", n+1); got != want {
			t.Errorf("the author got %s, want %s", got, want)
		}
	}
	if e := ann.next(); len(e.IDs) != 9 {
		t.Errorf("the history has %v", e.IDs)
	}
	var got []string
	for range 6 {
		got = append(got, bob.next().ID)
	}
	if want := []string{"1-1", "1-2", "1-4", "1-5", "1-7", "1-8"}; !cmp.Equal(got, want) {
		t.Errorf("bob got %v, want %v", got, want)
	}
}

// TestAMessageCostsCPU: the process used the CPU time at least; what else it did is in it too.
func TestAMessageCostsCPU(t *testing.T) {
	t.Parallel()
	url := start(t, 5000, 0)
	ann := enter(t, url, "ann", "r")
	before := processCPU(t)
	for range 20 {
		ann.ask(`{"do":"say","room":"r","text":"x"}`)
		ann.next()
	}
	if used := processCPU(t) - before; used < 20*5*time.Millisecond {
		t.Errorf("20 messages used %v, want 100ms at least", used)
	}
}

func processCPU(t *testing.T) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	url := start(t, 0, 0)
	m := enter(t, url, "ann", "r")
	for _, tt := range []struct{ request, want string }{
		{`{`, "not an object of JSON: unexpected end of JSON input"},
		{`{"do":"say"}`, "room is needed, of at most 64 bytes"},
		{`{"do":"join","room":"` + strings.Repeat("r", 65) + `"}`, "room is needed, of at most 64 bytes"},
		{`{"do":"say","room":"other"}`, "say: not a member of other"},
		{`{"do":"shout","room":"r"}`, `do is "shout"; want join, leave, say or history`},
	} {
		m.ask(tt.request)
		if e := m.next(); e.On != "error" || e.Text != tt.want {
			t.Errorf("%s: %+v, want the error %q", tt.request, e, tt.want)
		}
	}
	for path, want := range map[string]int{
		"/rooms": 400, "/rooms?name=" + strings.Repeat("n", 65): 400, "/health": 200, "/metrics": 200, "/": 404,
	} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// TestAClientThatDoesNotReadIsCutOff: it holds up nobody, and its queue has an end.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	c := newRooms(0, 0)
	s := httptest.NewServer(c.handler())
	t.Cleanup(s.Close)
	ann := enter(t, s.URL, "ann", "r")
	enter(t, s.URL, "deaf", "r")
	text := strings.Repeat("x", 4096)
	for n := 1; ; n++ {
		ann.ask(`{"do":"say","room":"r","text":"` + text + `"}`)
		ann.next()
		ann.ask(`{"do":"join","room":"r"}`)
		if ann.next().Members == 1 {
			return
		}
		if n > 100_000 {
			t.Fatal("still a member after 100,000 messages of 4 KiB")
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, "127.0.0.1:0", newRooms(0, 0)); !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if err := serve(t.Context(), "256.0.0.1:0", newRooms(0, 0)); errors.Is(err, http.ErrServerClosed) {
		t.Error("an address that is none was accepted")
	}
}
