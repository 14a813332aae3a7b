package verdict

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/stats"
)

// Combine joins the results of the primary endpoints of one database into its verdict. The level is
// held over all of them: a better or worse whose Holm-adjusted p-value exceeds the alpha of its
// look becomes inconclusive, in the copy that the verdict carries. Then any worse makes the verdict
// worse, else a primary without data makes it invalid, else any inconclusive makes it inconclusive,
// else any better makes it better, else it is the same. No results at all are invalid. Costs get
// what they mean for the capacity. Rates that are zero in both arms, of too few operations to judge
// them, are set aside, and so are, once Holm's method has counted them, open coarse endpoints whose
// interval holds no change, at the last look. undecided names the endpoints that are not judged,
// because the plan could not decide them. The argument is not changed.
func Combine(database string, results []Result, undecided ...string) Verdict {
	results, aside := setAside(results)
	v := Verdict{
		Database:  database,
		Results:   make([]Result, len(results)),
		Aside:     aside,
		Undecided: undecided,
	}
	p := make([]float64, len(results))
	for i, r := range results {
		p[i] = r.P
	}
	adjusted := stats.Holm(p)
	for i, r := range results {
		r.HolmP = adjusted[i]
		switch {
		case (r.Kind == Worse || r.Kind == Better) && !(r.HolmP <= r.Alpha):
			r.PairsNeeded = r.pairsNeeded(r.Alpha / float64(len(results)))
			r = r.conclude(Inconclusive, fmt.Sprintf("%s by itself, but not among %s (Holm, %s)",
				r.Kind, Count(len(results), "endpoint"), pText(r.HolmP)))
		case r.Kind == Inconclusive && r.SD > 0 && r.PairsNeeded > 0: // so many that it would hold among all endpoints
			if n := r.pairsNeeded(r.Alpha / float64(len(results))); n == 0 || n > r.PairsNeeded {
				r.PairsNeeded = n
				r.Sentence = r.sentence()
			}
		}
		v.Results[i] = r
	}
	v.setCoarseAside()
	holdSpreads(v.Results)
	imply(v.Results)
	v.Kind = v.decide()
	v.Indicative = v.Kind == Inconclusive &&
		!slices.ContainsFunc(v.of(Inconclusive), func(r Result) bool {
			return !r.Indicative
		})
	v.Reason = v.reason()
	v.Lead = v.lead()
	if on := v.StandsOn(); on != "" {
		v.Lead = strings.TrimSuffix(v.Lead, ".") + "; " + on + "."
	}
	return v
}

// StandsOn returns the clause that names the endpoints which the verdict stands on, where the plan
// could not decide all: "judged on cost(app) and errors; p99(op) could not be decided in this
// time". Empty where it decides all.
func (v Verdict) StandsOn() string {
	if len(v.Undecided) == 0 {
		return ""
	}
	names := make([]string, len(v.Results))
	for i, r := range v.Results {
		names[i] = r.Name
	}
	return fmt.Sprintf("judged on %s; %s", List(names), v.LeftOpen())
}

// LeftOpen returns the clause that names the endpoints which the plan could not decide; empty where
// it decides all.
func (v Verdict) LeftOpen() string {
	if len(v.Undecided) == 0 {
		return ""
	}
	return List(v.Undecided) + " could not be decided in this time"
}

