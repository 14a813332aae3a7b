package health

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"plimsoll/load/clock"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// created is a new store of series.
func created(t *testing.T, dir string) *series.DB {
	t.Helper()
	db, err := series.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A wall clock that is set during a run, here back by 20 s or forward by as much, moves no question
// to where the run's series have no value.
func TestRulesAskOnTheClockOfTheSeries(t *testing.T) {
	for _, step := range []time.Duration{-20 * time.Second, 0, 20 * time.Second} {
		epoch := beforeStep(t, step)
		base := epoch.Round(0)
		db := created(t, filepath.Join(t.TempDir(), "series"))
		t.Cleanup(func() { db.Close() })
		if err := db.Append(base, []series.Sample{{Name: "x", Value: 7}}); err != nil {
			t.Fatal(err)
		}
		s := &Signals{db: db, GateReader: newHealth(nil, clock.New(epoch), nil, true)}
		if v, ok, err := s.Query(t.Context(), "x"); err != nil || !ok || v != 7 {
			t.Errorf("the clock was set by %v: %v, %v, %v", step, v, ok, err)
		}
	}
}

// beforeStep returns the present instant as the wall clock showed it before it was set by some
// seconds, with the present monotonic reading.
func beforeStep(t *testing.T, step time.Duration) time.Time {
	t.Helper()
	now := time.Now()
	before := now
	// The seconds of the wall clock stand above 30 bits of nanoseconds while there is a monotonic
	// reading.
	*(*uint64)(unsafe.Pointer(&before)) -= uint64(step/time.Second) << 30
	if before.Sub(now) != 0 || now.Round(0).Sub(before.Round(0)) != step {
		t.Fatalf("%v and %v: the layout of time.Time is another", now, before)
	}
	return before
}

// In a duet, a run's questions are asked at its own time, which has stood still for the turns of
// the others: its series have no value at the present date.
func TestSignalsLiveInTheTimeOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := created(t, filepath.Join(t.TempDir(), "series"))
		defer db.Close()
		run := clock.NewStopped(time.Now())
		r := probe.NewRunner(db, time.Second)
		r.UseClock(run)
		n := 0.0
		r.Add(&counting{&n})
		h := newHealth(r.Last, run, nil, true)
		s := &Signals{db: db, GateReader: h, runner: r}
		probing, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(probing) }()
		// 210 ms of this run, so that no tick falls on the end of a turn, and 2 s of others
		for range 25 {
			run.Start()
			time.Sleep(210 * time.Millisecond)
			run.Stop()
			time.Sleep(2 * time.Second)
		}
		// 5.25 s of this run's clock have passed: six samples.
		if v, ok, err := s.Query(t.Context(), "n"); err != nil || !ok || v != 6 {
			t.Errorf("n = %v, %v, %v; want 6", v, ok, err)
		}
		if v, ok, err := s.Query(t.Context(), "n offset 2s"); err != nil || !ok || v != 4 {
			t.Errorf("n two seconds ago = %v, %v, %v; want 4", v, ok, err)
		}
		if rd := h.read("n", 1); rd.Value != 6 || rd.Why != "" {
			t.Errorf("a fresh sample is %+v", rd)
		}
		if f := s.Failing(); len(f) != 0 {
			t.Errorf("probes that were asked at every tick fail: %v", f)
		}
		busy, total, err := s.Busy("generator")
		if err != nil || busy <= 0 || total != 5.25*float64(runtime.GOMAXPROCS(0)) {
			t.Errorf("this process: %v of %v s, %v", busy, total, err)
		}
		stop()
		<-done
	})
}

// counting counts its samples.
type counting struct{ n *float64 }

func (c *counting) Name() string { return "counting" }
func (c *counting) Sample(context.Context, time.Time) ([]series.Sample, error) {
	*c.n++
	return []series.Sample{{Name: "n", Value: *c.n}}, nil
}
