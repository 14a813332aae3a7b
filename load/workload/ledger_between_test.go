package workload

import (
	"reflect"
	"testing"
	"time"
)

// Deliveries from authors on other hosts have a series of their own, whichever of event and
// acknowledgment comes first, and those that are earlier than the clocks allow are counted. The
// ledger's counts are those of any delivery.
func TestDeliveriesFromOtherHosts(t *testing.T) {
	run := func(from int) (map[string]uint64, []Early, LedgerCount) {
		x := newLines()
		x.l.Share()
		for k := range 4 {
			x.l.Connected(k, x.at(0), false)
			x.l.Join(k, "c", x.at(0))
		}
		heard := func(id string, sent, acked, now int) {
			x.l.Heard(Message{
				ID:      id,
				Channel: "c",
				Author:  9,
				Sent:    x.at(sent),
				Acked:   x.at(acked),
				From:    from,
				Within:  3 * time.Millisecond,
			}, x.at(now))
		}
		x.seen(0, "a", 101)
		x.seen(1, "a", 98)
		heard("a", 100, 102, 1000)
		x.seen(2, "a", 103) // the fourth never gets it
		x.seen(0, "b", 1090)
		heard("b", 1100, 1102, 2000)
		x.seen(1, "b", 1096)
		x.seen(2, "b", 1097) // by as much as the clocks may be off
		x.seen(3, "b", 1101)
		x.seen(3, "b", 1102)
		x.l.Settle(x.at(20_000))
		n := map[string]uint64{}
		for _, w := range x.reg.Cut() {
			n[w.Name] += w.Count()
		}
		return n, x.l.Outbox().Early, x.l.Count()
	}
	here, early, want := run(0)
	if len(early) > 0 || here[Between] > 0 || want.Seen != 7 || want.Lost != 1 ||
		want.Duplicated != 1 {
		t.Errorf("one clock: %v, early %+v, %+v", here, early, want)
	}
	there, early, got := run(2)
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(there) != 1 || there[Between] != 7 {
		t.Errorf("series %v", there)
	}
	if w := []Early{{
		From:   2,
		Count:  2,
		By:     10 * time.Millisecond,
		Within: 3 * time.Millisecond,
	}}; !reflect.DeepEqual(early, w) {
		t.Errorf("early %+v, want %+v", early, w)
	}
}

// The worst is that which is farthest beyond what its clocks allow.
func TestEarlyWith(t *testing.T) {
	const ms = time.Millisecond
	a := Early{From: 1, Count: 2, By: 5 * ms, Within: ms}
	b := Early{From: 1, Count: 1, By: 7 * ms, Within: 6 * ms}
	want := Early{From: 1, Count: 3, By: 5 * ms, Within: ms}
	if a.With(b) != want || b.With(a) != want || (Early{}).With(a) != a {
		t.Errorf("%+v, %+v, %+v", a.With(b), b.With(a), Early{}.With(a))
	}
}
