package trial

import (
	"time"

	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/capacity"
)

// Tests select the tests of a plan that one run carries.
type Tests struct {
	Engine             string // of the target's database
	Bounded, Unbounded bool
	// Short ends a bounded test early if no operation succeeds.
	Short bool
	Start int // of the search; 0 for the plan's
	// Most is the number of users up to which a run looks for the users of a plan; 0 for a run of
	// the plan's tests.
	Most int
}

// Planned returns the tests of a plan with its rules and gates. An operation ends after a timeout.
func Planned(p *plan.Plan, t Tests, timeout time.Duration) Config {
	c := Config{Gates: p.Gates.All(), Window: plan.DefaultWindow, Timeout: timeout}
	if t.Most > 0 {
		c.Rules = p.BoundedRules()
		c.Level = levelTest(p.Workload, t)
		return c
	}
	if b := p.Bounded; b != nil && t.Bounded {
		c.Bounded = boundedTest(p, t.Engine)
		if t.Short {
			// Two operations that time out follow one another in it.
			c.Bounded.GiveUp = 2 * timeout
		}
	}
	if u, ok := p.Search(); ok {
		c.Rules = u.SLO
		c.Window = u.Window
		if t.Unbounded {
			c.Search = searchTest(p, u, t)
		}
	}
	return c
}

// boundedTest returns the bounded test of a plan on an engine.
func boundedTest(p *plan.Plan, engine string) *BoundedTest {
	b := p.Bounded
	n, _ := b.UsersFor(engine)
	t := &BoundedTest{
		Users:   n,
		Ramp:    b.Ramp,
		Settle:  b.Settle,
		Measure: b.Measure,
		Window:  time.Duration(b.Window),
		Rules:   p.BoundedRules(),
	}
	for _, s := range b.Stages {
		storm := workload.Storm{Kind: s.Storm, Share: s.Share, Over: s.Over, Params: s.Params}
		t.Storms = append(t.Storms, TimedStorm{At: s.At, Storm: storm})
	}
	return t
}

// searchTest returns the search of a plan.
func searchTest(p *plan.Plan, u plan.Unbounded, t Tests) *SearchTest {
	start := t.Start
	if start == 0 {
		start = p.SearchStart(t.Engine)
	}
	return &SearchTest{
		Config: capacity.Config{
			Start:      max(start, 1),
			Max:        u.MaxUsers,
			RampRate:   u.RampRate,
			RampFloor:  4 / p.Workload.Pace,
			Window:     u.Window,
			Step:       u.Step,
			Precision:  u.Precision,
			Budget:     u.Budget,
			Staircase:  u.Mode == plan.Staircase,
			Saturation: saturation(u.SLO),
		},
		Rush: u.Window,
	}
}

// saturation returns the share of the app's cores at which it is saturated: all, unless a rule
// allows less.
func saturation(rules []plan.SLO) float64 {
	share := 1.0
	for _, r := range rules {
		if r.Stat == "cpu" && r.Arg == "app" && r.Less && !r.Warning && r.Threshold > 0 {
			share = min(share, r.Threshold)
		}
	}
	return share
}

// levelTest returns the test of a pilot that finds users. Its least times are the target's own: a
// faster pace makes no server finish the work of arrivals sooner.
func levelTest(w plan.Workload, t Tests) *LevelTest {
	l := &LevelTest{
		Ramp:   paced(w, 2*time.Second, time.Second),
		Window: paced(w, 5*time.Second, 3*time.Second),
	}
	l.LevelConfig = capacity.LevelConfig{
		Start:  t.Start,
		Max:    t.Most,
		Budget: LevelTime(w),
		Step:   l.Ramp + 2*l.Window,
	}
	return l
}

// LevelTime returns how long a pilot looks for the users of a workload.
func LevelTime(w plan.Workload) time.Duration { return paced(w, time.Minute, time.Minute) }

// paced returns a wait at the pace of the users, in whole seconds.
func paced(w plan.Workload, d, least time.Duration) time.Duration {
	return max(w.Wait(d).Round(time.Second), least)
}
