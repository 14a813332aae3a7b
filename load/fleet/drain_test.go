package fleet

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/run/trial"
)

// stalled is a server that answers in a millisecond, but not between two moments: requests of that
// time are answered at its end. Its users think a second and end a request after patience.
type stalled struct {
	epoch    time.Time
	from, to time.Duration
	patience time.Duration
	service  time.Duration    // 0: a millisecond
	restless bool             // its users make no pauses
	begun    *atomic.Int64    // requests; nil if they are not counted
	refuses  bool             // answers those requests with 503
	arrivals *engine.Arrivals // beside the users; nil for none
	// of the run, without agents, with which the server stands still; nil for one that runs
	clock *clock.Clock
}

type stalledActor struct {
	s   *stalled
	u   *workload.User
	n   measure.Name
	reg *measure.Registry
}

func (s *stalled) Provision(context.Context, workload.Env, int) error { return nil }
func (s *stalled) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &stalledActor{s, u, env.Registry.Name("ask"), env.Registry}, nil
}
func (s *stalled) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	return &stalledActor{s, u, env.Registry.Name("ask"), env.Registry}, nil
}
func (a *stalledActor) Serve(ctx context.Context, _ int64) error { return a.Act(ctx) }
func (a *stalledActor) Login(context.Context) error              { return nil }
func (a *stalledActor) Think() time.Duration {
	if a.s.restless {
		return 0
	}
	return time.Duration((0.5 + a.u.Think.Float64()) * float64(time.Second))
}
func (a *stalledActor) Act(ctx context.Context) error {
	sent, at := time.Now(), a.u.Now()
	done, class := at+max(a.s.service, time.Millisecond), measure.OK
	if a.s.restless {
		done = at + time.Duration(a.u.Content.ExpFloat64()*float64(100*time.Millisecond))
	}
	if at >= a.s.from && at < a.s.to {
		done = a.s.to
		if a.s.refuses {
			class = measure.Status5xx
		}
	}
	if limit := at + a.s.patience; done > limit {
		done, class = limit, measure.Timeout
	}
	a.u.Begin(a.n)
	if a.s.begun != nil {
		a.s.begun.Add(1)
	}
	if err := a.u.Clock().SleepUntil(ctx, done); err != nil {
		return err
	}
	due := a.u.Done(a.n, sent, sent, time.Now(), class, 0)
	if class == measure.Status5xx {
		workload.Answered(a.reg, "ask", 503, due)
	}
	return nil
}
func (a *stalledActor) Close() {}

// calm is a host where nothing is amiss.
type calm struct{ busy float64 }

func (c *calm) Busy(string) (busy, total float64, err error) {
	c.busy++
	return c.busy / 10, c.busy, nil
}
func (*calm) Query(context.Context, string) (float64, bool, error) { return 0, false, nil }
func (*calm) Health(int, float64) map[string]trial.Reading {
	return map[string]trial.Reading{"core": {Value: 30}}
}
func (*calm) Failing() map[string]trial.Failure { return nil }

// measured runs 50 users for 20 s after 5 s against the server, in this process (agents 0) or in so
// many others.
func measured(
	t *testing.T,
	s stalled,
	agents int,
	change func(*trial.Config),
) (*record.Run, trial.Outcome) {
	t.Helper()
	s.epoch = time.Now()
	s.from += 5 * time.Second
	s.to += 5 * time.Second
	if s.clock == nil {
		s.clock = clock.New(s.epoch)
	}
	if s.arrivals != nil {
		s.arrivals.Behavior = &s
	}
	reg := measure.NewRegistry(2)
	spec := trial.Config{
		Window:   1500 * time.Millisecond,
		Timeout:  5 * time.Second,
		Clock:    s.clock,
		Registry: reg,
	}
	var err error
	if agents == 0 {
		spec.Driver, err = engine.New(t.Context(), engine.Config{
			Env:      workload.Env{Registry: reg, Seed: 3, Pace: 1},
			Mix:      []engine.Part{{Behavior: &s, Share: 1}},
			Clock:    s.clock,
			Arrivals: s.arrivals,
		})
	} else {
		conf := config(s.epoch)
		conf.Registry = reg
		links(agents, &conf, agentOf(&s, func(_ Start, _ *Agent, c *engine.Config) {
			c.Env.Seed, c.Arrivals = 3, s.arrivals
		}))
		spec.Driver, err = New(t.Context(), conf)
	}
	must(t, err)
	if change != nil {
		change(&spec)
	}
	return carryOut(t, spec)
}

// carryOut has 50 users for 20 s after 5 s in a trial, and opens its record.
func carryOut(t *testing.T, c trial.Config) (*record.Run, trial.Outcome) {
	t.Helper()
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), record.Manifest{ID: "t"})
	must(t, err)
	c.Writer, c.Signals = w, new(calm)
	c.Bounded = &trial.BoundedTest{
		Users:   50,
		Ramp:    2 * time.Second,
		Settle:  3 * time.Second,
		Measure: 20 * time.Second,
	}
	out, err := trial.Run(t.Context(), c)
	must(t, err)
	must(t, w.Update(func(m *record.Manifest) { m.Phases = out.Phases }))
	_, err = w.Seal(t.Context(), out.Validity, out.Interrupted)
	must(t, err)
	r, err := record.Open(w.Dir())
	must(t, err)
	return r, out
}

