package comparison

import (
	"fmt"

	"plimsoll/judge/verdict"
)

// warnUnstable warns of the number of runs of each arm whose search was unstable; such a run gives no number and
// leaves its pair out. Where the new arm has more of them than the base, the other pairs do not show whether the
// build loses its capacity now and then: the verdict is neither same nor better.
func warnUnstable(r *verdict.Result, pairs []numbersPair, label [2]string) {
	var n [2]int
	why := ""
	for _, p := range pairs {
		for i, side := range []Numbers{p.base, p.fresh} {
			if side.Unstable {
				n[i]++
				why = side.Why[r.Name]
			}
		}
	}
	if r.Name == "capacity" {
		unstableOf(r, n, [2]int{len(pairs), len(pairs)}, label, why)
	}
}

// unstableOf is [warnUnstable] for counts: n of the runs of each arm. Without any it does nothing.
func unstableOf(r *verdict.Result, n, of [2]int, label [2]string, why string) {
	if n[0]+n[1] == 0 {
		return
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("the searches of %d of %d runs of %s and %d of %s are unstable, no number, and their pairs left out (%s)",
		n[0], of[0], label[0], n[1], label[1], why))
	if n[1] > n[0] {
		*r = r.Withhold(fmt.Sprintf("%s has more unstable searches than %s (%d, %d): what the other pairs show is not all of it", label[1], label[0], n[1], n[0]))
	}
}
