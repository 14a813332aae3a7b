package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/trial"
	"plimsoll/run/turns"
	"plimsoll/stats"
	"plimsoll/watch/series"
)

// A stopRule decides when the measured phases of the runs of a block of a duet end
// (bounded.measure: auto): all at the same time of their clocks, as soon as the inside of the block
// leaves the difference of every endpoint no more variance than deployments have.
//
// It looks at spreads alone, between the stretches of the block and between earlier blocks, and at
// no difference: neither its sign nor its size moves the end, so that a block ends as early for
// equal builds as for others. Its methods are safe for concurrent use, and do nothing on nil.
type stopRule struct {
	least     time.Duration
	base      string
	endpoints []plan.Endpoint
	past      *pastBlocks

	mu   sync.Mutex
	runs []*stopRun
	end  time.Duration // of all measured phases; 0 before it is decided
	why  string
}

// pastBlocks holds the differences of finished blocks, and the variances that their insides left,
// by arm and endpoint. It is for one goroutine at a time.
type pastBlocks struct{ differences, within map[string][]float64 }

func newPastBlocks() *pastBlocks {
	return &pastBlocks{differences: map[string][]float64{}, within: map[string][]float64{}}
}

// newStopRule returns the rule of the next block of a plan; nil where the plan declares the length.
func newStopRule(p *plan.Plan, past *pastBlocks) *stopRule {
	if p.Bounded == nil || !p.Bounded.Auto() {
		return nil
	}
	x := &stopRule{least: p.Bounded.MeasureMin, base: p.Compare.Arms[0].Name, past: past}
	for _, e := range p.Endpoints() {
		if comparison.Inside(e) {
			x.endpoints = append(x.endpoints, e)
		}
	}
	return x
}

// watch adds a run of the block, before any of them begins. It returns what ends the run's measured
// phase.
func (x *stopRule) watch(arm, engine string) turns.Watch {
	if x == nil {
		return nil
	}
	return x.add(arm, engine).watch
}

func (x *stopRule) add(arm, engine string) *stopRun {
	r := &stopRun{
		rule:   x,
		arm:    arm,
		engine: engine,
		of:     comparison.PortionsOf(x.endpoints),
		open:   second{},
		cpu:    map[string]*comparison.Counter{},
	}
	x.runs = append(x.runs, r)
	return r
}

// A second holds the operations of one second of a run, by endpoint. Of costs it has their number
// alone.
type second map[string]comparison.Portion

// A stopRun is a run of the block. Its fields are guarded by the mu of its rule.
type stopRun struct {
	rule        *stopRule
	arm, engine string
	of          func(ws []*measure.Window, add func(endpoint string, s comparison.Portion))
	clock       *clock.Clock
	now         func() time.Duration                 // of the clock
	read        func() (map[string]cpuSample, error) // CPU seconds by role

	from    time.Duration // the beginning of the phase on the clock
	began   bool
	seconds []second
	open    second
	cpu     map[string]*comparison.Counter
}

// watch is a [turns.Watch]. CPU times are read of the run's series.
func (r *stopRun) watch(
	ctx context.Context,
	test *trial.BoundedTest,
	run *clock.Clock,
	db *series.DB,
) {
	r.clock = run
	r.now = run.Now
	r.read = func() (map[string]cpuSample, error) {
		return cpuSamples(ctx, db, run.Date(run.Now()))
	}
	test.Measured = r.measured
	test.Until = r.until
}

// A cpuSample is the CPU time of a role in seconds, as it was sampled last.
type cpuSample struct {
	at  time.Time
	sum float64
}

// cpuSamples reads the CPU times of the target's roles.
func cpuSamples(ctx context.Context, db *series.DB, at time.Time) (map[string]cpuSample, error) {
	const counter = `plimsoll_process_cpu_seconds_total{role!~"|generator"}`
	sums, err := db.Query(ctx, "sum by (role) ("+counter+")", at)
	if err != nil {
		return nil, err
	}
	times, err := db.Query(ctx, "max by (role) (timestamp("+counter+"))", at)
	if err != nil {
		return nil, err
	}
	out := map[string]cpuSample{}
	for _, s := range sums {
		for _, t := range times {
			if t.Labels["role"] == s.Labels["role"] {
				out[s.Labels["role"]] = cpuSample{
					time.UnixMilli(int64(t.Value*1000 + 0.5)),
					s.Value,
				}
			}
		}
	}
	return out, nil
}

// measured takes in the operations of a tick of the phase. An error of the CPU times leaves the
// costs out.
func (r *stopRun) measured(since time.Duration, ws []*measure.Window) {
	samples := map[string]cpuSample{}
	whole := since%time.Second == 0
	if whole || !r.began {
		samples, _ = r.read()
	}
	x := r.rule
	x.mu.Lock()
	defer x.mu.Unlock()
	if !r.began {
		r.began, r.from = true, r.now()-since
	}
	r.of(ws, func(endpoint string, s comparison.Portion) { r.open.add(endpoint, s) })
	for _, w := range ws {
		if !workload.Steady(w.Name) {
			continue
		}
		for _, e := range x.endpoints {
			if e.Stat == "cost" {
				r.open.add(e.Name, comparison.Portion{Count: float64(w.Classes[measure.OK])})
			}
		}
	}
	for role, s := range samples {
		if r.cpu[role] == nil {
			r.cpu[role] = new(comparison.Counter)
		}
		r.cpu[role].Add(s.at, s.sum)
	}
	if whole {
		r.seconds = append(r.seconds, r.open)
		r.open = second{}
		x.decide(r)
	}
}

