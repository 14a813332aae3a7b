package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// leastTypical is the number of response times that a kind of operations needs in every run of all
// blocks to count in typical(OP). With fewer the noise grows where times have two modes, and with
// more the operations that count become few (docs/adr/0036-typical.md).
const leastTypical = 10

// tooRare explains that typical(OP) is not judged without a kind of operations to compare.
var tooRare = fmt.Sprintf("no kind of operations has %d response times in every run", leastTypical)

// fewCompared is the share of operations below which a result warns that it is not of all of them.
const fewCompared = 0.9

// keepKinds keeps the response times of each kind of operations that an endpoint typical(OP)
// compares, which are the operations of p95(OP). It returns the reason if they are too few.
func (n *Numbers) keepKinds(e plan.Endpoint, merged map[string]*measure.Window) (why string) {
	if n.Kinds == nil {
		n.Kinds = map[string]stats.SparseCounts{}
	}
	selected, most := trial.Selector(e.Of), uint64(0)
	for name, w := range merged {
		if k := w.Response.Count(); selected(name) && k > 0 {
			n.Kinds[name] = record.Sparse(w.Response)
			n.Had[e.Name] += k
			most = max(most, k)
		}
	}
	switch {
	case most == 0:
		return "no such operation was measured"
	case most < leastTypical:
		return tooRare
	}
	return ""
}

// withTypical returns the pairs with their values of an endpoint typical(OP), and the kinds of
// operations that were compared; the pairs themselves and nil for other endpoints, and where no
// pair has response times. The arguments are not changed.
//
// The shift of a pair is the mean over the kinds of [stats.LogShift]. The weights are the counts
// of a kind in all runs of all pairs, so that the mix of one block is not in the sample. The value
// of base is the weighted geometric mean of the medians of both runs, moved back by half of the
// shift, and the other is the same mean moved forward: their ratio is the shift.
func withTypical(e plan.Endpoint, pairs []numbersPair) ([]numbersPair, *verdict.Kinds) {
	timed := func(p numbersPair) bool { return p.timed(e) }
	if e.Stat != plan.Typical || !slices.ContainsFunc(pairs, timed) {
		return pairs, nil
	}
	weights, kinds := typicalKinds(e, pairs)
	shifts, added := map[string][]float64{}, map[string][]float64{}
	out := slices.Clone(pairs)
	for i := range out {
		p := &out[i]
		base, fresh := math.NaN(), math.NaN()
		if p.timed(e) && kinds.Compared > 0 {
			base, fresh = p.typical(weights, shifts, added)
		}
		p.base.Values, p.fresh.Values = maps.Clone(p.base.Values), maps.Clone(p.fresh.Values)
		p.base.Values[e.Name], p.fresh.Values[e.Name] = base, fresh
		if kinds.Compared == 0 {
			why := map[string]string{e.Name: tooRare}
			p.base.Why, p.fresh.Why = why, why
		}
	}
	if kinds.Compared == 0 {
		return out, nil
	}
	kinds.Changed = changedKinds(weights, shifts)
	kinds.Alike = alikeKinds(weights, shifts, added, kinds.Changed)
	return out, &kinds
}

// doubtOfKinds is the share of false ones among the kinds that are said to have changed.
const doubtOfKinds = 0.05

// changedKinds returns the kinds whose own shift is none by chance: a t test over the blocks, with
// a controlled rate of false ones among all kinds ([stats.BenjaminiHochberg]). A single kind is the
// endpoint itself.
func changedKinds(weights map[string]float64, shifts map[string][]float64) []verdict.KindShift {
	if len(weights) < 2 {
		return nil
	}
	var all []verdict.KindShift
	var ps []float64
	whole := 0.0
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		s, err := stats.NewSample(shifts[kind]...)
		if err != nil || s.N() < stats.MinPairs {
			return nil
		}
		in := stats.TInterval(s, 1-doubtOfKinds)
		part := weights[kind] * s.Mean()
		whole += part
		all = append(all, verdict.KindShift{Kind: kind, Effect: math.Expm1(s.Mean()),
			Lo: math.Expm1(in.Lo), Hi: math.Expm1(in.Hi), Share: part})
		ps = append(ps, stats.TTest(s))
	}
	for i, q := range stats.BenjaminiHochberg(ps) {
		all[i].Q = q
		all[i].Share /= whole
	}
	all = slices.DeleteFunc(all, func(k verdict.KindShift) bool { return !(k.Q <= doubtOfKinds) })
	slices.SortStableFunc(all, func(a, b verdict.KindShift) int {
		return -cmp.Compare(math.Abs(a.Share), math.Abs(b.Share))
	})
	return all
}

// timed reports whether both runs of a pair have response times of an endpoint.
func (p numbersPair) timed(e plan.Endpoint) bool {
	has := func(n Numbers) bool { return !n.Disturbed && n.Had[e.Name] > 0 }
	return has(p.base) && has(p.fresh)
}

// typicalKinds returns the weights of the kinds of operations that every run of all timed pairs has
// enough of. They add up to 1.
func typicalKinds(e plan.Endpoint, pairs []numbersPair) (map[string]float64, verdict.Kinds) {
	selected := trial.Selector(e.Of)
	count := map[string]float64{}
	enough := map[string]int{} // runs
	all, runs := 0.0, 0
	for _, p := range pairs {
		if !p.timed(e) {
			continue
		}
		runs += 2
		for _, n := range []Numbers{p.base, p.fresh} {
			for kind, times := range n.Kinds {
				if !selected(kind) {
					continue
				}
				k := times.Total()
				count[kind] += k
				all += k
				if k >= leastTypical {
					enough[kind]++
				}
			}
		}
	}
	kinds := verdict.Kinds{Least: leastTypical}
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		if enough[kind] < runs {
			kinds.Left = append(kinds.Left, kind)
			delete(count, kind)
		}
		sum += count[kind]
	}
	for kind := range count {
		count[kind] /= sum
	}
	kinds.Compared, kinds.Share = len(count), sum/all
	return count, kinds
}

// typical returns the values of a pair in milliseconds, and adds to shifts and added what each kind
// of operations shifts by: on the log scale, and in milliseconds where half of its times lie.
func (p numbersPair) typical(
	weights map[string]float64,
	shifts, added map[string][]float64,
) (base, fresh float64) {
	middle, shift := 0.0, 0.0
	for _, kind := range slices.Sorted(maps.Keys(weights)) { // sums of floats depend on their order
		x, y := p.base.Kinds[kind], p.fresh.Kinds[kind]
		half := (x.LogMedian() + y.LogMedian()) / 2
		middle += weights[kind] * half
		own := stats.LogShift(x, y)
		shifts[kind] = append(shifts[kind], own)
		added[kind] = append(added[kind], math.Exp(half+own/2)-math.Exp(half-own/2))
		shift += weights[kind] * own
	}
	return math.Exp(middle - shift/2), math.Exp(middle + shift/2)
}

// warnFew warns where many operations are not compared.
func warnFew(r *verdict.Result) {
	if r.Kinds != nil && r.Kinds.Share < fewCompared {
		r.Warn(verdict.OddNumbers, r.Kinds.Sentence())
	}
}
