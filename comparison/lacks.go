package comparison

import (
	"fmt"
	"slices"

	"plimsoll/record"
	"plimsoll/verdict"
)

// A Lack says which runs have no number for a figure that is judged by those that have one.
type Lack struct {
	Metric, Database, Unit string
	// Of is how many runs each arm has, Without how many of these have no number, Unstable how many of those by an unstable search.
	Of, Without, Unstable [2]int
	Why                   string
}

// lacks counts the runs without a figure by database, among tests in which some run has it. Nothing is known when a run does not say why it lacks
// the figure, as the files of other tools never do.
func lacks(f record.Figure, databases []string, arms [2]map[armKey]record.Given) (out []Lack, known bool) {
	asked := map[armKey]bool{} // tests in which the figure was asked for
	unstable := func(g record.Given) bool { return f.Name == "capacity" && g.Unstable != "" }
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

// apply says in a result which runs have no number, and withholds what the others do not show of unstable searches, as [Judge] does for the runs of a comparison.
func (l Lack) apply(r *verdict.Result, label [2]string) {
	if l.Unstable[0]+l.Unstable[1] > 0 {
		unstableOf(r, l.Unstable, l.Of, label, l.Why)
	}
	if n := [2]int{l.Without[0] - l.Unstable[0], l.Without[1] - l.Unstable[1]}; n[0]+n[1] > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d runs of %s and %d of %d of %s have no %s, and their pairs are left out (%s)",
			n[0], l.Of[0], label[0], n[1], l.Of[1], label[1], l.Metric, l.Why))
	}
}

// lackOf returns what is lacking of a metric on a database.
func lackOf(all []Lack, metric, database string) (Lack, bool) {
	i := slices.IndexFunc(all, func(l Lack) bool { return l.Metric == metric && l.Database == database })
	if i < 0 {
		return Lack{Metric: metric, Database: database}, false
	}
	return all[i], true
}

// between returns what is lacking within one arm between two databases.
func between(all []Lack, metric string, databases [2]string, arm int) (Lack, bool) {
	x, ok1 := lackOf(all, metric, databases[0])
	y, ok2 := lackOf(all, metric, databases[1])
	out := Lack{Metric: metric, Why: x.Why}
	if y.Why != "" {
		out.Why = y.Why
	}
	for i, l := range []Lack{x, y} {
		out.Of[i], out.Without[i], out.Unstable[i] = l.Of[arm], l.Without[arm], l.Unstable[arm]
	}
	return out, (ok1 || ok2) && out.Without[0]+out.Without[1] > 0
}
