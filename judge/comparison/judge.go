package comparison

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/internal/parallel"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// Numbers are the values of one run for the endpoints: NaN where the run has none.
type Numbers struct {
	Values   map[string]float64
	Censored bool  // the capacity is a lower bound
	Unstable bool  // the search contradicts itself: there is no capacity
	Ops      int64 // of the measured phase, steady state
	Why      map[string]string
	// Had counts the operations of a run for each endpoint that is of one kind of operations, also
	// where they are too few for a value: for a latency, operations with a response time.
	Had map[string]uint64
	// Kinds are the response times by kind of operations, in milliseconds, of the endpoints
	// typical(OP); their values are numbers of a pair.
	Kinds map[string]stats.SparseCounts
	// Metrics are the further numbers of the measured phase by name: mean, p50, p95 and p99 of
	// every operation in the run, and the metrics of each [Reader]. Counts counts the operations by
	// name.
	Metrics map[string]SecondaryValue
	Counts  map[string]int64
	// Calls counts the calls that a [Reader] saw by name.
	Calls map[string]int64
	// Course holds the measured phase cut into intervals, of those operations whose shift is
	// computed.
	Course map[string]*record.Intervals
	// Costs holds the costs of the endpoints' roles, with the evidence on work that follows the
	// clock ([Clockwork]).
	Costs map[string]SecondaryValue
	// Portions hold the measured phase of a run of a duet, which lasted Measured, in parts, by
	// endpoint ([Within]).
	Portions map[string][]Portion
	Measured time.Duration
	// SD is the standard deviation, by their counts alone, of the logarithms of those endpoints
	// that are quantiles ([stats.QuantileSD]); it leaves out those without operations.
	SD map[string]float64
	// Disturbed is true if other processes on the host disturbed the run: then only the cost of its
	// operations is used.
	Disturbed bool
}

// NumbersOf reads the endpoints' numbers of a run; the readers give the numbers of cost(ROLE).
// Latencies and costs are in milliseconds, errors in percent.
func NumbersOf(r *record.Run, endpoints []plan.Endpoint, readers ...Reader) (Numbers, error) {
	n, err := operationsOf(r, endpoints)
	if err != nil {
		return n, err
	}
	if err := n.read(r, readers); err != nil {
		return n, fmt.Errorf("run %s: %w", r.Manifest.ID, err)
	}
	return n, nil
}

// disturbed is the reason for having nothing but the cost of a run's operations.
const disturbed = "others on the host disturbed the runs: their times and capacities are not " +
	"the target's alone; repeat on a quiet host"

// costsAlone keeps the usable numbers of a run that other processes on the host disturbed: the
// costs, because CPU time is counted by process.
func (n Numbers) costsAlone() Numbers {
	out := Numbers{Values: map[string]float64{}, Why: map[string]string{}, Had: maps.Clone(n.Had),
		Disturbed: true,
		Costs:     n.Costs, Portions: map[string][]Portion{}, Measured: n.Measured}
	for name, v := range n.Values {
		if _, isCost := plan.CostOf(name); isCost {
			out.Values[name], out.Portions[name] = v, n.Portions[name]
			if why := n.Why[name]; why != "" {
				out.Why[name] = why
			}
			continue
		}
		out.Values[name], out.Why[name] = math.NaN(), disturbed
	}
	return out
}

// operationsOf reads the numbers of the operations of a run, and of its search.
func operationsOf(r *record.Run, endpoints []plan.Endpoint) (Numbers, error) {
	n := Numbers{Values: map[string]float64{}, Why: map[string]string{}, Had: map[string]uint64{}}
	merged := map[string]*measure.Window{}
	window := windowOf(merged)
	if ph, ok := r.Manifest.Phase("measure"); ok {
		all, err := r.Merged(ph.From, ph.To)
		if err != nil {
			return n, err
		}
		maps.Copy(merged, all)
		n.Measured = ph.To - ph.From
		if err = n.metricsOf(r, ph, merged, endpoints, window); err != nil {
			return n, err
		}
		n.Counts = make(map[string]int64, len(merged))
		for op, w := range merged {
			if !workload.Beyond(op) {
				n.Counts[op] = int64(w.Count())
			}
		}
	}
	n.Ops = int64(window("op").Count())
	for _, e := range endpoints {
		v, why := math.NaN(), ""
		switch e.Stat {
		case "capacity":
			c := r.Manifest.Capacity
			switch {
			case c == nil || c.Kind == record.Invalid:
				why = "the run has no capacity"
			case VoidOf(c) != "": // also a bound: it is others' doing, not the arm's
				why = VoidOf(c)
			case c.Kind != record.Estimate &&
				c.Kind != record.AtLeast: // fail closed: an unknown kind is not a number
				why, n.Unstable = fmt.Sprintf("the search is %s: %s", c.Kind, c.Why), true
			default:
				v, n.Censored = c.Users, c.Kind == record.AtLeast
			}
		case "errors":
			if w := window("op"); w.Count() > 0 {
				v = 100 * float64(w.Errors()) / float64(w.Count())
			} else {
				why = "no operation was measured"
			}
		case "cost": // a Reader fills it in
			why = "the CPU time of the role " + e.Of + " is not visible here"
		case plan.Typical:
			why = n.keepKinds(e, merged)
		case "throughput":
			v, why = throughput(r, e.Of, window(e.Of))
			n.Had[e.Name] = window(e.Of).Count()
		default:
			v, n.Had[e.Name], why = latency(e, window)
		}
		n.Values[e.Name] = v
		if why != "" {
			n.Why[e.Name] = why
		}
	}
	return n, nil
}

