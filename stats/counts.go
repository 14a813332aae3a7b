package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// SparseCounts is a distribution as sparse counts: N[i] operations took Value[i]. Values are above
// zero and ascend. The histogram of one interval becomes SparseCounts by leaving out its empty
// buckets. The zero value is empty.
type SparseCounts struct {
	Value []float64
	N     []uint32
}

// check returns an error if the counts are invalid.
func (c SparseCounts) check() error {
	if len(c.Value) != len(c.N) {
		return fmt.Errorf("%d values have %d counts", len(c.Value), len(c.N))
	}
	last := 0.0
	for _, v := range c.Value {
		if !(v > last) || math.IsInf(v, 0) {
			return fmt.Errorf("the value %v after %v: want ascending numbers above zero", v, last)
		}
		last = v
	}
	return nil
}

// Resamples is the number of resamples that the bootstraps of this package draw.
const Resamples = 1000

// minBlock is the shortest block of [BlockBootstrap], in intervals.
const minBlock = 6

// QuantileIntervals is the precision of the quantiles within one run. It does not cover the
// variation between runs.
type QuantileIntervals struct {
	// Quantile are the quantiles of all intervals merged: the smallest value that a share p does
	// not exceed.
	Quantile []float64
	// SE are standard errors of the logarithms of Quantile (0.02 is 2 %), and Intervals their
	// percentile intervals, in the unit of the values.
	SE        []float64
	Intervals []Interval
	// Block is the length of the blocks, in intervals.
	Block int
}

// ErrFewIntervals reports a run too short for blocks: fewer than four blocks of intervals that
// depend on each other.
var ErrFewIntervals = errors.New("too few intervals for a bootstrap of blocks")

// BlockBootstrap returns the quantiles at probs, each in (0, 1), of the intervals of one run in the
// order of time, with their errors by the moving-block bootstrap (Künsch, Ann. Statist. 17, 1989):
// blocks of neighboring intervals are drawn with replacement until there are as many intervals as
// in the run, and all their operations merged, [Resamples] times. A block holds as many intervals
// as depend on each other: [AutocorrelationTime] of the counts above each quantile, the largest of
// them, and at least six. seed is that of the draws: the same input gives the same output.
//
// The bootstrap of few blocks gives intervals that are too narrow (docs/method/statistics.md has
// the coverage). Below four blocks the error is [ErrFewIntervals]; other errors name an invalid
// value in the counts or in probs.
func BlockBootstrap(
	intervals []SparseCounts,
	probs []float64,
	level float64,
	seed uint64,
) (QuantileIntervals, error) {
	t, err := newTable(intervals, probs)
	if err != nil {
		return QuantileIntervals{}, err
	}
	if !(level > 0 && level < 1) {
		return QuantileIntervals{}, fmt.Errorf("level %v: want a number between 0 and 1", level)
	}
	w := QuantileIntervals{
		Quantile: make([]float64, len(probs)), SE: make([]float64, len(probs)),
		Intervals: make([]Interval, len(probs)), Block: t.block(),
	}
	for k, at := range t.whole {
		w.Quantile[k] = t.value[at]
	}
	if t.n < 4*w.Block {
		return w, fmt.Errorf("%w: %d, in blocks of %d", ErrFewIntervals, t.n, w.Block)
	}
	draws := make([][]float64, len(probs))
	for k := range draws {
		draws[k] = make([]float64, Resamples)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(t.n)))
	one := make([]float64, len(probs))
	for i := range Resamples {
		t.resample(rng, w.Block, one)
		for k, v := range one {
			draws[k][i] = v
		}
	}
	for k, d := range draws {
		w.SE[k] = Sample{Values: d}.SD()
		slices.Sort(d)
		lo := int((1 - level) / 2 * Resamples)
		w.Intervals[k] = Interval{
			Lo:    math.Exp(d[lo]),
			Hi:    math.Exp(d[Resamples-1-lo]),
			Level: level,
		}
	}
	return w, nil
}

// table holds the intervals of one run for resampling: how many operations of interval i took at
// most value[k].
type table struct {
	n     int       // intervals
	value []float64 // that occur, ascending
	logs  []float64 // of value
	upTo  [][]uint32
	total []uint32 // operations of each interval
	probs []float64
	whole []int // where the quantiles of all intervals together lie in value
	times []uint32
}

