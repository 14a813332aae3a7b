package workload

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"testing"

	"plimsoll/internal/race"
)

// Places of messages that once held one to many recipients have no room for their events any more.
func TestLargeChannelsLeaveNoRoomBehind(t *testing.T) {
	race.SkipBudget(t)
	const users, messages, rounds = 2000, 200, 20
	x := newLines()
	channel, ms := []byte("c"), 0
	round := func() {
		for m := range messages {
			ms += 10
			id := fmt.Append(nil, "m", ms)
			recipients := 1
			if m%10 == 0 {
				recipients = users
			}
			for u := range recipients {
				x.l.Seen(u, channel, id, nil, x.at(ms+1), x.rec, x.name)
			}
			x.l.Acked(Message{
				ID:      string(id),
				Channel: "c",
				Author:  -1,
				Sent:    x.at(ms),
				Acked:   x.at(ms + 2),
			})
		}
	}
	for range rounds {
		round()
	}
	s := x.l.shard(maphash.String(x.l.seed, "c"))
	room := 0
	for _, e := range slices.Concat(s.order, s.free) {
		room += cap(e.waiting) + cap(e.after)
	}
	if n := len(s.order) + len(s.free); n < 300 || room > 0 {
		t.Errorf("%d messages have room for %d events", n, room)
	}
	if got := s.lists.room; len(s.lists.spare) != 1 || got < users || got > 2*users {
		t.Errorf(
			"%d spare lists with room for %d events, want one for %d",
			len(s.lists.spare),
			got,
			users,
		)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	round()
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / messages; got > 400 {
		t.Errorf("%d bytes allocated for a message, none of them for its events", got)
	}
}

// Spare lists are bounded in number and room, whatever came at once.
func TestSpareLists(t *testing.T) {
	var s ledgerShard
	many := make([]*ledgerMessage, 3*mostSpareLists)
	for i := range many {
		many[i] = new(ledgerMessage)
		s.wait(many[i], ledgerWaiting{user: int32(i)})
	}
	for _, e := range many {
		s.waited(e)
		s.waited(e)
	}
	if got, want := len(s.lists.spare), mostSpareLists; got != want ||
		s.lists.room != want*firstRoom {
		t.Errorf(
			"%d lists with room for %d events, want %d with %d",
			got,
			s.lists.room,
			want,
			want*firstRoom,
		)
	}
	huge := &ledgerMessage{waiting: make([]ledgerWaiting, 0, mostSpareRoom+1)}
	s.lists = ledgerLists{}
	if s.waited(huge); len(s.lists.spare) > 0 || huge.waiting != nil {
		t.Errorf("a list for %d events is kept", mostSpareRoom+1)
	}
	e := new(ledgerMessage)
	rec := newLines().rec
	for range 100 {
		s.wait(e, ledgerWaiting{rec: rec})
	}
	s.waited(e)
	if list := s.lists.take(); len(list) != 0 || s.lists.room != 0 || list[:1][0].rec != nil ||
		list[:100][99].rec != nil {
		t.Errorf(
			"%d events are in a list that was given back, room for %d is left",
			len(list),
			s.lists.room,
		)
	}
}

// Nor have they for an author's id of exceptional length.
func TestExceptionalMessagesLeaveNoRoomBehind(t *testing.T) {
	x := newLines()
	x.users(3)
	x.l.Seen(1, []byte("c"), []byte("a"), make([]byte, 1<<20), x.at(110), x.rec, x.name)
	x.acked("a", 0, 100, 120)
	x.l.Settle(x.at(3000))
	x.l.Settle(x.at(6000))
	x.seen(1, "b", 6100)
	s := x.l.shard(maphash.String(x.l.seed, "c"))
	e := s.messages["b"]
	if e == nil || e.use != 2 || cap(e.pending) > mostPending {
		t.Errorf("%+v", e)
	}
	if got := emptied(make([]int64, 3, 32), 32); len(got) != 0 || cap(got) != 32 {
		t.Errorf("%d of %d", len(got), cap(got))
	}
	if got := emptied(make([]int64, 3, 33), 32); got != nil {
		t.Errorf("room for %d is kept", cap(got))
	}
}

// Ids that several processes report are known for minutes, and not for ever.
func TestRecentIDs(t *testing.T) {
	x := newLines() // grace 1 s
	whole := x.l
	foreign := func(id string) { whole.Gather(1, Traffic{Foreign: []string{id}}, LedgerCount{}) }
	held := func() (n int) {
		for i := range whole.shards {
			s := &whole.shards[i]
			n += len(s.foreign.now) + len(s.foreign.before) + len(s.named.now) + len(s.named.before)
		}
		return n
	}
	foreign("a")
	for s := range 60 {
		whole.Settle(x.at(1000 * s))
		foreign("a") // of another process
	}
	if got := whole.Count().Foreign; got != 1 || held() == 0 {
		t.Errorf("%d foreign messages, %d ids held, want one message that is known", got, held())
	}
	named := Message{
		ID:         "a",
		Channel:    "c",
		Pending:    "u:1",
		Unanswered: true,
		Sent:       x.at(59_000),
		Acked:      x.at(59_100),
	}
	whole.Gather(2, Traffic{Acked: []Message{named}}, LedgerCount{})
	whole.Gather(3, Traffic{Acked: []Message{named}}, LedgerCount{})
	foreign("a")
	if got := whole.Count(); got.Foreign != 0 || got.Acked != 1 || got.Unanswered != 1 {
		t.Errorf("%+v, want one message that no answer named", got)
	}
	for i := range 3000 {
		foreign(fmt.Sprint("b", i))
	}
	for s := 60; s < 250; s++ {
		whole.Settle(x.at(1000 * s))
	}
	if n := held(); n > 0 || whole.Count().Foreign != 3000 {
		t.Errorf("%d ids are held after minutes, %+v", n, whole.Count())
	}
}
