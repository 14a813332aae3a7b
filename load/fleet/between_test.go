package fleet

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// Deliveries between hosts leave the latency when the clocks may be off by more than a tenth of the
// median, here 1 ms; all else counts as before.
func TestDeliveriesBetweenHosts(t *testing.T) {
	run := func(way time.Duration) (got counts, a Apart, left bool) {
		synctest.Test(t, func(t *testing.T) {
			h := &hosts{way: way}
			d, cfg := leadHosts(t, h, 3, 2, talkers())
			got = conductAll(t, d, cfg, 20, func(int) {})
			a, left = d.Apart()
			if early := d.Untimely(); len(early) > 0 {
				t.Errorf("deliveries came before they were sent: %+v", early)
			}
		})
		return got, a, left
	}
	whole, _, left := run(40 * time.Microsecond) // half there and back, of two hosts: 80 µs
	if n := sum(whole.Delivered); left || n < 1000 {
		t.Errorf("with good clocks: %d deliveries, left: %v", n, left)
	}
	part, a, left := run(60 * time.Microsecond)
	if part.Ledger != whole.Ledger || sum(part.Say) != sum(whole.Say) {
		t.Errorf("with bad clocks %+v\nwith good ones  %+v", part, whole)
	}
	in := sum(part.Delivered)
	if want := a.Same + a.Kept; !left || in != want || a.Left < in || a.Kept > 100 {
		t.Errorf("%d deliveries are in the latency: %v %+v", in, left, a)
	}
	if a.Within != 120*time.Microsecond || a.Median < 900*time.Microsecond ||
		a.Median > 1100*time.Microsecond ||
		a.Since > 5*time.Second {
		t.Errorf("they left by %+v", a)
	}
	// A user has 19 others, of whom 6 or 5 are on the same host; what the last tick brings is in
	// neither.
	if all, want := in+a.Left, sum(whole.Delivered); all > want+400 || want > all+400 {
		t.Errorf("%d deliveries in all, want %d", all, want)
	}
}

// A process whose clock is not its host's: its messages arrive before they were sent. On one host
// nothing does.
func TestDeliveriesBeforeTheirSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hosts{gain: func(time.Duration) time.Duration { return 50 * time.Millisecond }}
		d, cfg := leadHosts(t, h, 3, 2, talkers())
		got := conductAll(t, d, cfg, 20, func(int) {})
		early := d.Untimely()
		pairs := [][2]string{}
		for _, u := range early {
			pairs = append(pairs, [2]string{u.From, u.To})
			if u.Count < 100 || u.By < 48*time.Millisecond || u.By > 50*time.Millisecond ||
				u.Within > 5*time.Millisecond {
				t.Errorf("%+v", u)
			}
		}
		const one, two, three = "agent 1 of 3 (host-0)", "agent 2 of 3 (host-1)", "agent 3 of 3 (host-2)"
		if want := [][2]string{{two, one}, {two, three}}; !reflect.DeepEqual(pairs, want) {
			t.Errorf("early: %+v", early)
		}
		if got.Ledger.Lost != 0 {
			t.Errorf("%+v", got.Ledger)
		}
	})
}

// Marks are relative to a link, and an agent's own are not believed.
func TestHostOfAnAuthor(t *testing.T) {
	ms := time.Millisecond
	host := func(n int) *link { return &link{n: n, of: 3, name: "x"} }
	for _, tt := range []struct {
		from     message
		sender   int
		receiver int
		want     message
	}{
		{message{}, 0, 2, message{From: 1, Within: 3 * ms}},
		// named here, of an author there
		{message{From: 3, Within: 7 * ms}, 0, 1, message{From: 3, Within: 10 * ms}},
		{message{From: 3, Within: 7 * ms}, 0, 2, message{}},
		{message{From: 9, Within: -7 * ms}, 0, 2, message{From: 1, Within: 3 * ms}},
		{message{From: -1}, 0, 2, message{From: 1, Within: 3 * ms}},
	} {
		m := tt.from
		host(tt.sender).sends(&m, ms)
		host(tt.receiver).receives(&m, 2*ms)
		if m != tt.want {
			t.Errorf(
				"%+v from %d to %d is %+v, want %+v",
				tt.from,
				tt.sender,
				tt.receiver,
				m,
				tt.want,
			)
		}
	}
	m := message{}
	(&link{of: 2}).sends(&m, ms)
	if m != (message{}) {
		t.Errorf("a process of this host: %+v", m)
	}
}

// A report that speaks of hosts that are not there changes nothing.
func TestUntimelyOfNoHost(t *testing.T) {
	d := &RemoteDriver{cfg: Config{Hosts: &Hosts{}, Registry: measure.NewRegistry(1)}}
	d.links = []*link{{n: 0, of: 1, name: "x"}}
	d.early(d.links[0], []workload.Early{{
		From:  0,
		Count: 1,
		By:    1,
	}, {From: 2, Count: 1, By: 1}, {From: 1, Count: -1, By: 1}})
	if u := d.Untimely(); len(u) != 0 {
		t.Errorf("%+v", u)
	}
}

// Until a drift is known, an instant may be off by it.
func TestDoubt(t *testing.T) {
	var f clockFit
	f.add(clockSample{at: 0, way: 2 * time.Millisecond})
	if got, want := f.doubt(20*time.Second), 3*time.Millisecond; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	for k := range 3 {
		f.add(clockSample{at: time.Duration(k+1) * stretch, way: 2 * time.Millisecond})
	}
	if got, want := f.doubt(time.Hour), time.Millisecond; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// A stretch of time is read again until an exchange has a short way, and one whose drift stays
// unknown is off by more and more.
func TestClockIsReadAgain(t *testing.T) {
	var f clockFit
	if !f.due(0) {
		t.Error("a clock that was never read is not due")
	}
	f.add(clockSample{at: time.Second, way: 100 * time.Microsecond})
	if f.due(stretch - 1) {
		t.Error("a short way is not enough")
	}
	if !f.due(stretch) {
		t.Error("the next stretch is not due")
	}
	f.add(clockSample{at: stretch + time.Second, way: 400 * time.Microsecond})
	if !f.due(stretch + 2*time.Second) {
		t.Error("a long way is enough")
	}
	f.add(clockSample{at: stretch + 2*time.Second, way: 250 * time.Microsecond})
	if f.due(stretch + 3*time.Second) {
		t.Error("a way that is near the shortest is not enough")
	}
	if got, want := f.errorAt(30*time.Second), 50*time.Microsecond; got != want {
		t.Errorf("%v at first, want %v", got, want)
	}
	if got, want := f.errorAt(time.Minute+time.Second), 6050*time.Microsecond; got != want {
		t.Errorf("%v without a drift, want %v", got, want)
	}
	f.add(clockSample{at: 2 * stretch, way: 200 * time.Microsecond})
	if got, want := f.errorAt(time.Minute), 50*time.Microsecond; got != want {
		t.Errorf("%v with a drift, want %v", got, want)
	}
}
