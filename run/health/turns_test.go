package health

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// steady is a probe of processes that always use as much of a core.
type steady float64

func (steady) Name() string { return "process" }
func (s steady) Sample(context.Context, time.Time) ([]series.Sample, error) {
	app := []series.Label{{Name: "role", Value: "app"}}
	return []series.Sample{{
		Name:   "plimsoll_process_cpu_ratio",
		Labels: app,
		Value:  float64(s),
	}}, nil
}

// In a duet, the target's cores are busy with the other arm for half the time, and the hypervisor
// takes some of that. Neither is this run's: the gates see its turns, in which 40 % are its
// target's and 10 % others'.
func TestGatesOfADuetSeeOwnTurns(t *testing.T) {
	proc := filepath.Join(t.TempDir(), "proc")
	if err := os.CopyFS(proc, os.DirFS("../../watch/probe/testdata/proc")); err != nil {
		t.Fatal(err)
	}
	user := 0
	idle := 0
	steal := 0 // of core 0, in ticks
	write := func() {
		t.Helper()
		stat := fmt.Sprintf("cpu0 %d 0 0 %d 0 0 0 %d 0 0\ncpu1 0 0 0 %d 0 0 0 0 0 0\n"+
			"ctxt 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n", user, idle, steal, user+idle+steal)
		if err := os.WriteFile(filepath.Join(proc, "stat"), []byte(stat), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write()
	synctest.Test(t, func(t *testing.T) {
		turns, err := probe.NewTurns(proc)
		if err != nil {
			t.Fatal(err)
		}
		defer turns.Close()
		cores := map[string][]int{"target": {0}}
		host, err := probe.NewHost(probe.HostOptions{
			Proc:  proc,
			Sys:   t.TempDir(),
			Roles: cores,
			Turns: turns,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close()
		run := clock.NewStopped(time.Now())
		r := probe.NewRunner(none{}, time.Second)
		r.UseClock(run)
		r.Add(host)
		r.Add(steady(0.4))
		h := newHealth(r.Last, run, []int{1}, true)
		h.of.TargetCores, h.of.TargetRoles = []int{0}, []string{"app"}
		sig, err := NewSignals(map[string][]int{"app": {0}}, h, turns, nil, r)
		if err != nil {
			t.Fatal(err)
		}
		defer sig.Close()
		busy0, total0, err := sig.Busy("app")
		if err != nil {
			t.Fatal(err)
		}
		probing, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(probing) }()
		synctest.Wait()
		const slices = 18 // of 350 ms: no tick falls on the end of one
		for range slices {
			user, steal = user+25, steal+10 // the other arm's turn
			write()
			run.Start()
			turns.Begin()
			time.Sleep(350 * time.Millisecond)
			h.Health(1, 1)
			user, idle = user+20, idle+20
			write()
			turns.End()
			run.Stop()
			time.Sleep(350 * time.Millisecond)
		}
		got := h.Health(1, 1)
		for gate, want := range map[string]float64{"others": 10, "target_steal": 0} {
			if rd := got[gate]; rd.Why != "" || math.Abs(rd.Value-want) > 0.1 {
				t.Errorf("%s: %+v, want %v %%", gate, rd, want)
			}
		}
		busy, total, err := sig.Busy("app")
		if err != nil || math.Abs(busy-busy0-slices*0.2) > 1e-9 ||
			math.Abs(total-total0-slices*0.4) > 1e-9 {
			t.Errorf(
				"busy for %v of %v s, %v; want %v of %v s",
				busy-busy0,
				total-total0,
				err,
				slices*0.2,
				slices*0.4,
			)
		}
		for _, st := range r.Status() {
			if st.Failures != 0 || st.Samples != 7 {
				t.Errorf("%+v", st)
			}
		}
		stop()
		<-done
	})
}

// none is a store that keeps nothing.
type none struct{}

func (none) Append(time.Time, []series.Sample) error { return nil }
func (none) AppendText(time.Time, []byte, string, map[string]string) (int, error) {
	return 0, nil
}
