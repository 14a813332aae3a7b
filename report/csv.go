package report

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/verdict"
)

// CSV writes the main table of a document for other programs; unknown values are empty. Of verdicts
// it has the primary endpoints, one a line.
func CSV(w io.Writer, d Document) error {
	switch d.Subject() {
	case Ladder:
		return writeCSV(w, d.Sizing.csvRows())
	case Releases:
		return writeCSV(w, d.Trend.csvRows())
	default:
		return writeCSV(w, d.endpointRows())
	}
}

// endpointRows has the primary endpoints of all verdicts: first new arms against base, then
// databases against the first; endpoints that were not judged have the reason alone. Effects, their
// intervals and margins are ratios minus one, or percentage points where effect_unit is pp.
func (d Document) endpointRows() [][]string {
	rows := [][]string{{"database", "arm", "against", "endpoint", "unit", "better", "verdict",
		"indicative", "base", "new", "base_at_least", "new_at_least",
		"effect", "effect_lo", "effect_hi", "effect_level", "effect_unit", "margin", "could_find",
		"pairs", "pairs_needed", "p", "holm_p", "reason"}}
	add := func(f NamedVerdict, against string) {
		for _, r := range f.Verdict.Results {
			unit, needed := "ratio", ""
			if r.Absolute {
				unit = "pp"
			}
			lo, hi, level := r.Decisive()
			if r.PairsNeeded > 0 {
				needed = strconv.Itoa(r.PairsNeeded)
			}
			rows = append(rows, fields(
				d.engineLabel(f.Engine),
				d.armLabel(f.Arm),
				against,
				r.Name,
				r.Unit,
				r.Better,
				r.Kind,
				r.Indicative,
				r.Base.Mean,
				r.New.Mean,
				r.Base.AtLeast,
				r.New.AtLeast,
				r.Effect,
				lo,
				hi,
				level,
				unit,
				r.Margin,
				r.MDE,
				r.N,
				needed,
				r.P,
				r.HolmP,
				r.Reason,
			))
		}
		for _, r := range f.Skipped {
			row := make([]string, len(rows[0]))
			copy(row, []string{d.engineLabel(f.Engine), d.armLabel(f.Arm), against, r.Name})
			row[6], row[len(row)-1] = "not judged", r.Value
			rows = append(rows, row)
		}
	}
	for _, f := range d.Verdicts {
		add(f, d.baseLabel())
	}
	for _, f := range d.Databases {
		add(f, d.Engines[0].Label)
	}
	return rows
}

// PairsCSV writes the numbers behind the verdicts of new arms, one pair of runs a line, in the form
// that imported.ReadTable reads; and the other grounds of the verdicts beside them: how many runs
// of each arm failed, and why a verdict is withheld.
func PairsCSV(w io.Writer, d Document) error {
	named, withheld := len(d.Arms) > 2, false
	for _, f := range d.Verdicts {
		named = named || d.engineLabel(f.Engine) != ""
		withheld = withheld ||
			slices.ContainsFunc(f.Verdict.Results,
				func(r verdict.Result) bool { return withheldOf(r) != "" })
	}
	rows := [][]string{{"metric", "unit", "database", "pair", "base", "new", "base_ops", "new_ops",
		"first", "withheld"}}
	number := func(v float64, atLeast bool) string {
		if atLeast {
			return ">=" + figure(v)
		}
		return figure(v)
	}
	for _, f := range d.Verdicts {
		for _, r := range slices.Concat(f.Verdict.Results, f.Verdict.Aside) {
			add := func(unit string, p verdict.Pair) {
				rows = append(rows, []string{r.Name, unit, test(f.Name), strconv.Itoa(p.Block),
					number(p.Base, p.BaseCensored), number(p.New, p.NewCensored),
					operations(p.BaseOps), operations(p.NewOps), p.First, withheldOf(r)})
			}
			switch {
			case r.Failed != nil:
				add("runs",
					verdict.Pair{
						Block:   1,
						Base:    float64(r.Failed.Base.Failed),
						New:     float64(r.Failed.New.Failed),
						BaseOps: int64(r.Failed.Base.Runs),
						NewOps:  int64(r.Failed.New.Runs),
					})
			case len(r.Pairs) == 0:
				add(r.Unit, verdict.Pair{Block: 1, Base: math.NaN(), New: math.NaN()})
			}
			for _, p := range r.Pairs {
				add(r.Unit, p)
			}
		}
	}
	for i, row := range rows {
		if !withheld {
			row = row[:len(row)-1]
		}
		if !named { // an empty name is an error there
			row = slices.Delete(row, 2, 3)
		}
		rows[i] = row
	}
	return writeCSV(w, rows)
}

// withheldOf returns the reason why the numbers of a result, read alone, may not count as the same
// or better: the verdict is withheld, or there are no numbers.
func withheldOf(r verdict.Result) string {
	why := r.Withheld
	if r.Failed == nil && len(r.Pairs) == 0 {
		why = cmp.Or(why, r.Reason, "no pair has a number")
	}
	why = plain.OneLine(why)
	return strings.ToValidUTF8(why[:min(len(why), 900)], "") // ReadTable takes 1000 bytes
}

// operations writes a number of operations; one that is not known is empty.
func operations(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
