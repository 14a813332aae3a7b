package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// A SecondaryValue is one number of a run beside the endpoints: of an operation, of a method of the
// target's store, of a server.
type SecondaryValue struct {
	// "p99(store PostStore.Save)", "CPU of app"; of operations it is the key of [Numbers.Metrics]
	Name   string
	Unit   string
	Better plan.Direction
	// Floor is the smallest difference that matters, in Unit, besides verdict.FamilyFloor.
	Floor float64
	Value float64 // above zero; a run that has none leaves it out
	// Count is the number of calls behind the value; 0 if it is not about calls. Mean is true if it
	// is their mean, so that Count times a difference adds up.
	Count float64
	Mean  bool
	// Alone keeps the metric out of the lending of variances ([verdict.Metric]).
	Alone bool
	// Mix is what the operations behind a cost were; nil for others.
	Mix *CostMix
	// ByClock is the share of a cost in a duet that was taken out of it, and Deferred the share of
	// work that was put off ([Clockwork.Shares]).
	ByClock, Deferred float64
	// Unexplained is the share of the CPU time after pauses that no idle rate explains.
	Unexplained, UnexplainedVariance float64
	// Growth is the share of the CPU time in turns that grows with the pause before them.
	Growth, GrowthVariance float64
	// Calls is the name of the calls for reports that they appeared or vanished, "store
	// PostStore.Save"; empty if the value is not about calls.
	Calls string
}

// A Reader reads further numbers of a valid run with a measured phase, for example from its series.
type Reader func(r *record.Run) ([]SecondaryValue, error)

// read adds the metrics of the readers.
func (n *Numbers) read(r *record.Run, readers []Reader) error {
	if n.Metrics == nil {
		return nil
	}
	for _, f := range readers {
		more, err := f(r)
		if err != nil {
			return err
		}
		for _, x := range more {
			if x.Calls != "" {
				if n.Calls == nil {
					n.Calls = map[string]int64{}
				}
				n.Calls[x.Calls] = max(n.Calls[x.Calls], int64(x.Count))
			}
			if x.Value > 0 && x.Name != "" {
				n.Metrics[x.Name] = x
				if _, isCost := plan.CostOf(x.Name); isCost {
					n.fillCost(x)
				}
			}
		}
	}
	return nil
}

// fillCost takes the cost of a role as the number of its endpoint, if there is one.
func (n *Numbers) fillCost(x SecondaryValue) {
	if _, ok := n.Values[x.Name]; ok {
		n.Values[x.Name] = x.Value
		if n.Costs == nil {
			n.Costs = map[string]SecondaryValue{}
		}
		n.Costs[x.Name] = x
		delete(n.Why, x.Name)
		if n.Portions != nil && x.Mix != nil {
			n.Portions[x.Name] = x.Mix.portions(nil)
		}
	}
}

// warnUnseen warns of the number of runs of an arm without a known cost, and of the number of
// blocks whose cost alone is known.
func warnUnseen(r *verdict.Result, pairs []numbersPair) {
	disturbed := 0
	for _, p := range pairs {
		if p.base.Disturbed || p.fresh.Disturbed {
			disturbed++
		}
	}
	if disturbed > 0 {
		r.Warn(verdict.BusyHost, fmt.Sprintf(
			"others on the host disturbed %d of %d blocks: CPU time is counted by process and stands, and no other number of them is judged",
			disturbed,
			len(pairs),
		))
	}
	for i, arm := range []string{r.Base.Name, r.New.Name} {
		unseen, why := 0, ""
		for _, p := range pairs {
			if w := []Numbers{p.base, p.fresh}[i].Why[r.Name]; w != "" {
				unseen, why = unseen+1, w
			}
		}
		if unseen > 0 {
			r.Warn(
				verdict.OddNumbers,
				fmt.Sprintf("%d of %d runs of %s: %s", unseen, len(pairs), arm, why),
			)
		}
	}
}

// family judges every further metric of one side against another, from the blocks in which both
// have a valid run.
func family(pairs []numbersPair, primaries []plan.Endpoint) verdict.Family {
	names := map[string]bool{}
	had := [2]map[string]int64{{}, {}}
	for _, p := range pairs {
		for name := range p.base.Metrics {
			names[name] = true
		}
		for i, n := range []Numbers{p.base, p.fresh} {
			for _, calls := range []map[string]int64{n.Counts, n.Calls} {
				for name, k := range calls {
					had[i][name] += k
				}
			}
		}
	}
	rare := func(name string, _ int64) bool {
		return had[0][name]+had[1][name] < verdict.FewestCalls
	}
	base, fresh := maps.Clone(had[0]), maps.Clone(had[1])
	maps.DeleteFunc(base, rare)
	maps.DeleteFunc(fresh, rare)
	var metrics []verdict.Metric
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if slices.ContainsFunc(primaries, func(e plan.Endpoint) bool { return e.Name == name }) {
			continue
		}
		var m verdict.Metric
		for _, p := range pairs {
			x, ok1 := p.base.Metrics[name]
			y, ok2 := p.fresh.Metrics[name]
			if !ok1 || !ok2 {
				continue
			}
			m.Name = name
			m.Unit = x.Unit
			m.Better = x.Better
			m.Floor = x.Floor
			m.Mean = x.Mean
			m.Alone = x.Alone
			m.Pairs = append(m.Pairs, verdict.Pair{
				Block:   p.block,
				Base:    x.Value,
				New:     y.Value,
				BaseOps: int64(x.Count),
				NewOps:  int64(y.Count),
			})
		}
		if len(m.Pairs) > 0 {
			metrics = append(metrics, m)
		}
	}
	return verdict.JudgeFamily(metrics, base, fresh)
}

// allOps names all operations of the steady state together.
const allOps = "op"

// shiftedOps returns the operations whose shift is computed: all together, and the operations of
// each endpoint that is a percentile.
func shiftedOps(endpoints []plan.Endpoint) []string {
	out := []string{allOps}
	for _, e := range endpoints {
		if _, ok := e.Quantile(); ok && !e.Service && !slices.Contains(out, e.Of) {
			out = append(out, e.Of)
		}
	}
	return out
}

// shifted returns which of them a series belongs to.
func shifted(endpoints []plan.Endpoint) func(series string) []string {
	ops := shiftedOps(endpoints)
	known := map[string][]string{}
	return func(series string) []string {
		groups, ok := known[series]
		if !ok {
			for _, op := range ops {
				if trial.Selector(op)(series) {
					groups = append(groups, op)
				}
			}
			known[series] = groups
		}
		return groups
	}
}

// shifts finds where the distributions of both sides differ.
func shifts(pairs []numbersPair, seed uint64) []verdict.Shift {
	names := map[string]bool{}
	for _, p := range pairs {
		for name := range p.base.Course {
			names[name] = true
		}
	}
	first := func(name string) int { // all together
		if name == allOps {
			return 0
		}
		return 1
	}
	var out []verdict.Shift
	for _, name := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a, b))
	}) {
		var both []stats.RunPair
		for _, p := range pairs {
			x, y := p.base.Course[name], p.fresh.Course[name]
			if x != nil && y != nil {
				both = append(both, stats.RunPair{Base: x.Response, New: y.Response})
			}
		}
		if s, ok := verdict.FindShift(name, both, seed); ok {
			out = append(out, s)
		}
	}
	return out
}
