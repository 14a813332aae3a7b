package workload

import (
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

// stop stops a clock after some time, for some time.
func stop(c *clock.Clock, after, length time.Duration) {
	time.AfterFunc(after, func() { c.Stop() })
	time.AfterFunc(after+length, func() { c.Start() })
}

// attended returns a ledger with a grace of a second, of users who are connected and members of
// "c".
func attended(c *clock.Clock, users int) *Ledger {
	l := NewLedger(time.Second, 1)
	l.UseClock(c)
	for user := range users {
		l.Connected(user, time.Now(), false)
		l.Join(user, "c", time.Now())
	}
	return l
}

// A user lives in the time of its clock: neither its pauses nor its operations hold a stop.
func TestUserThroughStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewStopped(time.Now())
		time.Sleep(time.Minute)
		c.Start()
		reg := measure.NewRegistry(1)
		u := NewUser(0, 0, 1, 0.5, reg.Recorder(0), c)
		if u.Clock() != c || u.Now() != 0 || u.Since(time.Now()) != 0 {
			t.Errorf("now %v, of now %v", u.Now(), u.Since(time.Now()))
		}
		u.Schedule(0)
		time.Sleep(5 * time.Millisecond)
		due := time.Now()
		stop(c, 10*time.Millisecond, time.Second)
		time.Sleep(1030 * time.Millisecond)
		sent := time.Now()
		stop(c, 20*time.Millisecond, time.Minute)
		time.Sleep(time.Minute + 50*time.Millisecond)
		u.Done(reg.Name("post"), due, sent, time.Now(), measure.OK, 0)
		stop(c, 40*time.Millisecond, time.Hour)
		must(t, u.Pause(t.Context(), 200*time.Millisecond))
		if now := u.Now(); now != 185*time.Millisecond || u.Intended() != now {
			t.Errorf("the pause ended at %v, intended %v; want 185ms", now, u.Intended())
		}
		b := u.Beside(u.Now())
		sent = time.Now()
		stop(c, time.Millisecond, time.Hour)
		time.Sleep(time.Hour + 5*time.Millisecond)
		b.Done(reg.Name("beside"), sent, sent, time.Now(), measure.OK, 0)
		spent(t, reg, map[string][4]int64{"post": {5, 30, 50, 80}, "beside": {0, 0, 5, 5}})
		state := NewStormState(1, c)
		stop(c, time.Second, time.Hour)
		time.Sleep(time.Hour + 3*time.Second)
		state.Done()
		if _, _, took := state.Progress(); took != 3*time.Second {
			t.Errorf("a storm took %v, want 3s", took)
		}
	})
}

// The grace of a message, the way of an event and the marks of the registry are times of the clock.
func TestLedgerThroughStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewStopped(time.Now())
		time.Sleep(time.Hour)
		c.Start()
		reg := measure.NewRegistry(1)
		rec := reg.Recorder(0)
		l := attended(c, 3)
		seen := func(u int, id string) {
			l.Seen(u, []byte("c"), []byte(id), nil, time.Now(), rec, rec.Name(Delivery))
		}
		time.Sleep(100 * time.Millisecond)
		sent := time.Now()
		time.Sleep(100 * time.Millisecond)
		l.Acked(Message{ID: "a", Channel: "c", Sent: sent, Acked: time.Now()})
		seen(1, "a")
		c.Stop()
		time.Sleep(time.Hour)
		if l.Settle(time.Now()); l.Count().Judged != 0 {
			t.Error("a message was judged in a stop, before its grace was over")
		}
		reg.Mark(c.Now())
		c.Start()
		time.Sleep(900 * time.Millisecond)
		l.Settle(time.Now())
		seen(2, "a")
		if got, want := l.Count(), (LedgerCount{Acked: 1, Seen: 2}); got != want {
			t.Errorf("0.9 s after the acknowledgment %+v, want %+v", got, want)
		}
		time.Sleep(200 * time.Millisecond)
		l.Settle(time.Now())
		if got, want := l.Count(), (LedgerCount{Acked: 1, Seen: 2, Judged: 1}); got != want {
			t.Errorf("after the grace %+v, want %+v", got, want)
		}
		sent = time.Now()
		time.Sleep(10 * time.Millisecond)
		l.Acked(Message{ID: "b", Channel: "c", Sent: sent, Acked: time.Now()})
		seen(1, "b")
		p := measure.Split(reg.Cut())
		if len(p.Late) != 1 || p.Late[0].Response.Count() != 1 ||
			p.Late[0].Response.Max() != time.Second {
			t.Errorf("before the mark %+v, want the delivery of 1 s", p.Late)
		}
		if len(p.InTime) != 1 || p.InTime[0].Response.Count() != 2 ||
			p.InTime[0].Response.Min() != 10*time.Millisecond {
			t.Errorf(
				"after the mark %+v, want that of 10 ms, and the first one, which came before",
				p.InTime,
			)
		}
	})
}

// Where the target works on while the clock stands still, users live in the time of the clock, and
// the target is measured in real time: its operations, the way of an event, and the grace of a
// message.
func TestUnpausedTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewUnpaused(time.Now())
		time.Sleep(time.Minute)
		c.Start()
		reg := measure.NewRegistry(1)
		rec := reg.Recorder(0)
		u := NewUser(0, 0, 1, 1, rec, c)
		l := attended(c, 2)
		u.Schedule(0)
		time.Sleep(5 * time.Millisecond)
		due := time.Now()
		stop(c, 10*time.Millisecond, time.Second)
		time.Sleep(30 * time.Millisecond) // in the stop
		sent := time.Now()
		time.Sleep(20 * time.Millisecond)
		l.Seen(1, []byte("c"), []byte("m"), nil, time.Now(), rec, rec.Name(Delivery))
		time.Sleep(20 * time.Millisecond)
		done := time.Now()
		l.Acked(Message{ID: "m", Channel: "c", Sent: sent, Acked: done})
		time.Sleep(30 * time.Millisecond) // still in the stop
		u.Done(reg.Name("post"), due, sent, done, measure.OK, 0)
		if got := u.Intended(); got != 15*time.Millisecond {
			t.Errorf("the next op is intended at %v, want the 15ms at which the clock stands", got)
		}
		must(t, u.Pause(t.Context(), 200*time.Millisecond))
		if now := u.Now(); now != 215*time.Millisecond {
			t.Errorf("the pause ended at %v, want 215ms of the clock", now)
		}
		b := u.Beside(u.Now())
		sent = time.Now()
		stop(c, time.Millisecond, 2*time.Second)
		time.Sleep(2048 * time.Millisecond)
		b.Done(reg.Name("beside"), sent, sent, time.Now(), measure.OK, 0)
		l.Settle(time.Now())
		if got := l.Count(); got.Judged != 1 {
			t.Errorf("after the grace %+v", got)
		}
		spent(t, reg, map[string][4]int64{"post": {5, 30, 40, 70}, "beside": {0, 0, 2048, 2048},
			Delivery: {0, 0, 20, 20}})
	})
}
