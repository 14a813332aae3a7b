package report

import (
	"fmt"
	"slices"

	"plimsoll/load/workload"
)

// addRows adds the counts of one run to the counts of others.
func addRows(all, rows []workload.RowCount) []workload.RowCount {
	for _, r := range rows {
		i := slices.IndexFunc(all,
			func(x workload.RowCount) bool { return x.Store == r.Store && x.What == r.What })
		if i < 0 {
			all = append(all, r)
			continue
		}
		x := &all[i]
		x.Least += r.Least
		x.Most += r.Most
		x.Actual += r.Actual
		if r.Unknown && !x.Unknown {
			x.Unknown, x.Why = true, r.Why
		}
	}
	return all
}

// rowSection shows the rows that the stores held after the runs.
func (p usersPart) rowSection() []section {
	t := p.head("Store", "Rows of", ">Expected", ">There", "!As expected")
	for _, u := range p.us {
		if u.Audit == nil {
			continue
		}
		for _, r := range u.Audit.Rows {
			want, there := fmt.Sprint(r.Least), fmt.Sprint(r.Actual)
			if r.Most != r.Least {
				want += fmt.Sprintf(" to %d", r.Most)
			}
			if r.Unknown {
				there = "not known"
			}
			t.add(p.row(r.Store, u, r.What, want, there, yes(r.Right())))
		}
	}
	return t.section(
		"Rows in the stores",
		"After each run, beyond what was there before it; the judged runs added up. Acknowledged requests have made their rows; those that failed, or were under way when a run ended, may have. "+
			"A run whose stores hold less or more is not valid.",
	)
}

// A usersPart is the users of some arms, with the login and the mix of their plan. Label names an
// arm; "" for all when there is only one.
type usersPart struct {
	us         []UsersOf
	login, mix string
	label      func(UsersOf) string
}

func (p usersPart) named() bool { return len(p.us) > 1 || p.label(p.us[0]) != "" }

// head begins a table with a column for the arm, if there are several.
func (p usersPart) head(first string, rest ...string) *table {
	h := []string{first}
	if p.named() {
		h = append(h, "Arm")
	}
	return newTable(append(h, rest...)...)
}

func (p usersPart) row(first any, u UsersOf, rest ...any) []string {
	if p.named() {
		return cells(first, p.label(u), cells(rest...))
	}
	return cells(first, cells(rest...))
}
