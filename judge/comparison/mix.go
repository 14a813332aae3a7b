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

// leastRepeated is the number of pairs from which on the weights are fitted again without each.
const leastRepeated = 3

// withMix returns the pairs with costs of operations that count by their weights, and the mixes by
// the names of the costs. The arguments are not changed. Users decide by chance what they do, and
// operations differ in cost a hundredfold: two runs of one build differ by their mixes alone. A
// kind of operations has one weight in both arms and all blocks, what it costs in proportion to
// all. docs/adr/0046-mix.md has the measurements. A cost of which a run has no parts stays as it
// is.
//
// An error of the weights is the same in all pairs, and their scatter does not show it where the
// mixes of the arms differ alike in all. Therefore the difference of a pair becomes its
// pseudo-value, n times the mean of all less n-1 times the mean without the pair and with weights
// that are fitted without it: the interval of these is the jackknife's (Tukey, Annals of
// Mathematical Statistics 29, 1958, 614; Miller, Biometrika 61, 1974, 1, section 2).
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
		m, ok := newCommonMix(name, pairs)
		if !ok {
			continue
		}
		removed, ok := m.pseudoValues()
		if !ok {
			continue
		}
		mix := &verdict.RemovedMix{Kinds: m.own}
		for k, i := range m.at {
			p := &out[i]
			in := [2]float64{m.mixes[0][k].inflation(m.weights), m.mixes[1][k].inflation(m.weights)}
			// What the pseudo-value has beyond the pair's own difference is shared by both.
			more := math.Sqrt(removed[k] / (in[1] / in[0]))
			p.base = p.base.weighed(name, m.weights, in[0]/more)
			p.fresh = p.fresh.weighed(name, m.weights, in[1]*more)
			mix.Removed += math.Log(removed[k]) / float64(len(m.at))
		}
		mixes[name] = mix
	}
	return out, mixes
}

// mixOf returns the mix behind a cost; there is none where the run has no cost.
func (n Numbers) mixOf(name string) (mix *CostMix, there bool) {
	v, there := n.Costs[name]
	if !there {
		v, there = n.Metrics[name]
	}
	return v.Mix, there
}

// weighed returns the numbers with a cost of which a part is taken out.
func (n Numbers) weighed(name string, weights map[string]float64, part float64) Numbers {
	again := func(values map[string]SecondaryValue) map[string]SecondaryValue {
		v, ok := values[name]
		if !ok {
			return values
		}
		values = maps.Clone(values)
		v.Value /= part
		values[name] = v
		return values
	}
	mix, _ := n.mixOf(name)
	n.Costs, n.Metrics = again(n.Costs), again(n.Metrics)
	if v, ok := n.Values[name]; ok {
		n.Values = maps.Clone(n.Values)
		n.Values[name] = v / part
	}
	if n.Portions != nil && n.Portions[name] != nil {
		n.Portions = maps.Clone(n.Portions)
		n.Portions[name] = mix.portions(weights)
	}
	return n
}

// A commonMix are the mixes behind a cost, by arm and pair, and the weights that are fitted to all
// of them.
type commonMix struct {
	at      []int // of the pairs with a cost of both arms
	mixes   [2][]*CostMix
	moments [2][]stats.CostMoments
	index   map[string]int // of the kinds with a weight of their own, and of the others
	own     int
	weights map[string]float64
}

// newCommonMix fits the weights; false where a run has no parts, and where there is nothing to tell
// apart.
func newCommonMix(name string, pairs []numbersPair) (m commonMix, ok bool) {
	count, all := map[string]float64{}, 0.0
	for i, p := range pairs {
		x, ok1 := p.base.mixOf(name)
		y, ok2 := p.fresh.mixOf(name)
		if !ok1 || !ok2 {
			continue
		}
		m.at = append(m.at, i)
		for arm, mix := range []*CostMix{x, y} {
			if mix == nil || mix.CPU == nil {
				return m, false
			}
			m.mixes[arm] = append(m.mixes[arm], mix)
			for kind, done := range mix.Done {
				count[kind] += done
				all += done
			}
		}
	}
	m.index = map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		if count[kind] >= leastOfMix*all {
			m.index[kind] = len(m.index)
		}
	}
	if m.own = len(m.index); m.own < 2 {
		return m, false
	}
	if len(count) > m.own {
		m.index[others] = m.own
	}
	for arm, mixes := range m.mixes {
		for _, mix := range mixes {
			m.moments[arm] = append(m.moments[arm], mix.momentsBy(m.index))
		}
	}
	m.weights, ok = m.fit(m.moments)
	return m, ok
}

// fit returns the weights by kind of some runs of both arms.
func (m commonMix) fit(moments [2][]stats.CostMoments) (map[string]float64, bool) {
	each, ok := stats.UnitCosts(moments[0], moments[1])
	if !ok {
		return nil, false
	}
	weights := map[string]float64{}
	for kind, j := range m.index {
		weights[kind] = each[j]
	}
	return weights, true
}

// pseudoValues returns what is taken out of the ratio of each pair, so that its difference becomes
// the pseudo-value. Below [leastRepeated] pairs it is the ratio of the mixes. false where weights
// cannot be fitted without a pair.
func (m commonMix) pseudoValues() (removed []float64, ok bool) {
	n := len(m.at)
	logs := func(weights map[string]float64) []float64 {
		out := make([]float64, n)
		for k := range out {
			out[k] = math.Log(m.mixes[1][k].inflation(weights) / m.mixes[0][k].inflation(weights))
		}
		return out
	}
	own := logs(m.weights)
	removed = make([]float64, n)
	for k := range removed {
		removed[k] = own[k]
		if n >= leastRepeated {
			rest := [2][]stats.CostMoments{}
			for arm := range rest {
				rest[arm] = slices.Delete(slices.Clone(m.moments[arm]), k, k+1)
			}
			weights, ok := m.fit(rest)
			if !ok {
				return nil, false
			}
			// All differ by their mixes alone: n·mean(d) - (n-1)·mean(d without k).
			without := logs(weights)
			sum := 0.0
			for i := range own {
				sum += own[i]
				if i != k {
					sum -= without[i]
				}
			}
			removed[k] = sum
		}
		if removed[k] = math.Exp(removed[k]); !(removed[k] > 0) || math.IsInf(removed[k], 1) {
			return nil, false
		}
	}
	return removed, n > 0
}

// momentsBy returns the moments of the parts, with the kinds of an index.
func (m CostMix) momentsBy(index map[string]int) stats.CostMoments {
	done := make([][]float64, len(m.CPU))
	for i := range done {
		done[i] = make([]float64, len(index))
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Part)) {
		j, own := index[kind]
		if !own {
			j = index[others]
		}
		for i, n := range m.Part[kind] {
			done[i][j] += n
		}
	}
	return stats.NewCostMoments(done, m.CPU)
}
