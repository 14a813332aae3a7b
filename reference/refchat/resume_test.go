package refchat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// connection returns the id that the server gave a fresh connection.
func (s *socket) connection() string {
	s.t.Helper()
	e := s.next()
	if e["event"] != "hello" || num(e["seq"]) != 0 {
		s.t.Fatalf("first message %v, want hello with seq 0", e)
	}
	return text(e["data"].(obj)["connection_id"])
}

// leave closes the socket and waits until the server has noticed: a connection is taken up again
// only then.
func (s *socket) leave(sockets float64) {
	s.t.Helper()
	s.conn.Close()
	for range s.msgs { // to the end
	}
	waitFor(s.t, fmt.Sprint("the server has ", sockets, " sockets"),
		func() bool { return s.c.metric("mattermost_http_websockets_total") == sockets })
}

// TestResume loses a socket and takes its connection up again: events sent meanwhile, and events
// sent before but not received, come once, in order, under its old numbers.
func TestResume(t *testing.T) {
	w := plainWorld(t)
	w.ann.dial()
	bob := w.bob.dialRaw()
	id := bob.connection()
	if len(id) != 26 {
		t.Fatalf("connection id %q", id)
	}
	var numbers []int64
	var got []string
	read := func(s *socket, until string) {
		for len(got) == 0 || got[len(got)-1] != until {
			e := s.next()
			numbers = append(numbers, num(e["seq"]))
			got = append(got, messages(t, []obj{e})...)
		}
	}
	w.ann.post(w.channel, "one")
	read(bob, "one")
	next := numbers[len(numbers)-1] + 1
	w.ann.post(w.channel, "two") // sent, and as the client sees it lost
	bob.event("posted")
	bob.leave(1)
	w.ann.post(w.channel, "three")
	back := w.bob.dialRaw("connection_id="+id, fmt.Sprint("sequence_number=", next))
	w.ann.post(w.channel, "four")
	read(back, "four")
	if !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("messages %v", got)
	}
	for i, n := range numbers {
		if n != int64(i+1) {
			t.Fatalf("numbers %v, want 1, 2, 3, ...", numbers)
		}
	}
	if n := w.metric("mattermost_websocket_reconnects_total", "type=success"); n != 1 {
		t.Errorf("%v resumed", n)
	}
	// Again, with nothing missed. Another socket keeps bob online, so that no further return changes
	// his status; changes by the first may still be under way, and are then sent again.
	w.bob.dial()
	resumed := func(how string) float64 {
		return w.metric("mattermost_websocket_reconnects_total", "type="+how)
	}
	third := back
	for n := 1.0; resumed("lossless") == 0; n++ {
		if n > 1 {
			numbers = append(numbers, num(third.next()["seq"]))
		}
		next = numbers[len(numbers)-1] + 1
		third.leave(2)
		third = w.bob.dialRaw("connection_id="+id, fmt.Sprint("sequence_number=", next))
		waitFor(t, "a return", func() bool { return resumed("success")+resumed("lossless") == n+1 })
	}
	w.ann.post(w.channel, "five")
	if e := third.next(); e["event"] == "hello" || num(e["seq"]) != next {
		t.Errorf("after a lossless return: %v, want number %d", e, next)
	}
	third.leave(2)
	// More than the server keeps: a hello under another id, counting from 0, and no older event
	// again.
	fourth := w.bob.dialRaw("connection_id="+id, "sequence_number=100000")
	if other := fourth.connection(); other == id || len(other) != 26 {
		t.Errorf("too late: connection %q after %q", other, id)
	}
	w.ann.post(w.channel, "six")
	if got := messages(t, fourth.sync(1)); !slices.Equal(got, []string{"six"}) {
		t.Errorf("messages after a fresh start %v", got)
	}
	// An unknown connection, another's, and one whose socket still lives: fresh ones.
	for name, c := range map[string]*client{"unknown": w.bob, "another's": w.ann} {
		if s := c.dialRaw("connection_id="+id, "sequence_number=3"); s.connection() == id {
			t.Errorf("%s: resumed", name)
		}
	}
	mine := w.ann.dialRaw()
	live := mine.connection()
	if w.ann.dialRaw("connection_id="+live, "sequence_number=1").connection() == live {
		t.Error("a connection in use was taken over")
	}
	for _, bad := range [][]string{{"connection_id=x", "sequence_number=1"}, {"connection_id=" + id}, {"connection_id=" + id, "sequence_number=-1"}} {
		if _, open := <-w.bob.dialRaw(bad...).msgs; open {
			t.Errorf("%v was answered", bad)
		}
	}
}

// TestResumeOverflow stays away while more comes than the server keeps.
func TestResumeOverflow(t *testing.T) {
	w := plainWorld(t)
	w.ann.dial()
	bob := w.bob.dialRaw()
	id := bob.connection()
	bob.leave(1)
	for i := range 300 {
		w.ann.post(w.channel, fmt.Sprint(i))
	}
	back := w.bob.dialRaw("connection_id="+id, "sequence_number=1")
	if back.connection() == id {
		t.Error("resumed, although events were lost")
	}
	if n := w.metric("refchat_websocket_dropped_total", "reason=away"); n == 0 {
		t.Error("nothing was counted as lost")
	}
	if n := w.metric("refchat_websocket_dropped_total", "reason=overflow"); n != 0 {
		t.Errorf("%v events are said to be lost by a slow reader, and there was none", n)
	}
	holds(t, "old messages", messages(t, back.sync(1)), "#", 0)
}

// TestShouldAck checks the mark that requests a confirmation from a mentioned user's client, and
// confirms.
func TestShouldAck(t *testing.T) {
	w := plainWorld(t)
	ann, bob := w.ann.dial(), w.bob.dial()
	p := w.ann.post(w.channel, "ahoy @bob")
	holds(t, "the author is asked", ann.event("posted"), "data.should_ack", nil)
	if e := bob.event("posted"); e["data"].(obj)["should_ack"] != true ||
		!strings.Contains(text(e["data"].(obj)["post"]), "ahoy") {
		t.Errorf("the mentioned user is not asked: %v", e)
	}
	m := bob.asked(1, "posted_notify_ack", obj{"post_id": p["id"], "status": "success"})
	holds(t, "the confirmation", m, "status", "OK")
	if n := w.metric("mattermost_notifications_total_ack"); n != 1 {
		t.Errorf("%v confirmations", n)
	}
}
