package comparison

import (
	"cmp"
	"fmt"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
)

// A lack counts the runs of two sides that have no number for a metric, which is judged by those that have one.
type lack struct {
	// of counts all runs of each side, without those that have no number, unstable those of them with an unstable
	// search.
	of, without, unstable [2]int
	why                   string
}

// lackOf returns the missing numbers between two arms, each in the rows of a metric on its database.
func lackOf(rows [2][]imported.PairRow, arms [2]int) (l lack) {
	for i, arm := range arms {
		why := ""
		for _, r := range rows[i] {
			l.of[i]++
			if r.Without[arm] != "" {
				l.without[i]++
			}
			if r.Unstable[arm] {
				l.unstable[i]++
			}
			for _, w := range r.Without {
				if w != "" && (why == "" || w < why) {
					why = w
				}
			}
		}
		l.why = cmp.Or(why, l.why)
	}
	return l
}

// apply adds to a result a warning of the runs without a number, and withholds a verdict that unstable searches leave
// open, as [Judge] does for the runs of a comparison.
func (l lack) apply(r *verdict.Result, label [2]string) {
	unstableOf(r, l.unstable, l.of, label, l.why)
	if n := [2]int{l.without[0] - l.unstable[0], l.without[1] - l.unstable[1]}; n[0]+n[1] > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d runs of %s and %d of %d of %s have no %s, and their pairs are left out (%s)",
			n[0], l.of[0], label[0], n[1], l.of[1], label[1], r.Name, l.why))
	}
}