func newTable(intervals []SparseCounts, probs []float64) (*table, error) {
	for _, p := range probs {
		if !(p > 0 && p < 1) {
			return nil, fmt.Errorf("quantile %v: want a number between 0 and 1", p)
		}
	}
	t := &table{
		n:     len(intervals),
		probs: probs,
		whole: make([]int, len(probs)),
		times: make([]uint32, len(intervals)),
	}
	ops := uint64(0)
	for i, c := range intervals {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("interval %d: %w", i+1, err)
		}
		t.value = append(t.value, c.Value...)
		sum := uint64(0)
		for _, n := range c.N {
			sum += uint64(n)
		}
		if sum > math.MaxUint32 {
			return nil, fmt.Errorf("interval %d: %d operations are more than 2^32", i+1, sum)
		}
		ops += sum
	}
	if ops == 0 {
		return nil, errors.New("there are no operations")
	}
	slices.Sort(t.value)
	t.value = slices.Compact(t.value)
	t.logs = make([]float64, len(t.value))
	t.upTo = make([][]uint32, len(t.value))
	cells := make([]uint32, len(t.value)*t.n)
	for k, v := range t.value {
		t.logs[k] = math.Log(v)
		t.upTo[k] = cells[k*t.n : (k+1)*t.n]
	}
	for i, c := range intervals {
		sum, next := uint32(0), 0
		for k, v := range t.value {
			if next < len(c.Value) && c.Value[next] == v {
				sum += c.N[next]
				next++
			}
			t.upTo[k][i] = sum
		}
	}
	t.total = t.upTo[len(t.value)-1]
	for i := range t.times {
		t.times[i] = 1
	}
	for k, p := range probs {
		t.whole[k] = t.quantile(p, len(t.value)/2)
	}
	return t, nil
}

// counted returns how many operations the intervals have that row counts, each interval as often as
// in times.
func (t *table) counted(row []uint32) uint64 {
	sum := uint64(0)
	for i, n := range t.times {
		sum += uint64(n) * uint64(row[i])
	}
	return sum
}

// quantile returns the place in value of the smallest value that a share p of the operations does
// not exceed, looking near guess first.
func (t *table) quantile(p float64, guess int) int {
	rank := max(1, uint64(math.Ceil(p*float64(t.counted(t.total)))))
	enough := func(k int) bool { return t.counted(t.upTo[k]) >= rank }
	lo, hi := -1, len(t.value)-1 // lo is too low, hi is enough
	if enough(guess) {
		hi = guess
		for step := 1; hi-step > lo; step *= 2 {
			if !enough(hi - step) {
				lo = hi - step
				break
			}
			hi -= step
		}
	} else {
		lo = guess
		for step := 1; lo+step < hi; step *= 2 {
			if enough(lo + step) {
				hi = lo + step
				break
			}
			lo += step
		}
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// block returns the length of blocks, in intervals.
func (t *table) block() int {
	longest := float64(minBlock)
	over := make([]float64, t.n)
	ops := float64(sum(t.total))
	for _, at := range t.whole {
		share := float64(sum(t.upTo[at])) / ops
		for i, n := range t.upTo[at] {
			over[i] = float64(n) - share*float64(t.total[i])
		}
		if tau := AutocorrelationTime(over); tau > longest { // NaN for hardly any intervals
			longest = tau
		}
	}
	return int(math.Ceil(longest))
}

// resample draws one run of blocks and writes the logarithms of its quantiles to out. A draw
// without any operation leaves the quantiles of the run.
func (t *table) resample(rng *rand.Rand, block int, out []float64) {
	clear(t.times)
	block = min(block, t.n)
	for left := t.n; left > 0; left -= block {
		from := rng.IntN(t.n - block + 1)
		for i := from; i < from+min(block, left); i++ {
			t.times[i]++
		}
	}
	none := t.counted(t.total) == 0
	for k, p := range t.probs {
		at := t.whole[k]
		if !none {
			at = t.quantile(p, at)
		}
		out[k] = t.logs[at]
	}
}

func sum(values []uint32) uint64 {
	total := uint64(0)
	for _, v := range values {
		total += uint64(v)
	}
	return total
}