// ofAgents is a test in virtual time, in this process (0 agents) and in so many others.
func ofAgents(t *testing.T, test func(t *testing.T, agents int), counts ...int) {
	for _, agents := range counts {
		t.Run(fmt.Sprint(agents, " agents"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, agents) })
		})
	}
}

// gates counts the findings of a trial by gate.
func gates(out trial.Outcome) map[string]int {
	n := map[string]int{}
	for _, f := range out.Validity.Findings {
		n[f.Gate]++
	}
	return n
}

// cutOff has the trial lose its driver at a moment.
func cutOff(at time.Duration) func(*trial.Config) {
	return func(c *trial.Config) {
		c.Driver = &dying{
			Local: c.Driver.(*engine.Local),
			at:    c.Clock.Epoch().Add(at),
		}
	}
}

// ask returns the operations of the measured phase.
func ask(t *testing.T, r *record.Run) (*measure.Window, record.Phase) {
	t.Helper()
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		t.Fatal("no measured phase")
	}
	m, err := r.Merged(ph.From, ph.To)
	must(t, err)
	if m["ask"] == nil || ph.Tail == nil {
		t.Fatalf("nothing was measured, or what was under way at the end is not told: %+v", ph)
	}
	return m["ask"], ph
}

// The server stands still for the last 3.1 of 20 s: all 50 users are in a request when the phase
// ends, and none has an answer.
func TestStallAtTheEndOfThePhaseShows(t *testing.T) {
	ofAgents(t, func(t *testing.T, agents int) {
		r, _ := measured(t, stalled{
			from:     16900 * time.Millisecond,
			to:       20500 * time.Millisecond,
			patience: 5 * time.Second,
		}, agents, nil)
		w, ph := ask(t, r)
		if ph.To-ph.From != 20*time.Second {
			t.Errorf("the phase lasted %v", ph.To-ph.From)
		}
		if p99, most := w.Response.Quantile(0.99), w.Response.Max(); p99 < 2*time.Second ||
			most < 3*time.Second {
			t.Errorf("p99 %v and max %v say nothing of a stall of 3.1 s", p99, most)
		}
		if op := ph.Tail.Of(nil); op.Drained != 50 || op.Open != 0 || ph.Tail.Waited <= 0 ||
			ph.Tail.Waited > time.Second {
			t.Errorf(
				"tail %+v after %v, want the 50 users' operations within a second",
				op,
				ph.Tail.Waited,
			)
		}
	}, 0, 1, 3)
}

// A server that does not come back: operations under way end by the client's own patience, as a
// timeout of the measured phase.
func TestStallThatOutlastsThePhaseEndsInTimeouts(t *testing.T) {
	ofAgents(t, func(t *testing.T, agents int) {
		r, out := measured(t, stalled{
			from:     16900 * time.Millisecond,
			to:       time.Hour,
			patience: 5 * time.Second,
		}, agents, nil)
		w, ph := ask(t, r)
		if op := ph.Tail.Of(nil); op.Drained != 50 || w.Classes[measure.Timeout] != 50 {
			t.Errorf("tail %+v, %d timeouts, want 50", op, w.Classes[measure.Timeout])
		}
		if len(out.Phases) != 4 || out.Phases[3].Name != "drain" ||
			out.Phases[3].To > ph.To+6*time.Second {
			t.Errorf("phases %+v", out.Phases)
		}
		if w.Count() != w.Response.Count() {
			t.Errorf("%d operations, %d with a time", w.Count(), w.Response.Count())
		}
	}, 0, 2)
}

// Without time for a drain, operations under way enter with their age, in no class, and percentiles
// are marked as bounds.
func TestOpenOperationsEnterWithTheirAge(t *testing.T) {
	ofAgents(t, func(t *testing.T, agents int) {
		r, out := measured(t, stalled{
			from:     16900 * time.Millisecond,
			to:       time.Hour,
			patience: time.Hour,
		}, agents, func(s *trial.Config) { s.Timeout = 0 })
		w, ph := ask(t, r)
		op := ph.Tail.Of(nil)
		if op.Open != 50 || op.Drained != 0 || w.Response.Count() != w.Count()+50 {
			t.Fatalf("tail %+v; %d operations, %d with a time", op, w.Count(), w.Response.Count())
		}
		if most := w.Response.Max(); most < 2*time.Second || most > 4*time.Second {
			t.Errorf("the oldest is %v old", most)
		}
		if p50, p99 := w.Response.Quantile(0.5), w.Response.Quantile(0.99); op.Bound(p50) ||
			!op.Bound(p99) {
			t.Errorf("p50 %v is a bound: %v; p99 %v: %v", p50, op.Bound(p50), p99, op.Bound(p99))
		}
		if fs := out.Validity.Findings; len(fs) == 0 || fs[len(fs)-1].Gate != "drain" {
			t.Errorf("findings %v", fs)
		}
	}, 0, 2)
}