// List joins names: "a", "a and b", "a, b and c".
func List(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// setAside divides results into those that are judged and those that are open only because neither
// arm had an error in too few operations to judge that by the margin: nothing follows from them
// about either arm, and more operations alone would decide them. Where there are no others, all are
// judged.
func setAside(results []Result) (judged, aside []Result) {
	for _, r := range results {
		if r.Kind == Inconclusive && r.withoutErrors() {
			aside = append(aside, r)
		} else {
			judged = append(judged, r)
		}
	}
	if len(judged) == 0 {
		return results, nil
	}
	return judged, aside
}

// setCoarseAside moves the results to [Verdict.Aside] that could hardly be the same in this plan and
// show no change, unless the errors alone would be left.
func (v *Verdict) setCoarseAside() {
	if !slices.ContainsFunc(v.Results, func(r Result) bool {
		return !r.coarseWithoutChange() && !r.Absolute
	}) {
		return
	}
	var judged []Result
	for _, r := range v.Results {
		if !r.coarseWithoutChange() {
			judged = append(judged, r)
			continue
		}
		r.Reason = fmt.Sprintf("no change seen, of %s to %s; %s",
			delta(r.Endpoint, r.Lo), delta(r.Endpoint, r.Hi), r.Coarse)
		v.Aside = append(v.Aside, r)
		v.Undecided = append(slices.Clip(v.Undecided), r.Name)
	}
	v.Results = judged
}

// coarseWithoutChange reports whether a coarse endpoint is open, in pairs enough for a verdict, and
// no more looks come.
func (r Result) coarseWithoutChange() bool {
	last := r.Looks == 0 || r.Look == r.Looks || r.Over
	return r.Coarse != "" && r.Kind == Inconclusive && last && r.N >= stats.MinPairs &&
		r.Withheld == "" && r.Lo <= 0 && r.Hi >= 0
}

// withoutErrors reports whether the rate was zero in every run of both arms, of pairs enough for a
// verdict.
func (r Result) withoutErrors() bool {
	return r.Absolute && r.N >= stats.MinPairs && r.Withheld == "" &&
		!slices.ContainsFunc(r.Pairs, func(p Pair) bool {
			return p.Base != 0 || p.New != 0
		}) && len(r.Pairs) > 0
}

func (v Verdict) decide() Kind {
	switch {
	case v.any(Worse):
		return Worse
	case len(v.Results) == 0 || v.any(Invalid):
		return Invalid
	case v.any(Inconclusive):
		return Inconclusive
	case v.any(Better):
		return Better
	default:
		return Same
	}
}

func (v Verdict) any(k Kind) bool { return len(v.of(k)) > 0 }

// of returns the results of one kind.
func (v Verdict) of(k Kind) []Result {
	var out []Result
	for _, r := range v.Results {
		if r.Kind == k {
			out = append(out, r)
		}
	}
	return out
}

func (v Verdict) reason() string {
	if len(v.Results) == 0 {
		return "there is no endpoint to judge"
	}
	if v.Kind == Same {
		return fmt.Sprintf(
			"%s inside %s",
			Count(len(v.Results), "endpoint"),
			plural(len(v.Results), "its margin", "their margins"),
		)
	}
	parts := make([]string, 0, len(v.Results))
	for _, r := range v.of(v.Kind) {
		parts = append(parts, r.Name+": "+r.Reason)
	}
	return strings.Join(parts, "; ")
}

// lead writes the sentence that opens a report.
func (v Verdict) lead() string {
	head := v.Database + ": "
	if v.Database == "" {
		head = ""
	}
	if len(v.Results) == 0 {
		return head + "invalid: there is no endpoint to judge."
	}
	if v.Indicative {
		fewest := v.Results[0].N
		for _, r := range v.Results {
			fewest = min(fewest, r.N)
		}
		return head + indicative(fewest) + " (" + v.effects(v.Results) + ")."
	}
	first := v.Results[0]
	switch v.Kind {
	case Same:
		return fmt.Sprintf(
			"%s%s is the same as %s within the margins (%s).",
			head,
			first.New.Name,
			first.Base.Name,
			v.effects(v.Results),
		)
	case Worse, Better:
		return fmt.Sprintf(
			"%s%s is %s than %s: %s.",
			head,
			first.New.Name,
			v.Kind,
			first.Base.Name,
			v.clauses(v.Kind),
		)
	default:
		return fmt.Sprintf("%s%s: %s.", head, v.Kind, v.clauses(v.Kind))
	}
}

func (v Verdict) clauses(k Kind) string {
	parts := make([]string, 0, len(v.Results))
	for _, r := range v.of(k) {
		parts = append(parts, r.clause())
	}
	return strings.Join(parts, "; ")
}

func (v Verdict) effects(results []Result) string {
	parts := make([]string, 0, len(results))
	for _, r := range results {
		if r.HasEffect() {
			parts = append(parts, r.Text()+" "+delta(r.Endpoint, r.Effect))
		} else {
			parts = append(parts, r.Name+" not known")
		}
	}
	return strings.Join(parts, ", ")
}