func windowOf(merged map[string]*measure.Window) func(op string) *measure.Window {
	cache := map[string]*measure.Window{}
	return func(op string) *measure.Window {
		if cache[op] == nil {
			cache[op] = workload.Together(op, merged, trial.Selector(op))
		}
		return cache[op]
	}
}

func latency(e plan.Endpoint,
	window func(string) *measure.Window) (ms float64, ops uint64, why string) {
	if e.Stat == "" {
		return math.NaN(), 0, e.Name + " is no statistic of operations"
	}
	v, n, ok := trial.Value(plan.SLO{Stat: e.Stat, Arg: e.Of, Service: e.Service}, window)
	if !ok {
		return math.NaN(), 0, "no such operation was measured"
	}
	if p, ok := e.Quantile(); ok {
		if least := stats.LeastOps(p); n < least {
			return math.NaN(), n, fmt.Sprintf(
				"%d operations are too few for %s: want %d",
				n,
				e.Stat,
				least,
			)
		}
	}
	return v * 1000, n, ""
}

// A Judgement is the conclusion about one arm on one database.
type Judgement struct {
	Engine, Arm string
	Verdict     verdict.Verdict
	// Skipped names endpoints that were not judged, with the reason: no run has a number for them,
	// because neither arm had such an operation, or both had too few; neither arm had an error
	// ([verdict.Verdict.Aside]); or the plan could not decide them, with what that would take
	// ([record.Comparison.Foreseen]). Where one arm had some, ten at least, and the other none, the
	// endpoint is not skipped, but invalid: the other may have lost them.
	Skipped map[string]string
	// OtherLoad is the reason why only the capacities were compared: the sides had other numbers of
	// users in the bounded test. Empty if they had the same.
	OtherLoad string
	// Secondary is the result for all other metrics, and Shifts locate differences in the
	// distributions; they decide no verdict.
	Secondary verdict.Family
	Shifts    []verdict.Shift
}

// byPlan is the reason for not judging an endpoint whose margin is none.
const byPlan = "by the plan"