func (s second) add(endpoint string, more comparison.Portion) {
	sum := s[endpoint]
	sum.Add(more)
	s[endpoint] = sum
}

// until returns why the run's measured phase ends with the whole second that has just passed; "" if
// it does not.
func (r *stopRun) until() (why string, err error) {
	x := r.rule
	x.mu.Lock()
	defer x.mu.Unlock()
	passed := time.Duration(len(r.seconds)) * time.Second
	if x.end == 0 || passed < x.end {
		return "", nil
	}
	return x.why, nil
}

// decide sets the end when the block is long enough. now is the run whose second has just ended: it
// may end with that, the others with the second that they are in. The caller holds mu.
func (x *stopRule) decide(now *stopRun) {
	if x.end > 0 || len(now.seconds) < int(x.least/time.Second) {
		return
	}
	worst := 0.0
	for _, p := range x.pairs() {
		d, w := x.past.differences[p.of], x.past.within[p.of]
		if !stats.LongEnough(p.within, d, w) || p.seconds < int(x.least/time.Second) {
			return
		}
		between := stats.ExpectedBetween(d, w)
		if share := p.within / between; share >= worst {
			worst = share
			x.why = fmt.Sprintf("the inside of the block leaves %s (sd) of %s, "+
				"and %s is expected between deployments", percent(p.within), p.of, percent(between))
		}
	}
	if x.why == "" { // nothing shows how much the inside varies
		return
	}
	for _, r := range x.runs {
		end := time.Duration(len(r.seconds)) * time.Second
		if r != now {
			end += time.Second
		}
		x.end = max(x.end, end)
	}
}

// percent writes the standard deviation of a variance.
func percent(variance float64) string { return fmt.Sprintf("%.2g %%", 100*math.Sqrt(variance)) }

// A stopPair is the difference of an arm from the base in an endpoint so far.
type stopPair struct {
	of         string // endpoint and arm
	difference float64
	// the variance that the inside of the block leaves; infinite where it is not known yet
	within  float64
	seconds int // that both have
}

// pairs compares every arm with the base on its database, by each endpoint of which both have
// operations. The caller holds mu.
func (x *stopRule) pairs() []stopPair {
	var out []stopPair
	for _, base := range x.runs {
		if base.arm != x.base {
			continue
		}
		for _, fresh := range x.runs {
			if fresh == base || fresh.engine != base.engine {
				continue
			}
			for _, e := range x.endpoints {
				if p, ok := pairOf(base, fresh, e); ok {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// pairOf compares two runs by an endpoint; by the mean instead of a percentile of too few
// operations.
func pairOf(base, fresh *stopRun, e plan.Endpoint) (p stopPair, ok bool) {
	x, y := secondsOf(base, fresh, e)
	name := e.Name
	p.difference, p.within, ok = comparison.Within(e, x, y)
	if _, quantile := e.Quantile(); quantile && !ok { // too few operations in a stretch
		e.Stat = "mean"
		name = "mean(" + e.Of + ")"
		p.difference, p.within, ok = comparison.Within(e, x, y)
	}
	if !ok {
		if !something(x) || !something(y) {
			return p, false
		}
		p.within = math.Inf(1)
	}
	p.of = name + " of " + onEngine(fresh.arm, fresh.engine)
	p.seconds = min(len(base.seconds), len(fresh.seconds))
	return p, true
}

// something reports whether operations are in any of the stretches.
func something(all []comparison.Portion) bool {
	return slices.ContainsFunc(all, func(s comparison.Portion) bool { return s.Count > 0 })
}

// secondsOf returns the seconds of two runs that both have something of for an endpoint.
func secondsOf(base, fresh *stopRun, e plan.Endpoint) (x, y []comparison.Portion) {
	first := 0
	end := min(len(base.seconds), len(fresh.seconds))
	if e.Stat == "cost" {
		for _, r := range []*stopRun{base, fresh} {
			lo, hi := r.sampled(e.Of)
			first = max(first, lo)
			end = min(end, hi)
		}
	}
	for i := first; i < end; i++ {
		x = append(x, base.stretch(e, i))
		y = append(y, fresh.stretch(e, i))
	}
	return x, y
}

// sampled returns the seconds of the phase that lie between samples of a role's CPU time: from
// first to below end.
func (r *stopRun) sampled(role string) (first, end int) {
	c := r.cpu[role]
	if c == nil {
		return 0, 0
	}
	from, to, ok := c.Bounds()
	if !ok {
		return 0, 0
	}
	begin := r.clock.Date(r.from)
	return int(math.Ceil(from.Sub(begin).Seconds())), int(math.Floor(to.Sub(begin).Seconds()))
}

// stretch returns a second of the phase for an endpoint.
func (r *stopRun) stretch(e plan.Endpoint, i int) comparison.Portion {
	s := r.seconds[i][e.Name]
	if e.Stat == "cost" {
		at := r.clock.Date(r.from + time.Duration(i)*time.Second)
		s.Sum = r.cpu[e.Of].At(at.Add(time.Second)) - r.cpu[e.Of].At(at)
	}
	return s
}

// finish adds a block whose runs are all valid to the past ones, after the last of them has ended.
func (x *stopRule) finish() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.pairs() {
		if math.IsInf(p.within, 1) {
			continue
		}
		x.past.differences[p.of] = append(x.past.differences[p.of], p.difference)
		x.past.within[p.of] = append(x.past.within[p.of], p.within)
	}
}
