package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// bracket is the estimate of last resort: the number of users that best parts the healthy windows
// from the violated ones. Its interval holds every number that puts at most one window more on the
// wrong side, and as many more as chance may. It needs no slope and no reversal, only a healthy and
// a violated window, but it cannot be sharper than the distance between windows.
//
// It is open when nothing shows a capacity below the most users that were tried: a search that
// still climbed has not met it, and a cut there would be a number that was never measured.
func (s *Search) bracket() (r Result, open, ok bool) {
	type side struct {
		x        float64
		violated bool
	}
	var all []side
	violations := 0
	for _, w := range s.samples {
		all = append(all, side{math.Log(w.users), w.violated})
		if w.violated {
			violations++
		}
	}
	if violations == 0 || violations == len(all) {
		return Result{}, false, false
	}
	slices.SortStableFunc(all, func(a, b side) int { return cmp.Compare(a.x, b.x) })
	// wrong[i] counts the windows on the wrong side of a cut between all[i-1] and all[i].
	wrong := make([]int, len(all)+1)
	for _, a := range all {
		if !a.violated {
			wrong[0]++ // everything is above the cut, where windows should be violated
		}
	}
	for i, a := range all {
		wrong[i+1] = wrong[i] - 1
		if a.violated {
			wrong[i+1] = wrong[i] + 1
		}
	}
	least := slices.Min(wrong)
	// So many windows more may be on the wrong side by chance, when so many are at the best cut:
	// two standard deviations of their number. Where windows part cleanly there are none.
	chance := int(math.Ceil(2 * math.Sqrt(float64(least))))
	// A cut below or above everything that was tried reaches one long stride further.
	edge := func(i int) (lo, hi float64) {
		lo, hi = all[0].x+math.Log(afterRamp), all[len(all)-1].x-math.Log(afterRamp)
		if i > 0 {
			lo = all[i-1].x
		}
		if i < len(all) {
			hi = all[i].x
		}
		return lo, hi
	}
	bestLo := math.Inf(1)
	bestHi := math.Inf(-1)
	lo := math.Inf(1)
	hi := math.Inf(-1)
	for i, e := range wrong {
		l, h := edge(i)
		if e == least {
			bestLo, bestHi = min(bestLo, l), max(bestHi, h)
		}
		if e <= least+1+chance {
			lo, hi = min(lo, l), max(hi, h)
		}
	}
	return Result{
		Kind:      Estimate,
		Users:     math.Exp((bestLo + bestHi) / 2),
		Lo:        math.Exp(lo),
		Hi:        math.Exp(hi),
		Estimator: Bracket,
		Windows:   len(all),
		Why: fmt.Sprintf(
			"the best cut between the healthy and the violated of %d windows",
			len(all),
		),
	}, wrong[len(all)] == least, true
}
