package fleet

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// 200 arrivals a second come and 150 are served. When the phase ends, some 1,250 wait; the 50 in
// flight have waited for their place longer than an operation may take, and were sent a third of a
// second ago. None of them has timed out, and those that never got a place are reported.
func TestArrivalsThatStillWaitAreToldAndNoneTimesOut(t *testing.T) {
	ofAgents(t, func(t *testing.T, agents int) {
		s := stalled{
			patience: 5 * time.Second,
			service:  time.Second / 3,
			arrivals: &engine.Arrivals{Rate: 200, InFlight: 50, Queue: 10000},
		}
		r, out := measured(t, s, agents, nil)
		w, ph := ask(t, r)
		if n := w.Classes[measure.Timeout]; n != 0 {
			t.Errorf("%d operations of a third of a second timed out after 5 s", n)
		}
		m, err := r.Merged(ph.From, ph.To)
		must(t, err)
		// 25 s of arrivals are 5,000; served until the drain ends 6 s after the phase are 150 a
		// second.
		want := 5000 - 150*31
		queued := m[workload.Arrival]
		if queued == nil || queued.Response.Count() < uint64(want-100) ||
			queued.Response.Count() > uint64(want+50) ||
			queued.Response.Min() < 6*time.Second {
			t.Fatalf("%+v still waited; want about %d, all older than the drain", queued, want)
		}
		if p := ph.Schedule; p == nil || !p.Marked() ||
			uint64(p.Intended)-p.Achieved-queued.Response.Count() > 1 {
			t.Errorf("schedule %+v with %d that nobody began", p, queued.Response.Count())
		}
		if n := gates(out); n["omission"] != 1 || n["drain"] != 1 {
			t.Errorf("findings %v", out.Validity.Findings)
		}
	}, 0, 1)
}

// A server that stands still at the end of the phase and then refuses the requests of that time:
// the phase counts the statuses of those failures, too, and each operation once.
func TestStatusesOfDrainedFailuresAreOfThePhase(t *testing.T) {
	ofAgents(t, func(t *testing.T, agents int) {
		r, _ := measured(t, stalled{
			from:     18 * time.Second,
			to:       20500 * time.Millisecond,
			patience: 5 * time.Second,
			refuses:  true,
		}, agents, nil)
		w, ph := ask(t, r)
		m, err := r.Merged(ph.From, ph.To)
		must(t, err)
		if got := workload.Failures(w, workload.AnswersOf(m, workload.Steady)); got != "5xx 50 (503 50)" {
			t.Errorf("failures %q, want those of the 50 users", got)
		}
		if op := ph.Tail.Of(nil); op.Drained != 50 {
			t.Errorf("tail %+v, want each operation once", op)
		}
	}, 0, 3)
}

// Users who make no pauses lose about half of their time to answers that are slower than the
// median, at a server that is well: they have no schedule that they could miss.
func TestUsersWithoutPausesHaveNoScheduleToMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := measured(t, stalled{patience: 5 * time.Second, restless: true}, 0, nil)
		_, ph := ask(t, r)
		if s := ph.Schedule; s == nil || !s.Unpaused || s.Marked() || s.Achieved == 0 {
			t.Errorf("schedule %+v, want that it does not apply", s)
		}
		if gates(out)["omission"] > 0 {
			t.Errorf("findings %+v", out.Validity.Findings)
		}
		if _, known, err := r.Omitted(); known || err != nil {
			t.Errorf("a response by the schedule is known: %v", err)
		}
	})
}

// A run that is cut off in the middle of a second counts operations under way with their age. Those
// that end while the users leave are not counted again.
func TestCutOffRunCountsEachOperationOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		r, _ := measured(t, stalled{
			from:     2 * time.Second,
			to:       6400 * time.Millisecond,
			patience: time.Hour,
			begun:    &begun,
		}, 0, cutOff(10400*time.Millisecond))
		m, err := r.Merged(0, time.Minute)
		must(t, err)
		if n := m["ask"].Response.Count(); n != uint64(begun.Load()) {
			t.Errorf("%d operations are counted, %d were begun", n, begun.Load())
		}
	})
}
