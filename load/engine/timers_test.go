package engine

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// sleeper does nothing but sleep: its cost is that of the engine and Go's timers.
type sleeper struct{ mean time.Duration }

type sleepingActor struct {
	u    *workload.User
	mean time.Duration
}

func (s *sleeper) Provision(context.Context, workload.Env, int) error { return nil }
func (s *sleeper) NewActor(_ workload.Env, u *workload.User) (workload.Actor, error) {
	return &sleepingActor{u, s.mean}, nil
}
func (a *sleepingActor) Login(context.Context) error { return nil }
func (a *sleepingActor) Think() time.Duration {
	return time.Duration(float64(a.mean) * (0.5 + a.u.Think.Float64()))
}
func (a *sleepingActor) Act(context.Context) error { return nil }
func (a *sleepingActor) Close()                    {}

// BenchmarkSleepers measures the cost of waking simulated users at their moments, over 5 s each,
// for any b.N: CPU time and context switches of this process per wake-up, and how late the wake-ups
// were. Run it with -cpu 1 -benchtime 1x on a quiet machine.
func BenchmarkSleepers(b *testing.B) {
	for _, tt := range []struct {
		users int
		mean  time.Duration
	}{{9_000, 20 * time.Second}, {20_000, 20 * time.Second}, {9_000, 2 * time.Second}, {5_000, 100 * time.Millisecond}} {
		b.Run(fmt.Sprintf("%d/%v", tt.users, tt.mean), func(b *testing.B) {
			for range b.N {
				sleepers(b, tt.users, tt.mean)
			}
		})
	}
}

func sleepers(b *testing.B, users int, mean time.Duration) {
	reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
	l, err := New(b.Context(), Config{
		Env:   workload.Env{Registry: reg, Pace: 1, Seed: 1},
		Mix:   []Part{{Behavior: &sleeper{mean}, Share: 1}},
		Clock: clock.New(time.Now()),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Stop(time.Second)
	if err := l.SetUsers(users, time.Second); err != nil {
		b.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	reg.Cut()
	var from, to syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &from); err != nil {
		b.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &to); err != nil {
		b.Fatal(err)
	}
	lag := new(measure.Histogram)
	for _, w := range reg.Cut() {
		lag.Merge(w.Lag)
	}
	n := float64(lag.Count())
	cpu := float64(to.Utime.Nano()+to.Stime.Nano()-from.Utime.Nano()-from.Stime.Nano()) / 1e3
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/5, "wakeups/s")
	b.ReportMetric(cpu/n, "cpu-us/wakeup")
	b.ReportMetric(float64(to.Nvcsw-from.Nvcsw+to.Nivcsw-from.Nivcsw)/n, "switches/wakeup")
	b.ReportMetric(lag.Quantile(0.5).Seconds()*1e3, "lag-p50-ms")
	b.ReportMetric(lag.Quantile(0.99).Seconds()*1e3, "lag-p99-ms")
}
