package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/limiter"
	"plimsoll/record"
	"plimsoll/stats"
)

// limiterComments name the rules that stopped the searches, one sentence per engine, and the
// limiters of bounded tests without a search.
func (b *builder) limiterComments() []string {
	var out []string
	for _, e := range b.Engines {
		var parts, bounded, unstable []string
		for _, l := range b.Limiters {
			if l.Engine != e.Key {
				continue
			}
			if l.Unstable > 0 {
				unstable = append(unstable, b.on(e.Key)+b.armLabel(l.Arm)+l.memory())
			}
			switch {
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
			out = append(
				out,
				prefix(e.Label)+"the searches were stopped: "+strings.Join(parts, "; ")+".",
			)
		}
		if len(bounded) > 0 {
			out = append(out,
				prefix(e.Label)+"the bounded tests were limited: "+strings.Join(bounded, "; ")+".")
		}
		out = append(out, unstable...)
	}
	return out
}

// memory says behind an arm that it has two capacities.
func (l SearchEnds) memory() string {
	text := fmt.Sprintf(": %d of %d searches are unstable and no number in a pair", l.Unstable,
		l.Searches)
	if l.Held > 0 {
		text += fmt.Sprintf(
			"; every rule held up to %.0f users going up, and after an overload up to %.0f: the server remembers an overload, or its effect comes late",
			l.Reached,
			l.Held,
		)
	}
	return text + "."
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

// limitText names both: the limiter of the runs and the rule that stopped the searches, if there
// were any.
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
	var parts prose
	for _, c := range l.Named {
		parts.add("%s (%d of %d)", c.Name, c.N, all)
	}
	return list(parts)
}

// ownLimits names the arms whose searches ended at a limit of the search, and these limits.
func (b *builder) ownLimits() (names, stops []string) {
	for _, l := range b.Limiters {
		if l.AtLeast == 0 {
			continue
		}
		names = append(names, where(b.Document, l))
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

// limiters fills in the rules that stopped the searches.
func (b *builder) limiters() {
	for _, e := range b.Engines {
		for _, a := range b.Arms {
			l := SearchEnds{Engine: e.Key, Arm: a.Name}
			rules := map[string]int{}
			stopped := map[string]int{}
			own := map[string]int{}
			used := map[string][]float64{}

			named := map[string]int{}
			sentences := map[string]string{}
			var reached, held []float64
			for _, r := range b.of(e.Key, a.Name) {
				if n := r.Limiter; n != nil && n.Kind != limiter.LimitNone {
					named[n.Name]++
					if sentences[n.Name] == "" || n.Confidence == limiter.High {
						sentences[n.Name] = n.Sentence
					}
				}
				c := r.Manifest.Capacity
				if c == nil {
					continue
				}
				l.Searches++
				if c.Rule != "" {
					rules[c.Rule]++
				}
				// The clause before the first colon names the rule; the rest differs from run to
				// run.
				kind, _, _ := strings.Cut(c.Stopped, ":")
				if kind != "" {
					stopped[kind]++
				}
				if isBound(c) {
					l.AtLeast++
					own[orDash(kind)]++
				}
				if c.Kind == record.Unstable {
					l.Unstable++
					if c.Reached > 0 && c.Held > 0 {
						reached, held = append(reached, c.Reached), append(held, c.Held)
					}
				}
				for _, m := range c.Margins {
					if m.Limit > 0 {
						used[m.Rule] = append(used[m.Rule], m.Value/m.Limit)
					}
				}
			}
			if l.Named = Counts(named); len(l.Named) > 0 {
				l.Evidence = sentences[l.Named[0].Name]
			}
			if l.Searches == 0 && len(l.Named) == 0 {
				continue
			}
			l.Rules, l.Stopped, l.AtLeastBy = Counts(rules), Counts(stopped), Counts(own)
			if len(held) > 0 {
				l.Reached, l.Held = stats.Median(reached), stats.Median(held)
			}
			for rule, v := range used {
				l.Margins = append(l.Margins, Margin{
					Rule: rule,
					Used: Number(stats.Median(v)),
					Runs: len(v),
				})
			}
			slices.SortFunc(l.Margins, func(x, y Margin) int {
				return cmp.Or(-cmp.Compare(x.Used, y.Used), cmp.Compare(x.Rule, y.Rule))
			})
			b.Limiters = append(b.Limiters, l)
		}
	}
}

func (d Document) limiterSections() []section {
	t := newTable("Test", "Arm", "Limited by", "Stopped by the rule", "How the searches ended",
		"Use of the other rules' limits at the capacity")
	for _, l := range d.Limiters {
		var ended, others []string
		for _, c := range l.Stopped {
			ended = append(ended, fmt.Sprintf("%s (%d)", c.Name, c.N))
		}
		for _, m := range l.Margins {
			stopper := false
			for _, c := range l.Rules {
				stopper = stopper || c.Name == m.Rule
			}
			if !stopper {
				others = append(others, fmt.Sprintf("%s: %s %%", m.Rule, sig(100*m.Used, 2)))
			}
		}
		t.add(test(d.engineLabel(l.Engine)), d.armLabel(l.Arm), orDash(namedText(l)), stopText(l),
			orDash(strings.Join(ended, ", ")), orDash(strings.Join(others, "; ")))
	}
	notes := []string{
		"What limited the runs is named from evidence: saturation at the capacity that grew with the load, and was not the symptom of another. " +
			"The rule that was violated says which limit came first, not why the target reached it. Uses are medians over the runs.",
	}
	for _, l := range d.Limiters {
		if l.Evidence != "" {
			notes = append(notes, d.on(l.Engine)+d.armLabel(l.Arm)+": "+l.Evidence)
		}
	}
	return t.section("What stopped the searches", notes...)
}

// limiterText names what limited an arm: the limiters of its runs, or else the rules at which its
// searches ended.
func limiterText(l SearchEnds) string {
	if named := namedText(l); named != "" || len(l.Rules) == 0 {
		return cmp.Or(named, stopText(l))
	}
	return "the rule " + stopText(l)
}

// limited names the limiters of the arms on an engine, with a word between; empty without any.
func (d Document) limited(e Engine, between string) string {
	var parts []string
	for _, l := range d.Limiters {
		if l.Engine == e.Key {
			parts = append(parts, d.armLabel(l.Arm)+between+limiterText(l))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return prefix(e.Label) + strings.Join(parts, "; ")
}

// limitLines name the limiter of each arm, one line for each database.
func (d Document) limitLines() []string {
	var out []string
	for _, e := range d.Engines {
		line := d.limited(e, " by ")
		if line == "" {
			continue
		}
		if slices.ContainsFunc(d.Verdicts,
			func(f NamedVerdict) bool { return f.Engine == e.Key && differing(d, f) != "" }) {
			line += ". The limiters differ: different resources set the supported users"
		}
		out = append(out, line)
	}
	return out
}
