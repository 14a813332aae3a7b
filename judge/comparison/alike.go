package comparison

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// What kinds of operations have to have in common before a sentence says so, in place of the kinds
// with the largest shares.
const (
	// alikeWithin is how far the change of a kind may lie from the middle of all, as a share of it.
	alikeWithin = 0.2
	// alikeOperations is the least share of the operations whose kinds lie there.
	alikeOperations = 0.9
	// leastAlike is the least number of such kinds.
	leastAlike = 3
)

// alikeKinds returns what the kinds that changed have in common, nil if nothing: that they take so
// many milliseconds longer, as behind a slow network, or so many times as long. Of the two it is
// the one that differs less from kind to kind. Their changes are means over the blocks.
func alikeKinds(
	weights map[string]float64, shifts, added map[string][]float64, changed []verdict.KindShift,
) *verdict.AlikeKinds {
	ratios, times := map[string]float64{}, map[string]float64{}
	for kind := range weights {
		ratios[kind] = math.Expm1(stats.Mean(shifts[kind]))
		times[kind] = stats.Mean(added[kind])
	}
	byRatio, byTime := alike(weights, ratios, changed), alike(weights, times, changed)
	if byTime != nil {
		byTime.Unit = "ms"
	}
	if byRatio == nil || byTime != nil && spread(*byTime) <= spread(*byRatio) {
		return byTime
	}
	return byRatio
}

// spread is the width of a range as a share of its ends, which have one sign.
func spread(a verdict.AlikeKinds) float64 { return math.Abs((a.Most - a.Least) / (a.Most + a.Least)) }

// alike returns the range of the changes of those kinds that changed, and lie within [alikeWithin]
// of the weighted median of all; nil if they are too few.
func alike(
	weights, changes map[string]float64, changed []verdict.KindShift,
) *verdict.AlikeKinds {
	kinds := slices.Collect(maps.Keys(weights))
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(changes[a], changes[b]), cmp.Compare(a, b))
	})
	below, middle := 0.0, 0.0
	for _, kind := range kinds {
		if below < 0.5 {
			middle = changes[kind]
		}
		below += weights[kind]
	}
	var in []float64
	share := 0.0
	for _, kind := range kinds {
		named := slices.ContainsFunc(changed, func(k verdict.KindShift) bool { return k.Kind == kind })
		if named && math.Abs(changes[kind]-middle) <= alikeWithin*math.Abs(middle) {
			in = append(in, changes[kind])
			share += weights[kind]
		}
	}
	if len(in) < leastAlike || share < alikeOperations {
		return nil
	}
	return &verdict.AlikeKinds{Kinds: len(in), Least: in[0], Most: in[len(in)-1]}
}