// Judge reads the runs of a comparison and judges every arm except the base on every database, and,
// when there are several, every database against the first within each arm. Sides that had
// different numbers of users in the bounded test are judged by their capacity alone. load opens a
// run by id; [Loader] opens only unaltered runs. readers add metrics. With planned looks it judges
// the blocks of the last look that was taken, at its level; later blocks wait for the next look.
// Only whole blocks are judged ([record.Comparison.WholeBlocks]).
func Judge(c *record.Comparison, p *plan.Plan, load Load,
	readers ...Reader) (arms, databases []Judgement, err error) {
	endpoints := p.Endpoints()
	numbers, err := numbersOf(c, endpoints, load, readers)
	if err != nil {
		return nil, nil, err
	}
	find := func(block int, arm, engine string) (n Numbers, order int, ok bool) {
		for _, run := range c.Runs {
			if n, ok := numbers[run.Run]; ok && run.Block == block && run.Arm == arm &&
				run.Engine == engine {
				return n, run.Order, true
			}
		}
		return Numbers{}, 0, false
	}
	opt, most := planned(c)
	users := func(s side) (n int) {
		if p.Bounded != nil {
			n, _ = p.Bounded.UsersFor(p.EngineOf(s.arm, s.engine))
		}
		return n
	}
	arms, databases = judgeSides(c.Arms, c.Engines, opt,
		func(base, other side, label [2]string) pairing {
			out := pairing{name: other.engine, Judgement: Judgement{Skipped: map[string]string{}}}
			var both []numbersPair
			for b := 1; b <= most; b++ {
				x, first, ok1 := find(b, base.arm, base.engine)
				y, second, ok2 := find(b, other.arm, other.engine)
				if ok1 && ok2 {
					both = append(both,
						numbersPair{
							block: b,
							base:  x,
							fresh: y,
							first: cameFirst(c, first, second),
						})
				}
			}
			both, mixes := withMix(both)
			open, coarse := takes(c, base.engine)
			if a, b := users(base), users(other); a != b {
				out.OtherLoad = fmt.Sprintf(
					"%s had %d users and %s %d: what was measured under different loads is not compared",
					label[0],
					a,
					label[1],
					b,
				)
			} else {
				judged := slices.DeleteFunc(slices.Clone(endpoints),
					func(e plan.Endpoint) bool { return open[e.Name] != "" })
				out.Secondary, out.Shifts = family(both, judged), shifts(both, p.Seed)
			}
			for i, s := range []side{base, other} {
				out.attempts[i], out.unclear[i] = attempts(c, most, s.arm, s.engine)
			}
			for _, name := range p.NotJudged() {
				out.Skipped[name] = byPlan
			}
			for _, e := range endpoints {
				if out.OtherLoad != "" && e.Name != "capacity" {
					out.Skipped[e.Name] = out.OtherLoad
					continue
				}
				out.ofRuns(e, both, label, open[e.Name], coarse[e.Name], mixes[e.Name])
			}
			return out
		})
	return arms, databases, nil
}

// ofRuns adds an endpoint of the runs of a comparison.
func (p *pairing) ofRuns(e plan.Endpoint, both []numbersPair, label [2]string,
	takes, coarse string, mix *verdict.RemovedMix) {
	both, kinds := withTypical(e, both)
	pairs := make([]readingPair, len(both))
	for i, runs := range both {
		pairs[i] = readingPair{block: runs.block, first: runs.first,
			of: [2]reading{runs.base.reading(e), runs.fresh.reading(e)}}
	}
	p.add(e, pairs, label, takes, func(r *verdict.Result, opt verdict.Options) {
		r.Kinds, r.Mix, r.Coarse = kinds, mix, coarse
		if _, isCost := plan.CostOf(e.Name); isCost {
			warnUnseen(r, both)
			*r = judgeClockwork(*r, both, label, opt)
		}
		warnFew(r)
		tellLevels(r, both)
	})
}

// reading returns the number of the run for an endpoint.
func (n Numbers) reading(e plan.Endpoint) reading {
	r := reading{there: true, value: n.Values[e.Name], had: n.Had[e.Name], why: n.Why[e.Name],
		disturbed: n.Disturbed}
	switch e.Name {
	case "capacity":
		r.censored, r.unstable = n.Censored, n.Unstable
	case "errors":
		r.ops = n.Ops
	}
	return r
}

// cameFirst returns which of two runs of a block came first, by their positions in it; "" where the
// positions are unknown, and in a duet: there both were made at the same time, and which has the
// first of many turns is drawn anew all the time.
func cameFirst(c *record.Comparison, base, fresh int) string {
	switch {
	case c.InTurns() || base == 0 || fresh == 0 || base == fresh:
		return ""
	case base < fresh:
		return verdict.FirstBase
	default:
		return verdict.FirstNew
	}
}

// numbersOf reads the runs that verdicts rest on, several at once.
func numbersOf(c *record.Comparison, endpoints []plan.Endpoint,
	load Load, readers []Reader) (map[string]Numbers, error) {
	numbers := make([]Numbers, len(c.Runs))
	counts, spoiled := c.Judged(), c.Disturbed()
	judged := func(run record.ComparisonRun) bool { return counts(run) || spoiled[run.Run] }
	err := parallel.Each(len(c.Runs), func(i int) error {
		run := c.Runs[i]
		if !judged(run) {
			return nil
		}
		r, err := load(run.Run)
		if err != nil {
			return err
		}
		numbers[i], err = NumbersOf(r, endpoints, readers...)
		if spoiled[run.Run] {
			numbers[i] = numbers[i].costsAlone()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := map[string]Numbers{}
	for i, run := range c.Runs {
		if judged(run) {
			out[run.Run] = numbers[i]
		}
	}
	return out, nil
}
