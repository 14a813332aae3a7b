package probe

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/load/clock"
	"plimsoll/watch/series"
)

// takeTurns lets a clock run for a slice and stand still for the slices of others, n times.
func takeTurns(c *clock.Clock, n int, own, others time.Duration) {
	for range n {
		c.Start()
		time.Sleep(own)
		c.Stop()
		time.Sleep(others)
	}
}

// A run that has 300 ms of every 1.5 s is sampled at each second of its own, with dates of its own;
// a probe that waits for a target that stands still has lost no time.
func TestRunnerFollowsAClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var db memory
		epoch := time.Now()
		c := clock.NewStopped(epoch)
		r := NewRunner(&db, time.Second)
		r.UseClock(c)
		n := 0.0
		r.Add(stub{"a", func(context.Context, time.Time) ([]series.Sample, error) {
			n++
			return sampleOf("a", n), nil
		}})
		r.Add(stub{"slow", func(ctx context.Context, _ time.Time) ([]series.Sample, error) {
			// 700 ms of the target's work: some turns, and seconds of others.
			return sampleOf("slow", 1), c.SleepUntil(ctx, c.Now()+700*time.Millisecond)
		}})
		r.Add(stub{"stuck", func(ctx context.Context, _ time.Time) ([]series.Sample, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("asking: %w", ctx.Err())
		}})
		r.Add(stub{"late", func(ctx context.Context, _ time.Time) ([]series.Sample, error) {
			// heeds no deadline
			_ = c.SleepUntil(context.WithoutCancel(ctx), c.Now()+2700*time.Millisecond)
			return sampleOf("late", 1), nil
		}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		takeTurns(c, 31, 300*time.Millisecond, 1200*time.Millisecond) // 9.3 s of its own
		for _, name := range []string{"a{", "slow{", "late{"} {
			want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
			if name == "slow{" {
				want = want[:9] // the last is under way
			}
			if name == "late{" {
				want = []int{0, 3, 6}
			}
			ts := db.with(name)
			if len(ts) != len(want) {
				t.Errorf("%s: sampled at %v, want %v", name, ts, want)
				continue
			}
			for i, at := range ts {
				if !at.Equal(epoch.Add(time.Duration(want[i]) * time.Second)) {
					t.Errorf("%s: sample %d at %v, want %d s", name, i, at.Sub(epoch), want[i])
				}
			}
		}
		for _, st := range r.Status() {
			switch st.Name {
			case "stuck":
				if st.Samples != 0 || st.Failures != 9 || st.Longest > 1010*time.Millisecond ||
					!errors.Is(st.LastErr, context.DeadlineExceeded) {
					t.Errorf("stuck: %+v", st)
				}
			case "late":
				if st.Failures != 0 || st.Missed != 6 ||
					st.Gap.To.Sub(st.Gap.From) != 3*time.Second {
					t.Errorf("late: %+v", st)
				}
			default:
				if st.Failures != 0 || st.Missed != 0 || st.Longest > 710*time.Millisecond ||
					st.Gap.To.Sub(st.Gap.From) > time.Second {
					t.Errorf("%+v", st)
				}
			}
		}
		time.Sleep(time.Hour) // of others
		if v, at, ok := r.Last(`a{role="target"}`); !ok || v != 10 ||
			!at.Equal(epoch.Add(9*time.Second)) {
			t.Errorf("Last = %v, %v, %v", v, at.Sub(epoch), ok)
		}
		stop()
		c.Start()
		time.Sleep(10 * time.Second) // the late one heeds only that
		failure.None(t, <-done)
		time.Sleep(series.Lookback)
		if _, _, ok := r.Last(`a{role="target"}`); ok {
			t.Error("a value of a time that is over still answers")
		}
	})
}
