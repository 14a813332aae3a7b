package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/watch/series"
)

// narrow is the end of a cable that takes no more while it is cut, as a stream with much on its
// way.
type narrow struct{ cableEnd }

func (e narrow) Write(b []byte) (int, error) {
	e.mu.Lock()
	for !e.cut.IsZero() && !e.end[e.reads] {
		e.cond.Wait()
	}
	e.mu.Unlock()
	return e.cableEnd.Write(b)
}

// severed is a build whose first process cuts the cable of host 0 while it makes its report, so
// that the reply is not taken. It gives the test the agents.
func severed(t *testing.T, h *hosts, at time.Duration, mend func()) (Build, func() (active int)) {
	t.Helper()
	var agents []*Agent
	cut := false
	return talkers(func(s Start, a *Agent, c *engine.Config) {
			agents = append(agents, a)
			a.Samples = func(context.Context, time.Time) ([]series.Sample, error) {
				if !cut && c.Clock.Now() >= at {
					cut = true
					h.wires[0].sever()
					mend()
				}
				return nil, nil
			}
		}), func() (active int) {
			for _, a := range agents {
				_, n, _ := a.Engine.Users()
				active += n
			}
			return active
		}
}

// The coordinator is gone while a host sends a reply that the link does not take: the users leave
// all the same.
func TestUsersLeaveWhileAReplyIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hosts{narrow: true}
		b, active := severed(t, h, 2*time.Second, func() {})
		d, _ := leadHosts(t, h, 1, 1, b)
		must(t, d.SetUsers(20, 0))
		time.Sleep(4 * time.Second)
		if n := active(); n != 20 {
			t.Fatalf("%d users are active, want 20", n)
		}
		if err := d.Collect(t.Context()); err == nil {
			t.Error("an agent is silent, and nothing was said")
		}
		select {
		case err := <-h.served:
			if n := active(); !errors.Is(err, errSilent) || n != 0 {
				t.Errorf("%v, and %d users are active", err, n)
			}
		case <-time.After(10 * time.Minute):
			t.Fatalf("ten minutes after its end the coordinator has %d users", active())
		}
	})
}

// While the link does not take a reply, the host goes on to collect each tick, so that no later one
// counts as late.
func TestTicksAreCutWhileAReplyIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hosts{narrow: true}
		b, _ := severed(t, h, 5*time.Second, func() {
			time.AfterFunc(8*time.Second, func() { h.wires[0].mend() })
		})
		d, cfg := leadHosts(t, h, 1, 1, b)
		got := conductAll(t, d, cfg, 20, func(int) {})
		h.ended(t)
		if stalls := d.Stalls(); len(stalls) > 0 {
			t.Errorf("silence is no lag: %+v", stalls)
		}
		for k := 4; k < 20; k++ {
			if n := got.Say[k]; n < 4 {
				t.Errorf("%d operations in second %d of %d", n, k, got.Say)
			}
		}
	})
}

// A coordinator that is gone before it has started users leaves the agent to others.
func TestACoordinatorThatIsGoneBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCable()
		served := make(chan error, 1)
		go func() {
			served <- ServeHost(t.Context(), cableEnd{w, 0}, cableEnd{w, 0}, HostAgent{Silent: w.silent})
			_ = cableEnd{w, 0}.Close()
		}()
		must(t, json.NewEncoder(cableEnd{w, 1}).Encode(request{Clock: &struct{}{}}))
		var p reply
		must(t, newReplyReader(cableEnd{w, 1}).read(&p))
		w.sever()
		select {
		case err := <-served:
			if !errors.Is(err, errUnbegun) {
				t.Error(err)
			}
		case <-time.After(10 * time.Minute):
			t.Fatal("ten minutes after its end the agent still waits for that coordinator")
		}
	})
}

// A process that panics while its host collects by itself has lost the records of a tick: the next
// request is answered with that, and not as if nothing had been.
func TestAPanicInASilenceIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c told
		h := new(hosts)
		d, _ := leadHosts(t, h, 1, 2, talkers(func(s Start, a *Agent, c *engine.Config) {
			once := s.Agent > 0
			a.Samples = func(context.Context, time.Time) ([]series.Sample, error) {
				if c.Clock.Now() > 3*time.Second && !once {
					once = true
					panic("no sample")
				}
				return nil, nil
			}
		}))
		d.links[0].onPanic = func(err error) { c.hear(0, -1, err) }
		must(t, d.SetUsers(20, 0))
		var err error
		for k := range 10 {
			if k == 2 {
				h.wires[0].sever()
				time.AfterFunc(5*time.Second, h.wires[0].mend)
			}
			if err = second(t, d, k); err != nil {
				break
			}
		}
		if err == nil || c.seen() != 1 {
			t.Errorf("%d panics were reported, and the collects ended with %v", c.seen(), err)
		}
		d.Stop(0)
		<-h.served
	})
}

// Stalls of the time before the measured phase, however many, leave room for those in it.
func TestLaterStallsAreKept(t *testing.T) {
	d := &RemoteDriver{cfg: Config{
		Hosts:    new(Hosts),
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, 1),
		Registry: measure.NewRegistry(1),
	}}
	for k := range 2 {
		l := &link{n: k, of: 2, name: "h"}
		l.agents = []*agent{{n: k, link: l}}
		d.links, d.agents = append(d.links, l), append(d.agents, l.agents...)
	}
	stand := func(k int, at time.Duration) {
		t.Helper()
		must(t, d.takeAll(d.links[k], reply{Parts: []part{{
			At:     at,
			Late:   2 * time.Second,
			Report: new(report),
		}}}))
	}
	for k := range 3 * mostStalls {
		stand(0, time.Duration(k)*time.Second)
	}
	const last = 4 * mostStalls * time.Second
	stand(0, last)
	stand(1, last)
	n := 0
	for _, st := range d.Stalls() {
		if st.At == last {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d agents stood still at the end, want 2", n)
	}
	if n := len(d.Stalls()); n > mostStalls+1 {
		t.Errorf("%d stalls are kept", n)
	}
}
