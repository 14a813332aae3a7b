package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/judge/verdict"
)

// mostFront is the largest number of warning groups, and of actions, on the first screen.
const mostFront = 3

// urgent returns the groups of a first screen: the highest ranks that name an action, as sentences
// with it.
func urgent(all []WarningGroup) []WarningGroup {
	var out []WarningGroup
	for _, g := range all {
		if g.Action != "" && len(out) < mostFront {
			g.Text += "; " + g.Action
			out = append(out, g)
		}
	}
	return out
}

// A front is the first screen of a report.
type front struct {
	verdicts []frontVerdict
	answer   Answer
	limits   []string       // limiters of the arms, one line for each database
	groups   []WarningGroup // that ask for something
	warnings int            // how many there are in all
	next     []string
	raw      bool // next is a person's own words
}

// A frontVerdict is the verdict on one database.
type frontVerdict struct {
	kind, text string
	why        []string // where its differences come from
}

// front returns the first screen of a comparison's report.
func (d Document) front() *front {
	f := front{answer: d.Answer(), limits: d.limitLines(), groups: urgent(d.WarningGroups),
		warnings: len(d.Warnings), raw: !d.DraftedActions}
	for _, v := range d.Verdicts {
		f.verdicts = append(f.verdicts,
			frontVerdict{kindText(v.Verdict.Kind, v.Verdict.Indicative), oneSentence(d, v),
				d.WhyLines(v)})
	}
	f.next = d.Actions[:min(len(d.Actions), mostFront)]
	return &f
}

// mostNamed is the largest number of endpoints that the sentence of a verdict names with their
// sizes.
const mostNamed = 3

// oneSentence is the verdict of one finding in one sentence: the endpoints that changed most
// against their margins with their sizes, the others by name. The picture below it has all of them.
// It has no period at its end.
func oneSentence(d Document, f NamedVerdict) string {
	v := f.Verdict
	name := d.on(f.Engine)
	base, fresh := d.baseLabel(), d.armLabel(f.Arm)
	switch {
	case len(v.Results) == 0 || v.Indicative || v.Kind == verdict.Invalid:
		return headlineOf(d, f, "")
	case v.Kind == verdict.Same:
		text := fmt.Sprintf("%s%s is the same as %s within the margins of %s", name, fresh, base,
			list(resultNames(v.Results)))
		if open := v.LeftOpen(); open != "" {
			text += "; " + open
		}
		return text
	}
	found := ofKind(v, v.Kind)
	slices.SortStableFunc(found,
		func(a, b verdict.Result) int { return -cmp.Compare(excess(a), excess(b)) })
	some := found[:min(len(found), mostNamed)]
	text := effects(some)
	if v.Kind == verdict.Inconclusive {
		name = d.whose(f)
		text = reasons(some)
	}
	if rest := found[len(some):]; len(rest) > 0 {
		text += "; also " + list(resultNames(rest))
	}
	if on := v.StandsOn(); on != "" {
		text += "; " + on
	}
	if v.Kind == verdict.Inconclusive {
		return name + "inconclusive: " + text
	}
	return fmt.Sprintf("%s%s is %s than %s: %s", name, fresh, v.Kind, base, text)
}

// excess returns the size of an effect in margins.
func excess(r verdict.Result) float64 {
	e := r.Effect
	if !r.Absolute {
		e = math.Log1p(e) / math.Log1p(r.Margin) * r.Margin
	}
	if !known(e) || !(r.Margin > 0) {
		return 0
	}
	return math.Abs(e) / r.Margin
}

func validityText(d Document) string {
	judged, voided := 0, 0
	var invalid []string
	for _, r := range d.Runs {
		switch r.Part {
		case "judged":
			judged++
		case "voided":
			voided++
		}
		if !r.Valid {
			invalid = append(invalid, r.ID)
		}
	}
	text := fmt.Sprintf("%s: %d judged", count(len(d.Runs), "run", "runs"), judged)
	if d.State.Cost > 0 {
		text += fmt.Sprintf(", %s by cost alone", count(d.State.Cost, "block", "blocks"))
	}
	if voided > 0 {
		text += fmt.Sprintf(
			", %d in %s",
			voided,
			count(len(d.Voided), "voided block", "voided blocks"),
		)
	}
	if n := len(invalid); n > 0 {
		text += fmt.Sprintf(", %d not valid", n)
		if n <= 4 {
			text += " (" + strings.Join(invalid, ", ") + ")"
		}
		return text
	}
	return text + ", none invalid"
}
