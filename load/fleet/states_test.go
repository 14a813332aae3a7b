package fleet

import (
	"context"
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/engine"
	"plimsoll/watch/series"
)

// TestStates has the lag and the CPU of agents, one of which is lost.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, _, agents := lead(t, 2, talkers(func(s Start, a *Agent, _ *engine.Config) {
			a.Samples = func(context.Context, time.Time) ([]series.Sample, error) {
				return []series.Sample{{
					Name:  "plimsoll_generator_cpu_ratio",
					Value: 0.25 * float64(1+s.Agent),
				}, {Name: "other", Value: 7}}, nil
			}
		}))
		defer d.Stop(0)
		must(t, d.SetUsers(20, time.Second))
		for range 5 {
			time.Sleep(time.Second)
			must(t, d.Collect(t.Context()))
		}
		got := d.States()
		for i, st := range got {
			if st.Lost || st.Ended || st.Heard != 0 || st.Users != 10 ||
				math.Abs(st.CPU-0.25*float64(1+i)) > 1e-9 ||
				st.Lag <= 0 {
				t.Errorf("agent %d: %+v", i, st)
			}
		}
		_ = agents[1].Close()
		time.Sleep(time.Second)
		if err := d.Collect(t.Context()); err == nil {
			t.Error("an agent is gone, and nothing was said")
		}
		if got = d.States(); got[0].Lost || !got[1].Lost || got[1].Users != 0 || got[1].CPU != 0 ||
			got[1].Heard != time.Second {
			t.Errorf("%+v", got)
		}
		time.Sleep(d.staleAfter() + time.Second)
		if got = d.States(); got[0].CPU != 0 {
			t.Errorf("an old reading of the CPU: %+v", got[0])
		}
	})
}

// mute swallows requests.
type mute struct{ io.ReadWriteCloser }

func (mute) Write(p []byte) (int, error) { return len(p), nil }

// TestWhoOwesAnAnswer has one agent that does not answer. The other has, and is not asked while
// that one is waited for.
func TestWhoOwesAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, _, _ := lead(t, 2, talkers())
		defer d.Stop(0)
		time.Sleep(time.Second)
		must(t, d.Collect(t.Context()))
		time.Sleep(time.Second)
		if got := d.States(); got[0].Owes != 0 || got[1].Owes != 0 || got[1].Heard != time.Second {
			t.Errorf("between two rounds: %+v", got)
		}
		d.links[1].to = mute{d.links[1].to}
		done := make(chan error, 1)
		go func() { done <- d.Collect(t.Context()) }()
		time.Sleep(4 * time.Second)
		if got := d.States(); got[0].Owes != 0 || got[0].Heard != 4*time.Second ||
			got[1].Owes != 4*time.Second ||
			got[1].Heard != 5*time.Second {
			t.Errorf("after four seconds without an answer: %+v", got)
		}
		if err := <-done; err == nil {
			t.Error("an agent is lost, and nothing was said")
		}
		if got := d.States(); got[1].Owes != 0 || !got[1].Lost {
			t.Errorf("of a lost agent: %+v", got[1])
		}
	})
}

// The states are there while an agent is asked that does not answer, whatever it is asked.
func TestStatesWhileUsersAreSet(t *testing.T) {
	d, _, _, _ := lead(t, 1, talkers())
	defer d.Stop(0)
	d.links[0].to = mute{d.links[0].to}
	done := make(chan error, 1)
	go func() { done <- d.SetUsers(1, 0) }()
	for d.links[0].asked.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	if got := d.States(); got[0].Owes == 0 || got[0].Lost {
		t.Errorf("the states came when the agent was lost: %+v", got)
	}
	if err := <-done; err == nil {
		t.Error("an agent is lost, and nothing was said")
	}
}

// TestRecentLag keeps a lag for one to two seconds.
func TestRecentLag(t *testing.T) {
	var r recentLag
	at := time.Unix(1000, 0)
	for _, tt := range []struct {
		after, lag, want time.Duration
	}{{0, 5, 5}, {500 * time.Millisecond, 3, 5}, {600 * time.Millisecond, 1, 5}, {900 * time.Millisecond, 2, 5}, {200 * time.Millisecond, 1, 2}, {5 * time.Second, 1, 1}} {
		at = at.Add(tt.after)
		if r.add(tt.lag, at); r.longest() != tt.want {
			t.Errorf("%v later %v: %v, want %v", tt.after, tt.lag, r.longest(), tt.want)
		}
	}
}
