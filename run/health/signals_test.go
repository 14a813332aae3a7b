package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// The cores of a role are found on a host of any size.
func TestBusyOnAHostOfManyCores(t *testing.T) {
	var b strings.Builder
	b.WriteString("cpu  1 1 1 1 0 0 0 0 0 0\n")
	for core := range 512 {
		fmt.Fprintf(&b, "cpu%d 123456%d 0 100 700 0 0 0 0 0 0\n", core, core)
	}
	fmt.Fprintf(&b, "intr 1%s\nctxt 1\n", strings.Repeat(" 0", 5000))
	path := filepath.Join(t.TempDir(), "stat")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &Signals{cores: map[string][]int{"app": {3, 511}}, stat: f}
	defer s.Close()
	for range 2 { // the file is read from its beginning each time
		busy, total, err := s.Busy("app")
		const used = (1234563 + 123456511 + 2*100) / 100.0
		if err != nil || busy != used || total != used+14 {
			t.Errorf("busy %v of %v, %v; want %v of %v", busy, total, err, used, used+14)
		}
	}
}

// ticking is an agent, and a store that keeps nothing.
type ticking struct{}

func (ticking) Name() string { return "agent db-standby-1" }
func (ticking) Sample(context.Context, time.Time) ([]series.Sample, error) {
	ls := []series.Label{{
		Name:  "instance",
		Value: "db-standby-1",
	}, {Name: "role", Value: "db-standby"}}
	return []series.Sample{{
		Name:   "plimsoll_agent_cpu_seconds_total",
		Labels: ls,
		Value:  100,
	}, {Name: "plimsoll_agent_cpu_busy_seconds_total", Labels: ls, Value: 30}}, nil
}
func (ticking) Append(time.Time, []series.Sample) error { return nil }
func (ticking) AppendText(time.Time, []byte, string, map[string]string) (int, error) {
	return 0, nil
}

// The CPU of another host is seen by its agent.
func TestCPUOfAgent(t *testing.T) {
	r := probe.NewRunner(ticking{}, time.Second)
	r.Add(ticking{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for r.Status()[0].Samples == 0 && t.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	sig := &Signals{GateReader: newHealth(r.Last, clock.New(time.Now()), nil, false), runner: r}
	if busy, total, err := sig.Busy("db-standby"); err != nil || busy != 30 || total != 100 {
		t.Errorf("CPU of the role: %v of %v, %v", busy, total, err)
	}
	if _, _, err := sig.Busy("db"); err == nil ||
		!strings.Contains(err.Error(), `the CPU of role "db" is not seen from here`) {
		t.Errorf("CPU of another role: %v", err)
	}
}

// failing is a probe that has a sample until it fails.
type failing struct{ fails atomic.Bool }

func (*failing) Name() string { return "agent app-0" }
func (f *failing) Sample(context.Context, time.Time) ([]series.Sample, error) {
	if f.fails.Load() {
		return nil, errors.New("agent a does not answer")
	}
	return []series.Sample{{Name: "up", Value: 1}}, nil
}

// A source that stops has no data since then, and one that comes back had none for a while.
func TestSourcesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := clock.New(time.Now())
		r := probe.NewRunner(none{}, time.Second)
		r.UseClock(run)
		f := new(failing)
		r.Add(f)
		s := &Signals{GateReader: newHealth(r.Last, run, nil, true), runner: r}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(5500 * time.Millisecond)
		if got := s.Failing(); len(got) != 0 {
			t.Errorf("an agent that answers: %v", got)
		}
		f.fails.Store(true)
		time.Sleep(10 * time.Second)
		got := s.Failing()["agent app-0"]
		if got.Why != "probe agent app-0: agent a does not answer" || !got.Until.IsZero() ||
			got.Since.Sub(run.Epoch()) != 5*time.Second {
			t.Errorf("an agent that was killed: %+v", got)
		}
		f.fails.Store(false)
		time.Sleep(5 * time.Second)
		got = s.Failing()["agent app-0"]
		if got.Until.Sub(got.Since) != 11*time.Second {
			t.Errorf("an agent that is back: %+v", got)
		}
		stop()
		<-done
	})
}
