package attribution

import (
	"cmp"
	"math"
	"slices"
)

const (
	// leastRatio is the number of samples, of both arms in a block on the average, from which a
	// function has a ratio of its own in the common change. Others enter in bunches of so many.
	leastRatio = 100
	// mostWeight is the largest share of the weights that one ratio of the common change has.
	mostWeight = 0.05
)

// commonChange returns the factor of each block by which the costs of the functions changed
// together: the weighted median of the ratios new/base of the units, without those to skip. The
// weights are the samples of both arms in all blocks: they favor neither arm, and no block.
//
// A ratio of few samples is biased and takes few values, so that units with few samples are summed
// up, in their order, to bunches with enough of them. A function with half of the cost would be the
// median by itself, and its change the common one: no ratio has more than a twentieth of all
// weights, and units that are found to differ from the others are skipped in the next round. So
// the many functions decide, and not those with most of the cost. Where all but few samples are of
// one function, the factor is little known, and the variance between blocks shows it.
//
// Sources: Anders and Huber, Genome Biology 11:R106 (2010), for the median of ratios; Sun,
// Nishiyama, Shimizu and Kadota, BMC Bioinformatics 14:219 (2013), for rounds without the units that
// differ.
func (m *model) commonChange(skip []bool) []float64 {
	bunches := m.bunches(skip)
	most := 0.0
	for _, s := range bunches {
		most += mostWeight * s.total()
	}
	factors := make([]float64, m.blocks)
	for b := range factors {
		var ratios []weighted
		for _, s := range bunches {
			base, fresh := s[0][b]*m.scale[0][b], s[1][b]*m.scale[1][b]
			if base > 0 || fresh > 0 {
				ratios = append(ratios, weighted{fresh / base, min(s.total(), most)})
			}
		}
		factors[b] = weightedMedian(ratios)
		if !(factors[b] > 0) || math.IsInf(factors[b], 0) {
			factors[b] = 1
		}
	}
	return factors
}

// bunches returns the samples of the units that are not skipped, with few of them summed up.
func (m *model) bunches(skip []bool) []samples {
	least := float64(leastRatio * m.blocks)
	var bunches []samples
	open := newSamples(m.blocks)
	for i, u := range m.units {
		switch {
		case skip[i]:
		case u.samples.total() >= least:
			bunches = append(bunches, u.samples)
		default:
			open.add(u.samples)
			if open.total() >= least {
				bunches = append(bunches, open)
				open = newSamples(m.blocks)
			}
		}
	}
	if open.total() > 0 {
		bunches = append(bunches, open)
	}
	return bunches
}

// A weighted value has a weight above 0.
type weighted struct{ value, weight float64 }

// weightedMedian returns the value with half of the weight below and above; between two such
// values, their geometric mean. It is 1 of no values.
func weightedMedian(values []weighted) float64 {
	if len(values) == 0 {
		return 1
	}
	slices.SortFunc(values, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	sum := 0.0
	for _, v := range values {
		sum += v.weight
	}
	below := 0.0
	for i, v := range values {
		below += v.weight
		switch {
		case below == sum/2 && i+1 < len(values):
			return math.Sqrt(v.value * values[i+1].value)
		case below >= sum/2:
			return v.value
		}
	}
	return values[len(values)-1].value
}
