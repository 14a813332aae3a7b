package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ShiftProbs returns where the shift function is drawn: 0.10 to 0.90, 0.95, 0.99, 0.999.
func ShiftProbs() []float64 {
	return []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999}
}

// RunPair is one pair of runs as the histograms of their intervals, each in the order of time.
type RunPair struct {
	Base, New []SparseCounts
}

// QuantileShift is a shift function: how much later the quantile P[k] of the new arm is than that
// of the base, as the mean over pairs of ln(new/base), and its band. All of the true function lies
// in the band with the confidence Level, at all P at once. Lo and Hi are NaN where there is no
// band, and all of them when there are fewer than [MinPairs] pairs.
type QuantileShift struct {
	P, D, Lo, Hi []float64
	// Base and New are the mean logarithms of the quantiles of each arm.
	Base, New []float64
	Level     float64
	// Factor is the width of the band on each side, in standard errors.
	Factor float64
}

// innerDraws is the number of resamples of each run that [ShiftFunction] makes, for the pairs that
// are drawn to choose from.
const innerDraws = 100

// ShiftFunction returns the shift function of pairs of runs at probs with a simultaneous band. The
// band is that of the largest studentized deviation: pairs are drawn with replacement, and of each
// run blocks of intervals (as in [BlockBootstrap]), [Resamples] times; the band is as many standard
// errors wide as the largest deviation at any of probs has in a share level of them. The spread
// between pairs decides its width: seconds within a run are not replicates. seed is that of the
// draws.
//
// Values on the steps of a histogram have ties: pairs that would otherwise agree to the last digit
// have the error of the steps.
//
// The band of six pairs is wider than it had to be, because so few pairs determine little of the
// tails of their spread; docs/method/statistics.md has the coverage. A draw that is the same pair
// every time has the spread of its blocks alone.
//
// Source: Doksum, Ann. Statist. 2 (1974), for the function; Davison and Hinkley, Bootstrap Methods
// (1997), 3.8 and 5.2.
func ShiftFunction(
	pairs []RunPair,
	probs []float64,
	level float64,
	seed uint64,
) (QuantileShift, error) {
	if len(pairs) == 0 || len(probs) == 0 || !(level > 0 && level < 1) {
		return QuantileShift{}, errors.New(
			"a shift function needs pairs, quantiles and a level between 0 and 1",
		)
	}
	s := QuantileShift{
		P: slices.Clone(probs), Level: level, Factor: math.NaN(),
		Base: make([]float64, len(probs)), New: make([]float64, len(probs)),
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(pairs))))
	whole := make([][]float64, len(pairs))   // by pair, then quantile
	drawn := make([][][]float64, len(pairs)) // by pair, then draw, then quantile
	rounding := math.Inf(1)
	for i, p := range pairs {
		base, err := newTable(p.Base, probs)
		if err != nil {
			return QuantileShift{}, fmt.Errorf("pair %d, base: %w", i+1, err)
		}
		fresh, err := newTable(p.New, probs)
		if err != nil {
			return QuantileShift{}, fmt.Errorf("pair %d, new: %w", i+1, err)
		}
		rounding = min(rounding, base.resolution(), fresh.resolution())
		whole[i] = make([]float64, len(probs))
		for k := range probs {
			x, y := base.logs[base.whole[k]], fresh.logs[fresh.whole[k]]
			whole[i][k] = y - x
			s.Base[k] += x / float64(len(pairs))
			s.New[k] += y / float64(len(pairs))
		}
		drawn[i] = shifts(rng, base, fresh)
	}
	var se []float64
	s.D, se = meansAndErrors(whole, len(probs), rounding)
	s.Lo, s.Hi = make([]float64, len(probs)), make([]float64, len(probs))
	if len(pairs) >= MinPairs {
		// A band for many quantiles is nowhere narrower than the interval of one.
		s.Factor = max(
			largestDeviation(rng, drawn, s.D, level, rounding),
			TQuantile(1-(1-level)/2, float64(len(pairs)-1)),
		)
	}
	for k, d := range s.D {
		s.Lo[k], s.Hi[k] = d-s.Factor*se[k], d+s.Factor*se[k]
	}
	return s, nil
}

// shifts returns the shift function of resamples of one pair.
func shifts(rng *rand.Rand, base, fresh *table) [][]float64 {
	b, f := base.block(), fresh.block()
	out := make([][]float64, innerDraws)
	other := make([]float64, len(base.probs))
	for i := range out {
		out[i] = make([]float64, len(base.probs))
		fresh.resample(rng, f, out[i])
		base.resample(rng, b, other)
		for k := range other {
			out[i][k] -= other[k]
		}
	}
	return out
}

// largestDeviation returns the quantile at level of the largest studentized deviation from center
// over resampled pairs.
func largestDeviation(
	rng *rand.Rand,
	drawn [][][]float64,
	center []float64,
	level, rounding float64,
) float64 {
	largest := make([]float64, Resamples)
	rows := make([][]float64, len(drawn))
	for r := range largest {
		for i := range rows {
			rows[i] = drawn[rng.IntN(len(drawn))][rng.IntN(innerDraws)]
		}
		mean, se := meansAndErrors(rows, len(center), rounding)
		for k, c := range center {
			d := math.Abs(mean[k] - c)
			switch {
			case se[k] > 0:
				largest[r] = max(largest[r], d/se[k])
			case d > 0:
				largest[r] = math.Inf(1)
			}
		}
	}
	slices.Sort(largest)
	return largest[min(int(math.Ceil(level*Resamples)), Resamples)-1]
}

// resolution is the smallest step between the logarithms of two values that occur; 0 for a single
// one.
func (t *table) resolution() float64 {
	if len(t.logs) < 2 {
		return 0
	}
	least := math.Inf(1)
	for i, v := range t.logs[1:] {
		least = min(least, v-t.logs[i])
	}
	return least
}

// meansAndErrors returns the mean of each column and its standard error. Values are differences of
// two that lie on steps of the size rounding, each evenly anywhere within its step: a column of
// equal values has that error.
func meansAndErrors(rows [][]float64, columns int, rounding float64) (mean, se []float64) {
	n := float64(len(rows))
	steps := rounding * rounding / 6 / n
	mean, se = make([]float64, columns), make([]float64, columns)
	for k := range mean {
		first := rows[0][k]
		sum := 0.0
		squares := 0.0
		for _, row := range rows {
			d := row[k] - first
			sum += d
			squares += d * d
		}
		mean[k] = first + sum/n
		se[k] = math.Sqrt(max(0, squares-sum*sum/n)/(n-1)/n + steps)
	}
	return mean, se
}
