package statements

import "math"

// A mix has the operations of both arms by their names, over all blocks.
type mix struct {
	base, fresh map[string]float64
	all         [2]float64
}

func newMix(blocks []PairedCensus) mix {
	m := mix{base: map[string]float64{}, fresh: map[string]float64{}}
	for _, b := range blocks {
		m.all[0] += b.Base.Operations
		m.all[1] += b.New.Operations
		for name, n := range b.Base.ByName {
			m.base[name] += n
		}
		for name, n := range b.New.ByName {
			m.fresh[name] += n
		}
	}
	return m
}

// explained returns the part of a change of calls per operation, a logarithm of a ratio, that other
// shares of the operations may be the cause of. calls are those of the base.
//
// Where each operation issues a statement as often as before, the ratio of its calls is a mean of
// the ratios of the operations that issue it. Which ones do is not known, so that it may be the
// least or the largest of these ratios. An operation so rare that it would issue more than
// [mostIssued] calls is not the one; one with fewer than [leastCalls] has no ratio. What a server
// issues by the clock has the ratio of the time.
func (m mix) explained(calls, change float64) float64 {
	clock := math.Log(m.all[0] / m.all[1])
	low, high := min(0, clock), max(0, clock)
	for name, n := range m.base {
		if min(n, m.fresh[name]) < leastCalls || n*mostIssued < calls {
			continue
		}
		ratio := math.Log(m.fresh[name]/n) + clock
		low, high = min(low, ratio), max(high, ratio)
	}
	return min(max(change, low), high)
}
