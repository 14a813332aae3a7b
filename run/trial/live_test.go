package trial

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/run/live"
)

// crowd is an audience that keeps its frames and gives orders at seconds of the run.
type crowd struct {
	away   bool
	second int
	orders map[int][]live.Order
	frames []*live.Frame
	phases []string
	// Of a test that has a driver which loses an agent.
	published func()
	sawLost   bool
}

func (c *crowd) Watched() bool { return !c.away }
func (c *crowd) Publish(f *live.Frame) {
	c.frames = append(c.frames, f)
	if c.published != nil {
		c.published()
	}
}
func (c *crowd) Progress(phase string) {
	c.second++
	c.phases = append(c.phases, phase)
}
func (c *crowd) Orders() []live.Order {
	out := c.orders[c.second]
	delete(c.orders, c.second)
	return out
}
func (c *crowd) LastOrders() []live.Order { return c.Orders() }

func rule(f *live.Frame, text string) live.Rule {
	i := slices.IndexFunc(f.Rules, func(r live.Rule) bool { return r.Rule == text })
	if i < 0 {
		return live.Rule{}
	}
	return f.Rules[i]
}

func TestFramesOfABoundedTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(50) // twice as many users as the CPU rule allows
		s := spec(t, l)
		s.Bounded, s.Series = &bounded, new(discard)
		s.CPU = func() map[string]float64 { return map[string]float64{"app": 0.5} }
		c := &crowd{}
		s.Live = c
		if _, err := Run(context.Background(), s); err != nil {
			t.Fatal(err)
		}
		if len(c.frames) != 8 || len(c.phases) != 8 {
			t.Fatalf("%d frames, %d seconds", len(c.frames), len(c.phases))
		}
		for i, f := range c.frames {
			if f.Seq != int64(i+1) || f.At != float64(i+1) || f.Mode != "fixed" {
				t.Fatalf("frame %d: seq %d at %v, %s", i, f.Seq, f.At, f.Mode)
			}
		}
		last := c.frames[7]
		// What the lab does at the instant of a tick may be in this second or the next one.
		if last.Users != (live.UserCount{
			Wanted: 100,
			Active: 100,
		}) || math.Abs(last.Ops-200) > 10 || last.Response == nil || last.Response.P50 < 9 || last.Response.P50 > 11 {
			t.Errorf("users %+v, %v ops/s, response %+v", last.Users, last.Ops, last.Response)
		}
		if n := len(last.Phases); n != 3 || last.Phases[2].Name != "measure" ||
			last.Phases[2].To != nil ||
			last.Phases[0].To == nil ||
			*last.Phases[0].To != 2 {
			t.Errorf("phases %+v", last.Phases)
		}
		if r := rule(last, "cpu(app) < 85%"); r.Status != live.Broken || r.BrokenFor < 3 ||
			r.Unit != "share" ||
			r.Value == nil {
			t.Errorf("%+v", r)
		}
		if r := rule(last, "mean(op) < 100ms"); r.Status != live.Holds || r.BrokenFor != 0 ||
			r.Unit != "s" {
			t.Errorf("%+v", r)
		}
		if want := []live.AgentRow{{
			Name:  "this process",
			Users: 100,
			Lag:   0.1,
			State: live.Here,
		}}; !slices.Equal(last.Agents, want) {
			t.Errorf("agents %+v, want %+v", last.Agents, want)
		}
		if len(last.CPU) != 1 || last.CPU["app"] != 0.5 {
			t.Errorf("CPU %v", last.CPU)
		}
		if len(last.Operations) != 1 || last.Operations[0].Name != "post" ||
			last.Operations[0].Count < 1400 ||
			last.Operations[0].Rate == 0 {
			t.Errorf("operations %+v", last.Operations)
		}
		i := slices.IndexFunc(last.Gates, func(g live.GateNow) bool { return g.Name == "core" })
		if i < 0 || last.Gates[i].Color != live.Green ||
			!strings.HasSuffix(last.Gates[i].Text, "; amber above 70%, red above 85%") ||
			last.Believe.Color == "" ||
			last.Exploratory != "" {
			t.Errorf("gates %+v, believe %+v", last.Gates, last.Believe)
		}
	})
}

// TestNothingIsMadeForNobody counts the frames of a trial that nobody watches.
func TestNothingIsMadeForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := boundedSpec(t, newLab(1000))
		c := &crowd{away: true}
		s.Live = c
		if _, err := Run(context.Background(), s); err != nil {
			t.Fatal(err)
		}
		if len(c.frames) != 0 || len(c.phases) != 8 {
			t.Fatalf("%d frames, %d seconds", len(c.frames), len(c.phases))
		}
	})
}

func TestFramesOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec(t, newLab(500))
		s = searchSpec(s, 200, 2000)
		s.Series = new(discard)
		c := &crowd{}
		s.Live = c
		out := carryOut(t, s)
		seen, tried := 0, false
		for _, f := range c.frames {
			if f.Search == nil {
				continue
			}
			for _, w := range f.Search.Windows {
				if w.N > seen+1 {
					t.Fatalf("window %d follows %d", w.N, seen)
				}
				seen = max(seen, w.N)
				tried = tried ||
					w.Reading == live.Broken && w.Ratio > 1 && w.Rule == "cpu(app) < 85%"
			}
			if hi := f.Search.Hi; hi != 0 && (f.Search.Lo > hi || f.Search.Estimate > hi) {
				t.Fatalf("%+v", f.Search)
			}
		}
		last := c.frames[len(c.frames)-1].Search
		if seen < 10 || !tried || last == nil || last.Lo == 0 || last.Hi < last.Lo {
			t.Errorf("%d windows, one broken: %v, last %+v, %+v", seen, tried, last, out.Capacity)
		}
		events := eventsOf(t, finish(t, s, out))
		windows := 0
		for _, e := range events {
			switch {
			case e.Kind == record.WindowEvent:
				if windows++; e.Readings[record.WindowUsers] <= 0 ||
					e.Readings[record.WindowLo] > e.Readings[record.WindowHi] ||
					!e.Routine() {
					t.Errorf("%+v", e)
				}
			case e.Kind == record.SearchOverEvent && (e.Readings[record.WindowLo] != out.Capacity.Lo || e.Readings[record.WindowHi] != out.Capacity.Hi || e.Routine()):
				t.Errorf("%+v, want the interval of %+v", e, out.Capacity)
			}
		}
		if windows < seen || windows > seen+1 { // the last one may have no second after it
			t.Errorf("%d windows on disk, %d in frames", windows, seen)
		}
	})
}

// TestLostAgentIsShown publishes the moment in which an agent is lost, which no second follows.
func TestLostAgentIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &losing{lab: newLab(1000), left: 12}
		s := spec(t, l.lab)
		s.Bounded, s.Driver = &bounded, l
		c := &crowd{}
		c.published = func() { c.sawLost = c.sawLost || l.lost }
		s.Live = c
		out := carryOut(t, s)
		n := len(c.frames)
		if out.Interrupted == "" || !c.sawLost || n < 2 || c.frames[n-1].Seq != c.frames[n-2].Seq ||
			c.frames[n-1].Believe.Color != live.Red {
			t.Errorf("%q, lost seen %v, %d frames", out.Interrupted, c.sawLost, n)
		}
	})
}

// TestSteeredTrialIsExploratory sets users, which no plan has asked for: the trial goes on, and is
// not valid.
func TestSteeredTrialIsExploratory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := boundedSpec(t, l)
		c := &crowd{orders: map[int][]live.Order{
			4: {{Do: live.OrderUsers, Users: 70}},
			5: {{Do: live.OrderStorm, Kind: "rush", Share: 0.5}},
		}}
		s.Live = c
		out := carryOut(t, s)
		last := c.frames[len(c.frames)-1]
		if last.Users.Wanted != 70 || last.Exploratory != "users were set to 70 by hand" ||
			last.Believe.Color != live.Red {
			t.Errorf("%+v %q %+v", last.Users, last.Exploratory, last.Believe)
		}
		if out.Validity.Valid || out.Exploratory != "users were set to 70 by hand" ||
			!strings.Contains(gates(out.Validity), "red exploratory") {
			t.Errorf("valid %v, %q, %s", out.Validity.Valid, out.Exploratory, gates(out.Validity))
		}
		if cause := record.CauseOf(out.Validity); cause != record.ByHand {
			t.Errorf("cause %q", cause)
		}
		texts := steered(t, finish(t, s, out))
		if want := []string{"users were set to 70 by hand", "no storm: this driver's users take part in none"}; !slices.Equal(
			texts,
			want,
		) {
			t.Errorf("%q, want %q", texts, want)
		}
	})
}

// stoppable is a driver that takes no users after it was stopped, as the engine does.
type stoppable struct {
	*lab
	stopped bool
}

func (s *stoppable) Stop(grace time.Duration) {
	s.stopped = true
	s.lab.Stop(grace)
}

func (s *stoppable) SetUsers(n int, over time.Duration) error {
	if s.stopped {
		return errors.New("engine has stopped")
	}
	return s.lab.SetUsers(n, over)
}

// TestLateOrdersAreNotCarriedOut gives orders after the last tick of the measured phase. At the
// next one, which is the audit's, the users have been stopped: the trial does not fail, and its log
// has that the orders were too late.
func TestLateOrdersAreNotCarriedOut(t *testing.T) {
	for _, audited := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(1000)
			s := spec(t, l)
			s.Bounded, s.Driver = &bounded, &stoppable{lab: l}
			if audited {
				s.Audit = func(context.Context) (workload.AuditResult, error) {
					return workload.AuditResult{Expected: 5, Readable: 5, Part: 1}, nil
				}
			}
			s.Live = &crowd{orders: map[int][]live.Order{8: {{
				Do:    live.OrderUsers,
				Users: 70,
			}, {Do: live.OrderStorm, Kind: "rush", Share: 0.5}}}}
			out, err := Run(context.Background(), s)
			if err != nil || !out.Validity.Valid || out.Exploratory != "" {
				t.Fatalf(
					"audited %v: %v, exploratory %q, %s",
					audited,
					err,
					out.Exploratory,
					gates(out.Validity),
				)
			}
			texts := steered(t, finish(t, s, out))
			if want := []string{"users were not set to 70: the bounded test had ended", "no storm: the bounded test had ended"}; !slices.Equal(
				texts,
				want,
			) {
				t.Errorf("audited %v: %q, want %q", audited, texts, want)
			}
		})
	}
}

// steered returns the texts of a run's events about what a person did.
func steered(t *testing.T, r *record.Run) (texts []string) {
	t.Helper()
	events := eventsOf(t, r)
	for _, e := range events {
		if e.Kind == "steered" {
			texts = append(texts, e.Text)
		}
	}
	return texts
}
