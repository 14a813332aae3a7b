package comparison

import (
	"cmp"
	"fmt"

	"plimsoll/judge/verdict"
	"plimsoll/run/record"
)

// A Lack lists the runs without a number for a figure that is judged by the runs that have one.
type Lack struct {
	Metric, Database, Unit string
	// Of is how many runs each arm has, Without how many of these have no number, Unstable how many of those by an
	// unstable search.
	Of, Without, Unstable [2]int
	Why                   string
}

// lacks counts the runs without a figure by database, among tests in which some run has it. The result is unknown
// when a run gives no reason for its missing figure; the files of other tools never give one.
func lacks(f record.Figure, databases []string, arms [2]map[armKey]record.Imported) (out []Lack, known bool) {
	asked := map[armKey]bool{} // tests in which the figure was requested
	unstable := func(g record.Imported) bool { return f.Name == "capacity" && g.Unstable != "" }
	for _, arm := range arms {
		for key, g := range arm {
			if _, has := g.Figure(f.Name); has || unstable(g) || f.Name == "capacity" && g.Lacks[f.Name] != "" {
				key.pair = 0
				asked[key] = true
			}
		}
	}
	for _, db := range databases {
		l := Lack{Metric: f.Name, Database: db, Unit: f.Unit}
		for i, arm := range arms {
			for key, g := range arm {
				test := key
				test.pair = 0
				if key.database != db || !asked[test] {
					continue
				}
				l.Of[i]++
				if _, has := g.Figure(f.Name); has {
					continue
				}
				why, said := g.Lacks[f.Name]
				if unstable(g) {
					l.Unstable[i]++
					why, said = g.Unstable, true
				}
				if !said {
					return nil, false
				}
				l.Without[i]++
				if l.Why == "" || why < l.Why { // a map has no order
					l.Why = why
				}
			}
		}
		if l.Without[0]+l.Without[1] > 0 {
			out = append(out, l)
		}
	}
	return out, true
}

// apply adds to a result a warning of the runs without a number, and withholds a verdict that unstable searches leave
// open, as [Judge] does for the runs of a comparison.
func (l Lack) apply(r *verdict.Result, label [2]string) {
	if l.Unstable[0]+l.Unstable[1] > 0 {
		unstableOf(r, l.Unstable, l.Of, label, l.Why)
	}
	if n := [2]int{l.Without[0] - l.Unstable[0], l.Without[1] - l.Unstable[1]}; n[0]+n[1] > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d runs of %s and %d of %d of %s have no %s, and their pairs are left out (%s)",
			n[0], l.Of[0], label[0], n[1], l.Of[1], label[1], l.Metric, l.Why))
	}
}

// lackOf returns the missing numbers of a metric between two arms, each on its database.
func lackOf(all []Lack, metric string, databases [2]string, arms [2]int) Lack {
	out := Lack{Metric: metric}
	for i, arm := range arms {
		for _, l := range all {
			if l.Metric == metric && l.Database == databases[i] {
				out.Why = cmp.Or(l.Why, out.Why)
				out.Of[i], out.Without[i], out.Unstable[i] = l.Of[arm], l.Without[arm], l.Unstable[arm]
			}
		}
	}
	return out
}
