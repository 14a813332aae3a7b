package capacity

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/stats"
)

// The cost of arrivals is measured in pairs of windows at the same users, the first of which saw
// users join.
const (
	arrivalPairs = 4
	// leastExcess is the least difference of a pair, in logs of value over limit, that is worth a
	// window.
	leastExcess = 0.02
	// mostSettle is the longest time to settle, in windows.
	mostSettle = 4
	// longSearch is the least budget, in windows, of a search that can spare some for arrivals.
	longSearch = 60
)

// arrivals is the measurement of the cost of a user who joins.
type arrivals struct {
	firsts []sample  // windows after users joined, the last of the present pair
	open   bool      // the pair lacks its second window
	excess []float64 // log ratio of the first window over the second
	known  bool
}

// joining reports whether the window is the first of a pair, and so no evidence of these users.
// After four pairs it knows whether the first windows read higher than the second ones; if so, a
// search waits one window longer after each rise, and measures again.
func (s *Search) joining(w sample) bool {
	a := &s.arrived
	if s.dir <= 0 || a.known || s.cfg.Budget < longSearch*s.cfg.Window {
		return false
	}
	if !a.open {
		a.firsts, a.open = append(a.firsts, w), true
		return true
	}
	a.open = false
	first := a.firsts[len(a.firsts)-1]
	if i := w.worst; i >= 0 && i < len(first.ratios) && first.ratios[i] > 0 && w.ratios[i] > 0 {
		a.excess = append(a.excess, math.Log(first.ratios[i]/w.ratios[i]))
	} else {
		a.excess = append(a.excess, 0)
	}
	if len(a.excess) < arrivalPairs {
		return false
	}
	mean, sd := spread(a.excess)
	t := stats.TQuantile(0.95, arrivalPairs-1)
	costs := mean >= leastExcess && mean >= t*sd/math.Sqrt(arrivalPairs)
	if !costs || s.settling >= mostSettle*s.cfg.Window {
		a.known = true
		s.samples = append(s.samples, a.firsts...) // they are evidence as good as any
		slices.SortStableFunc(s.samples, func(p, q sample) int { return cmp.Compare(p.at, q.at) })
		return false
	}
	a.excess, a.firsts = nil, nil
	s.settling += s.cfg.Window
	return false
}
