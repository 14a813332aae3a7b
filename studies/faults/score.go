package main

import (
	"fmt"
	"slices"
	"strings"
)

// needed is the share of runs in which the limiter must be right first.
const needed = 0.95

// A tally is the score of all runs.
type tally struct {
	rows              []row
	runs, right, void int
}

// A row is one fault's runs.
type row struct {
	fault   fault
	results []result
	right   int
	void    int // runs that were repeated
}

func score(faults []fault, results []result) tally {
	var t tally
	for _, f := range faults {
		r := row{fault: f}
		for _, res := range results {
			if res.Fault == f.name {
				if res.void() && !res.last() {
					r.void++
					continue
				}
				r.results = append(r.results, res)
				if res.ok() {
					r.right++
				}
			}
		}
		slices.SortFunc(r.results, func(a, b result) int { return a.Number - b.Number })
		t.rows = append(t.rows, r)
		t.void += r.void
		t.runs += len(r.results)
		t.right += r.right
	}
	return t
}

func (t tally) share() float64 {
	if t.runs == 0 {
		return 0
	}
	return float64(t.right) / float64(t.runs)
}

// table is the Markdown of a score.
func (t tally) table() string {
	var b strings.Builder
	b.WriteString("| fault | what is limited | right | named first, by run (confidence) | right first |\n|---|---|---|---|---|\n")
	for _, r := range t.rows {
		var named []string
		for _, res := range r.results {
			n := res.Limiter
			switch {
			case res.Injected == "":
				n = "not injected"
			case n == "":
				n = "nothing"
			case res.Confidence != "":
				n += " (" + res.Confidence + ")"
			}
			if k := len(named); k > 0 && strings.HasPrefix(named[k-1], n+" ×") {
				var c int
				_, _ = fmt.Sscanf(strings.TrimPrefix(named[k-1], n+" ×"), "%d", &c)
				named[k-1] = fmt.Sprintf("%s ×%d", n, c+1)
			} else {
				named = append(named, n+" ×1")
			}
		}
		for i, n := range named {
			named[i] = strings.TrimSuffix(n, " ×1")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %d of %d |\n", r.fault.name, r.fault.what, strings.Join(r.fault.right, " or "), strings.Join(named, ", "), r.right, len(r.results))
	}
	fmt.Fprintf(&b, "\nThe limiter was right first in %d of %d runs (%.1f %%).\n", t.right, t.runs, 100*t.share())
	if t.void > 0 {
		fmt.Fprintf(&b, "%d more runs were void, because the generator or its host was not healthy, and were repeated, %d times at most.\n", t.void, mostTries-1)
	}
	return b.String()
}