// The server stands still for 6 of 20 s: its users wait, and a quarter of their requests is never
// sent. The latencies hold fifty slow operations of many hundred.
func TestOmissionIsMarked(t *testing.T) {
	var first record.Schedule
	ofAgents(t, func(t *testing.T, agents int) {
		r, out := measured(t, stalled{
			from:     7 * time.Second,
			to:       13 * time.Second,
			patience: time.Minute,
		}, agents, nil)
		w, ph := ask(t, r)
		s := ph.Schedule
		if s == nil {
			t.Fatal("the run does not say what was intended")
		}
		// The users would have sent 50 requests a second: they think a second on average.
		if s.Share() < 0.70 || s.Share() > 0.78 || s.Intended < 950 || s.Intended > 1050 ||
			s.Achieved != w.Count() ||
			!s.Marked() {
			t.Errorf(
				"%d of %.1f operations (%.3f), want about three quarters of 1000",
				s.Achieved,
				s.Intended,
				s.Share(),
			)
		}
		if fs := out.Validity.Findings; len(fs) == 0 || fs[len(fs)-1].Gate != "omission" ||
			!out.Validity.Valid {
			t.Errorf("findings %v", fs)
		}
		never, known, err := r.Omitted()
		if err != nil || !known || never["ask"] == nil {
			t.Fatalf("%v %v %v", never, known, err)
		}
		// The measured values stay as they were; with the omitted ones, a quarter of the users'
		// time shows.
		measuredP90 := w.Response.Quantile(0.9)
		whole := w.Response.Clone()
		whole.Merge(never["ask"].Response)
		if p90 := whole.Quantile(0.9); measuredP90 > 10*time.Millisecond || p90 < 2*time.Second ||
			p90 > 5*time.Second ||
			whole.Max() > 6100*time.Millisecond {
			t.Errorf(
				"p90 %v as measured, %v by the schedule, at most %v",
				measuredP90,
				p90,
				whole.Max(),
			)
		}
		if agents == 0 {
			first = *s
		} else if *s != first {
			t.Errorf("%d agents count %+v, one process %+v", agents, *s, first)
		}
	}, 0, 3)
}

// At a server that is well, everything that was intended is begun, and the drain costs the run no
// second, and loses and doubles nothing.
func TestNothingIsOmittedWithoutAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := measured(t, stalled{patience: time.Second}, 0, nil)
		w, ph := ask(t, r)
		if last := out.Phases[len(out.Phases)-1]; last.Name != "measure" || ph.Tail == nil ||
			ph.Tail.Of(nil).Open > 0 {
			t.Errorf("last phase %+v, tail %+v", last, ph.Tail)
		}
		if n := w.Count(); n < 900 || n > 1100 {
			t.Errorf("%d operations of 50 users in 20 s", n)
		}
		if s := ph.Schedule; s == nil || s.Share() < 0.999 || s.Marked() {
			t.Errorf("schedule %+v", s)
		}
		if gates(out)["omission"] > 0 {
			t.Errorf("findings %+v", out.Validity.Findings)
		}
	})
}

// A stall that goes on after the phase costs the users only its part in the phase.
func TestOmissionEndsWithThePhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := measured(t, stalled{
			from:     14 * time.Second,
			to:       24 * time.Second,
			patience: time.Minute,
		}, 0, func(s *trial.Config) { s.Timeout = 20 * time.Second })
		_, ph := ask(t, r)
		// As in the six seconds of the test above.
		if s := ph.Schedule; s == nil || s.Share() < 0.70 || s.Share() > 0.78 {
			t.Errorf("schedule %+v, %.3f, tail %+v", s, s.Share(), ph.Tail)
		}
	})
}

// A run that is cut off does not wait: operations under way enter with their age at the last tick,
// and the run is not valid.
func TestCutOffRunCountsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := measured(t, stalled{
			from:     2 * time.Second,
			to:       time.Hour,
			patience: time.Hour,
		}, 0, cutOff(10500*time.Millisecond))
		w, ph := ask(t, r)
		if out.Validity.Valid || ph.To > 11*time.Second {
			t.Errorf("valid %v, phase %+v", out.Validity.Valid, ph)
		}
		if op := ph.Tail.Of(nil); op.Open != 50 || w.Response.Max() > 4100*time.Millisecond ||
			w.Response.Max() < 2*time.Second {
			t.Errorf("tail %+v, at most %v", op, w.Response.Max())
		}
	})
}

// dying is lost at a moment.
type dying struct {
	*engine.Local
	at time.Time
}

func (d *dying) Collect(context.Context) error {
	if time.Now().After(d.at) {
		return trial.ErrLost
	}
	return nil
}
