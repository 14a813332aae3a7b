package comparison

import (
	"maps"
	"math"
	"slices"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/stats"
)

// leastOfMix is the share of all operations from which on a kind has a cost of its own. The others
// are one kind together.
const leastOfMix = 0.01

// A CostMix is what the operations behind a cost were: how many of each kind succeeded, in all and
// in parts of the measured phase that are equally long, and the CPU milliseconds of each part. CPU
// is nil where the phase is too short for parts.
type CostMix struct {
	Done map[string]float64
	CPU  []float64
	Part map[string][]float64
}

// portions returns the parts, with operations that count by their weights: of 1 by default.
func (m CostMix) portions(weights map[string]float64) []Portion {
	if m.CPU == nil {
		return nil
	}
	out := make([]Portion, len(m.CPU))
	for i, cpu := range m.CPU {
		out[i].Sum = cpu
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Part)) { // sums of floats depend on their order
		for i, n := range m.Part[kind] {
			out[i].Count += n * weigh(weights, kind)
		}
	}
	return out
}

// inflation returns what an operation of the mix costs, in proportion to one of the mix of all runs
// that the weights are of.
func (m CostMix) inflation(weights map[string]float64) float64 {
	weighed, all := 0.0, 0.0
	for _, kind := range slices.Sorted(maps.Keys(m.Done)) {
		all += m.Done[kind]
		weighed += m.Done[kind] * weigh(weights, kind)
	}
	return weighed / all
}

// others is the key of the weight of the kinds without one of their own.
const others = ""

func weigh(weights map[string]float64, kind string) float64 {
	if weights == nil {
		return 1
	}
	if w, own := weights[kind]; own {
		return w
	}
	return weights[others]
}

// withMix returns the pairs with costs of operations that count by their weights, and the mixes by
// the names of the costs. The arguments are not changed. Users decide by chance what they do, and
// operations differ in cost a hundredfold: two runs of one build differ by their mixes alone. A
// kind of operations has one weight in both arms and all blocks, what it costs in proportion to
// all, so that weights cannot stand for a difference between arms. A cost of which a run has no
// parts stays as it is. docs/adr/0046-mix.md has the measurements.
func withMix(pairs []numbersPair) ([]numbersPair, map[string]*verdict.RemovedMix) {
	names := map[string]bool{}
	for _, p := range pairs {
		for name := range p.base.Costs {
			names[name] = true
		}
		for name := range p.base.Metrics {
			if _, isCost := plan.CostOf(name); isCost {
				names[name] = true
			}
		}
	}
	out := slices.Clone(pairs)
	mixes := map[string]*verdict.RemovedMix{}
	for name := range names {
		weights := mixWeights(name, pairs)
		if weights == nil {
			continue
		}
		mix := verdict.RemovedMix{Kinds: len(weights)}
		n := 0.0
		for i := range out {
			x, y := out[i].base.mixOf(name), out[i].fresh.mixOf(name)
			if x == nil || y == nil {
				continue
			}
			mix.Removed += math.Log(y.inflation(weights) / x.inflation(weights))
			n++
			out[i].base = out[i].base.weighed(name, weights)
			out[i].fresh = out[i].fresh.weighed(name, weights)
		}
		mix.Removed /= n
		mixes[name] = &mix
	}
	return out, mixes
}

// mixOf returns the mix behind a cost; nil if the run has none.
func (n Numbers) mixOf(name string) *CostMix {
	if c, ok := n.Costs[name]; ok {
		return c.Mix
	}
	return n.Metrics[name].Mix
}

// weighed returns the numbers with another cost.
func (n Numbers) weighed(name string, weights map[string]float64) Numbers {
	mix := n.mixOf(name)
	inflation := mix.inflation(weights)
	again := func(values map[string]SecondaryValue) map[string]SecondaryValue {
		v, ok := values[name]
		if !ok {
			return values
		}
		values = maps.Clone(values)
		v.Value /= inflation
		values[name] = v
		return values
	}
	n.Costs, n.Metrics = again(n.Costs), again(n.Metrics)
	if v, ok := n.Values[name]; ok {
		n.Values = maps.Clone(n.Values)
		n.Values[name] = v / inflation
	}
	if n.Portions != nil && n.Portions[name] != nil {
		n.Portions = maps.Clone(n.Portions)
		n.Portions[name] = mix.portions(weights)
	}
	return n
}

// mixWeights returns the weight of each kind of operations in a cost, from the parts of all runs of
// the pairs that have it; nil where a run has no parts, and where there is nothing to tell apart.
func mixWeights(name string, pairs []numbersPair) map[string]float64 {
	var mixes []*CostMix
	count, all := map[string]float64{}, 0.0
	for _, p := range pairs {
		for _, n := range []Numbers{p.base, p.fresh} {
			m := n.mixOf(name)
			if m == nil {
				continue
			}
			if m.CPU == nil {
				return nil
			}
			mixes = append(mixes, m)
			for kind, done := range m.Done {
				count[kind] += done
				all += done
			}
		}
	}
	index := map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		if count[kind] >= leastOfMix*all {
			index[kind] = len(index)
		}
	}
	if len(index) < 2 {
		return nil
	}
	index[others] = len(index)
	runs := make([]stats.CostCourse, len(mixes))
	for r, m := range mixes {
		runs[r] = m.course(index)
	}
	each, ok := stats.UnitCosts(runs)
	if !ok {
		return nil
	}
	weights := map[string]float64{}
	for kind, j := range index {
		weights[kind] = each[j]
	}
	return weights
}

// course returns the parts with the kinds of an index.
func (m CostMix) course(index map[string]int) stats.CostCourse {
	out := stats.CostCourse{Sums: m.CPU, Done: make([][]float64, len(m.CPU))}
	for i := range out.Done {
		out.Done[i] = make([]float64, len(index))
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Part)) {
		j, own := index[kind]
		if !own {
			j = index[others]
		}
		for i, n := range m.Part[kind] {
			out.Done[i][j] += n
		}
	}
	return out
}
