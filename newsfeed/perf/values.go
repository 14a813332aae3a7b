package perf

import (
	"iter"
	"maps"
	"slices"
)

// Values are whole numbers, each with how often it occurred. They lose nothing: all figures are
// exact. The zero value is empty.
type Values struct {
	counts map[int64]int64
	n, sum int64
}

// Add adds a number n times.
func (v *Values) Add(x, n int64) {
	if v.counts == nil {
		v.counts = map[int64]int64{}
	}
	v.counts[x] += n
	v.n += n
	v.sum += x * n
}

// Merge adds all of o's values.
func (v *Values) Merge(o Values) {
	for x, n := range o.counts {
		v.Add(x, n)
	}
}

// Count returns how many values there are.
func (v Values) Count() int64 { return v.n }

// Sum returns the sum of all values.
func (v Values) Sum() int64 { return v.sum }

// Mean returns the arithmetic mean; 0 without values.
func (v Values) Mean() float64 {
	if v.n == 0 {
		return 0
	}
	return float64(v.sum) / float64(v.n)
}

// At returns the i-th of the sorted values, counted from 0; an i beyond the ends is that end. 0
// without values.
func (v Values) At(i int64) int64 {
	last := int64(0)
	for x, n := range v.Sorted() {
		last = x
		if i -= n; i < 0 {
			break
		}
	}
	return last
}

// Percentile returns the smallest value that p per cent of all values do not exceed (nearest rank);
// p is from 1 to
// 100. 0 without values.
func (v Values) Percentile(p int) int64 { return v.At((int64(p)*v.n+99)/100 - 1) }

// Sorted yields each value with how often it occurred, the smallest first.
func (v Values) Sorted() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		for _, x := range slices.Sorted(maps.Keys(v.counts)) {
			if !yield(x, v.counts[x]) {
				return
			}
		}
	}
}
