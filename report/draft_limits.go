package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// brokenRules lists the rules that the bounded tests broke, or could not evaluate: those that only warn, or all others.
func (b *builder) brokenRules(warning bool) []string {
	var out []string
	broke := "broke %s"
	if warning {
		broke = "went beyond %s, which only warns,"
	}
	for _, t := range b.d.Rules {
		for _, r := range t.Rows {
			if r.Warning != warning {
				continue
			}
			broken, missing, _ := r.tally()
			where := ""
			if i := slices.IndexFunc(r.Measured, func(v RuleValue) bool { return v.Violated && !v.NoData && v.Where != "" }); i >= 0 {
				where = fmt.Sprintf(" (block %d: %s)", r.Measured[i].Block, r.Measured[i].Where)
			}
			name := prefix(b.engineLabel(t.Engine)) + "in the bounded test " + b.armLabel(r.Arm)
			if broken > 0 {
				out = append(out, fmt.Sprintf("%s "+broke+" in %d of %d runs%s.", name, r.Rule, broken, len(r.Measured), where))
			}
			if missing > 0 {
				out = append(out, fmt.Sprintf("%s gave no data for %s in %d of %d runs.", name, r.Rule, missing, len(r.Measured)))
			}
		}
	}
	return out
}

// limiterComments name the rules that stopped the searches, one sentence per engine, and the limiters of bounded tests
// without a search.
func (b *builder) limiterComments() []string {
	var out []string
	for _, e := range b.d.Engines {
		var parts, bounded []string
		for _, l := range b.d.Limiters {
			switch {
			case l.Engine != e.Key:
			case l.Searches == 0 && len(l.Named) > 0:
				bounded = append(bounded, fmt.Sprintf("%s by %s", b.armLabel(l.Arm), namedText(l)))
			default:
				part := fmt.Sprintf("%s by %s", b.armLabel(l.Arm), stopText(l))
				if len(l.Named) > 0 {
					part += ", limited by " + namedText(l)
				}
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			out = append(out, prefix(e.Label)+"the searches were stopped: "+strings.Join(parts, "; ")+".")
		}
		if len(bounded) > 0 {
			out = append(out, prefix(e.Label)+"the bounded tests were limited: "+strings.Join(bounded, "; ")+".")
		}
		out = append(out, b.memories(e.Key)...)
	}
	return out
}

// memories name the arms with two capacities.
func (b *builder) memories(engine string) []string {
	var out []string
	for _, l := range b.d.Limiters {
		if l.Engine != engine || l.Unstable == 0 {
			continue
		}
		text := fmt.Sprintf("%s%s: %d of %d searches are unstable and no number in a pair", prefix(b.engineLabel(engine)), b.armLabel(l.Arm), l.Unstable, l.Searches)
		if l.Held > 0 {
			text += fmt.Sprintf("; every rule held up to %.0f users going up, and after an overload up to %.0f: the server remembers an overload, or its effect comes late", l.Reached, l.Held)
		}
		out = append(out, text+".")
	}
	return out
}

// stopText names the rule that stopped the searches of an arm: "cpu(app) < 85% (6 of 6)".
func stopText(l SearchEnds) string {
	if l.Searches == 0 {
		return "no search"
	}
	parts := make([]string, 0, len(l.Rules))
	left := l.Searches
	for _, c := range l.Rules {
		parts = append(parts, fmt.Sprintf("%s (%d of %d)", c.Name, c.N, l.Searches))
		left -= c.N
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("no rule (%d of %d)", left, l.Searches))
	}
	text := list(parts)
	if l.AtLeast > 0 {
		text += fmt.Sprintf(", lower bounds: %d of %d", l.AtLeast, l.Searches)
	}
	if l.Unstable > 0 {
		text += fmt.Sprintf(", unstable: %d of %d", l.Unstable, l.Searches)
	}
	return text
}

// limitText names both: the limiter of the runs and the rule that stopped the searches, if there were any.
func limitText(l SearchEnds) string {
	if l.Searches == 0 {
		return cmp.Or(namedText(l), stopText(l))
	}
	if len(l.Named) > 0 {
		return namedText(l) + ", stopped by " + stopText(l)
	}
	return "stopped by " + stopText(l)
}

// namedText names the limiter of an arm's runs: "cpu app (6 of 6)".
func namedText(l SearchEnds) string {
	all := 0
	for _, c := range l.Named {
		all += c.N
	}
	var parts []string
	for _, c := range l.Named {
		parts = append(parts, fmt.Sprintf("%s (%d of %d)", c.Name, c.N, all))
	}
	return list(parts)
}

// ownLimits names the arms whose searches ended at a limit of their own, and those limits.
func (b *builder) ownLimits() (names, stops []string) {
	for _, l := range b.d.Limiters {
		if l.AtLeast == 0 {
			continue
		}
		names = append(names, where(b.d, l))
		for _, s := range l.AtLeastBy {
			if !slices.Contains(stops, s.Name) {
				stops = append(stops, s.Name)
			}
		}
	}
	return names, stops
}

func where(d *Document, l SearchEnds) string {
	if e := d.engineLabel(l.Engine); e != "" {
		return d.armLabel(l.Arm) + " on " + e
	}
	return d.armLabel(l.Arm)
}
