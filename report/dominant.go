package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
)

// A standing sums up a rule in one test of one run.
type standing struct {
	rule string
	// used is the fraction of the limit, where it counts: at the capacity, or over the measured
	// phase.
	used                        float64
	value, limit                float64
	known, violated             bool
	few                         bool   // too few operations to judge it over the measured phase
	warning                     bool   // it only warns: it breaks nothing and dominates nothing
	where                       string // of a broken expression
	evaluations, broken, noData int
}

// used returns how much of its limit a rule uses: 1 at the limit, more beyond it, whichever side
// the rule asks for. ok is false where that is not a question: a limit or value of another sign, or
// zero in the denominator.
func used(rule string, value, limit float64) (share float64, ok bool) {
	num, den := value, limit
	if r, err := plan.ParseSLO(rule); err == nil && !r.Less {
		num, den = limit, value
	}
	if !(den > 0) || num < 0 || !known(num) {
		return 0, false
	}
	return num / den, true
}

// standings reads the rules of a test from the events of a run, in the order in which they occur.
func standings(r RunData, test string) []standing {
	var out []standing
	of := func(rule string) *standing {
		return oneOf(&out, func(s standing) bool { return s.rule == rule }, standing{rule: rule})
	}
	for _, ev := range r.Events {
		if ev.Kind != "slo" {
			continue
		}
		search := ev.Phase != measuredPhase && inSearch(r.Manifest, ev)
		switch {
		case test == Bounded && ev.Phase == measuredPhase:
			s := of(ev.Rule)
			s.value = ev.Value
			s.limit = ev.Limit
			s.violated = ev.Violated && !ev.NoData
			s.where = ev.Text

			s.warning = ev.Level == record.Amber
			switch {
			case ev.NoData:
				s.noData++
			case tooFew(ev):
				s.few = true
			default:
				s.used, s.known = used(ev.Rule, ev.Value, ev.Limit)
			}
		case test == Bounded && !search || test == Unbounded && search:
			s := of(ev.Rule)
			s.evaluations++
			s.warning = s.warning || ev.Level == record.Amber
			switch {
			case ev.NoData:
				s.noData++
			case ev.Violated:
				s.broken++
			}
		}
	}
	if c := r.Manifest.Capacity; test == Unbounded && c != nil {
		for _, m := range c.Margins {
			s := of(m.Rule)
			s.used, s.known = m.Value/m.Limit, m.Limit > 0
		}
	}
	return out
}

// nearest returns the rule that uses most of its limit, except the rule named but and rules that
// only warn.
func nearest(all []standing, but string) (standing, bool) {
	rest := slices.DeleteFunc(slices.Clone(all),
		func(s standing) bool { return !s.known || s.rule == but || s.warning })
	if len(rest) == 0 {
		return standing{}, false
	}
	return slices.MaxFunc(rest,
		func(x, y standing) int {
			return cmp.Or(cmp.Compare(x.used, y.used), -strings.Compare(x.rule, y.rule))
		}), true
}

func (s standing) usedText() string {
	return fmt.Sprintf("at %s %% of its limit", sig(100*s.used, 2))
}

// valueText writes value and limit of a rule: "1.2 s of 2 s".
func (s standing) valueText() string {
	return valueAndLimit(ruleOf(s.rule).Unit, s.value, s.limit)
}

// Dominant names in one or two sentences the rule that dominated a test of a run: the rule that
// stopped the search or was broken, otherwise the rule that came nearest to its limit.
func Dominant(r RunData, test string) string {
	all := standings(r, test)
	if test == Unbounded {
		return dominantSearch(r.Manifest.Capacity, all)
	}
	var broken, warned []string
	silent, few := 0, 0
	for _, s := range all {
		if s.violated {
			text := s.valueText()
			if s.where != "" {
				text += "; " + s.where
			}
			to := &broken
			if s.warning {
				to = &warned
			}
			*to = append(*to, fmt.Sprintf("%s (%s)", s.rule, text))
		}
		if !s.known && s.noData > 0 {
			silent++
		}
		if s.few {
			few++
		}
	}
	next, ok := nearest(all, "")
	var text string
	switch {
	case len(all) == 0:
		return "The plan has no rules, so none dominated."
	case len(broken) > 0:
		text = "Broken over the measured phase: " + list(broken) + "."
	case ok:
		text = fmt.Sprintf(
			"No rule was broken over the measured phase. Nearest to its limit was %s, %s (%s).",
			next.rule,
			next.usedText(),
			next.valueText(),
		)
	case len(warned) > 0 || slices.ContainsFunc(all, func(s standing) bool { return s.known }):
		text = "No rule was broken over the measured phase."
	case few > 0:
		text = "No rule was judged over the measured phase."
	default:
		text = "No rule has a value over the measured phase."
	}
	if len(warned) > 0 {
		text += " Beyond the limit and only a warning: " + list(warned) + "."
	}
	if silent > 0 {
		text += fmt.Sprintf(" %s no data over it.", count(silent, "rule had", "rules had"))
	}
	if few > 0 {
		text += fmt.Sprintf(
			" %s too few operations to be judged.",
			count(few, "rule had", "rules had"),
		)
	}
	return text
}

func dominantSearch(c *record.Capacity, all []standing) string {
	if c == nil {
		return "The search ended without a result, so no rule is named."
	}
	if gate, _ := c.Gate(); gate != "" {
		return fmt.Sprintf(
			"The search was ended by the gate %s of the generator's health and not by a rule: %s.",
			gate,
			orDash(c.Why),
		)
	}
	next, ok := nearest(all, c.Rule)
	after := ""
	if ok {
		after = fmt.Sprintf(" Next to its limit was %s, %s there.", next.rule, next.usedText())
	}
	if c.Rule == "" {
		text := fmt.Sprintf("No rule stopped the search (%s).", orDash(c.Stopped))
		if ok {
			text += fmt.Sprintf(" Nearest to its limit was %s, %s.", next.rule, next.usedText())
		}
		return text
	}
	times := ""
	for _, s := range all {
		if s.rule == c.Rule && s.evaluations > 0 {
			times = fmt.Sprintf(", broken in %d of %s", s.broken,
				count(s.evaluations, "evaluation", "evaluations"))
		}
	}
	switch c.Kind {
	case record.Estimate:
		return fmt.Sprintf(
			"%s dominated: it stopped the search at %.0f users%s.%s",
			c.Rule,
			c.Users,
			times,
			after,
		)
	case record.Unstable:
		return fmt.Sprintf("%s dominated%s, and the search is unstable: %s.%s", c.Rule, times,
			orDash(c.Why), after)
	case record.Invalid:
		return fmt.Sprintf("%s dominated%s, and the search has no result: %s.", c.Rule, times,
			orDash(c.Why))
	}
	return fmt.Sprintf(
		"%s dominated%s; the search ended at a limit of its own (%s), so %.0f users is a lower bound.%s",
		c.Rule,
		times,
		orDash(c.Stopped),
		c.Users,
		after,
	)
}
