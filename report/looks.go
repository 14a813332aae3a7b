package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// lookText names the look at which a comparison ended, in one line; empty without planned looks.
func (p *Protocol) lookText() string {
	if p == nil || len(p.Looks) == 0 {
		return ""
	}
	n := p.taken()
	if n == 0 {
		return fmt.Sprintf("none of the %s was taken", plannedText(p.Looks))
	}
	l := p.Looks[n-1]
	at := fmt.Sprintf(
		"look %d of %d, after %d of at most %d blocks, at the level %s",
		n,
		len(p.Looks),
		l.Blocks,
		p.Looks[len(p.Looks)-1].Blocks,
		alphaText(l.Alpha),
	)
	switch {
	case l.Decided && n < len(p.Looks):
		return "decided and ended at " + at
	case l.Decided:
		return "decided at " + at
	case l.Over:
		return fmt.Sprintf("not decided at %s: %s", at, overText(p.Budget))
	case n == len(p.Looks):
		return "not decided at the last, " + at
	}
	return fmt.Sprintf("not decided at %s; the next is after %d blocks", at, p.Looks[n].Blocks)
}

func plannedText(looks []record.Look) string {
	n := textsOf(looks, func(l record.Look) string { return strconv.Itoa(l.Blocks) })
	return fmt.Sprintf("planned looks after %s blocks", list(n))
}

// levelsText writes the levels of looks: "each at the level 2.21 %", or the smallest and the
// largest.
func levelsText(looks []record.Look) string {
	var alpha []float64
	for _, l := range looks {
		alpha = append(alpha, l.Alpha)
	}
	if lo, hi := slices.Min(alpha), slices.Max(alpha); lo < hi {
		return fmt.Sprintf("at levels from %s to %s", alphaText(lo), alphaText(hi))
	}
	return "each at the level " + alphaText(alpha[0])
}

// budgetText states before the first run how long a comparison with a budget takes.
func budgetText(b record.Before) string {
	text := fmt.Sprintf("as many blocks as are needed, in at most %s (compare.budget): ",
		aboutTime(b.Budget))
	if b.Least > b.Budget {
		return text + fmt.Sprintf(
			"the first look, after about %s, comes later than that, and will be the only one",
			aboutTime(b.Least),
		)
	}
	return text + fmt.Sprintf("the first look after about %s, and time for about %s",
		aboutTime(b.Least), count(b.Fits, "block", "blocks"))
}

// overText is the reason for the end of a comparison whose budget is over.
func overText(budget time.Duration) string {
	return fmt.Sprintf("the rest of the budget of %s was too short for another", aboutTime(budget))
}

// LookNext returns how a comparison with this budget (0: none) goes on after a look: that it ends,
// or the changes that the rest of the budget could still find. label names an engine for people.
func LookNext(l record.Look, budget time.Duration, label func(engine string) string) string {
	switch {
	case l.Decided:
		return "decided: the comparison ends"
	case l.Over:
		return "not decided, and " + overText(budget) + ": the comparison ends"
	case len(l.Could) == 0:
		return "not decided"
	}
	var parts []string
	for _, x := range l.Could {
		text := fmt.Sprintf("%s in %s",
			size(plan.Endpoint{Name: x.Metric, Absolute: x.Absolute, Unit: x.Unit}, x.MDE),
			x.Metric)
		if name := label(x.Engine); name != "" {
			text += " on " + name
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf(
		"not decided; the remaining %s could still find %s",
		aboutTime(budget-l.Spent),
		strings.Join(parts, ", "),
	)
}

// lookTexts describe the looks that were taken, a sentence each.
func (p *Protocol) lookTexts(d Document) []string {
	var out prose
	for i, l := range p.Looks[:p.taken()] {
		var parts []string
		for _, v := range l.Verdicts {
			name := d.on(v.Engine)
			if len(d.Arms) > 2 {
				name += d.armLabel(v.Arm) + " "
			}
			parts = append(parts, name+v.Kind)
		}
		next := "undecided: it went on"
		switch {
		case l.Decided:
			next = "decided: it ended"
		case i == len(p.Looks)-1:
			next = "undecided at the last look"
		case l.Over:
			next = "undecided, and " + overText(p.Budget) + ": it ended"
		case len(l.Could) > 0:
			next = LookNext(l, p.Budget, d.engineLabel)
		}
		out.add(
			"Look %d of %d, after %d blocks, at the level %s: %s; %s.",
			i+1,
			len(p.Looks),
			l.Blocks,
			alphaText(l.Alpha),
			strings.Join(parts, ", "),
			next,
		)
	}
	return out
}
