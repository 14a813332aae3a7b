package report

import (
	"fmt"
	"strings"

	"plimsoll/judge/limiter"
	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/stats"
)

// whose begins a sentence that does not name the arm of a finding itself.
func (d Document) whose(f NamedVerdict) string {
	if len(d.Arms) > 2 {
		return prefix(f.Name)
	}
	return d.on(f.Engine)
}

// headline is the verdict of one finding in one line, without a period, and which endpoints it
// stands on where the plan could not decide all.
func headline(d Document, f NamedVerdict) string {
	limits := differing(d, f)
	if limits != "" {
		limits += "; "
	}
	return headlineOf(d, f, limits)
}

// headlineOf is the headline with a text before its conclusion.
func headlineOf(d Document, f NamedVerdict, before string) string {
	text := conclusion(d, f, before)
	if on := f.Verdict.StandsOn(); on != "" {
		text += "; " + on
	}
	return text
}

// conclusion is the headline without the endpoints that it stands on.
func conclusion(d Document, f NamedVerdict, before string) string {
	v := f.Verdict
	base, fresh := d.baseLabel(), d.armLabel(f.Arm)
	name := d.on(f.Engine) + before
	if v.Kind != verdict.Same && v.Kind != verdict.Worse && v.Kind != verdict.Better {
		name = d.whose(f) + before
	}
	switch {
	case len(v.Results) == 0:
		return name + "there was no endpoint to judge"
	case v.Indicative:
		return fmt.Sprintf("%s%s indicative only, at least %d are needed for a verdict (%s)", name,
			count(fewest(v), "pair is", "pairs are"), stats.MinPairs, effects(v.Results))
	case v.Kind == verdict.Same:
		return fmt.Sprintf("%s%s is the same as %s within the margins (%s)", name, fresh, base,
			effects(v.Results))
	case v.Kind == verdict.Worse || v.Kind == verdict.Better:
		return fmt.Sprintf("%s%s is %s than %s: %s", name, fresh, v.Kind, base,
			effects(ofKind(v, v.Kind)))
	case v.Kind == verdict.Inconclusive:
		return fmt.Sprintf("%sinconclusive: %s", name, reasons(ofKind(v, v.Kind)))
	default:
		return name + unread(v)
	}
}

// unread names the endpoints of an invalid verdict that have no result, with the reason: "no result
// for errors: there is no valid pair".
func unread(v verdict.Verdict) string {
	var by byReason
	for _, r := range ofKind(v, verdict.Invalid) {
		by.add(r.Reason, r.Name)
	}
	return strings.Join(by.texts("no result for %s: %s"), "; ")
}

// differing reports that base and new arm had different limiters: then their capacities depend less
// on the builds than on their surroundings, and every sentence about them begins with that. It is
// empty where they were not, or where one arm's runs do not agree on a limiter.
func differing(d Document, f NamedVerdict) string {
	base, fresh := agreed(d, f.Engine, baseName(d)), agreed(d, f.Engine, f.Arm)
	if base.Name == "" || fresh.Name == "" || base.Name == fresh.Name {
		return ""
	}
	of := func(arm string, c Count) string {
		return fmt.Sprintf("%s by %s (%s)", d.armLabel(arm), c.Name, count(c.N, "run", "runs"))
	}
	return fmt.Sprintf("the limiters differ, %s, %s", of(baseName(d), base), of(f.Arm, fresh))
}

// agreed is the limiter that at least two thirds of the runs of an arm that name any have. That
// nothing qualified is none.
func agreed(d Document, engine, arm string) Count {
	for _, l := range d.Limiters {
		if l.Engine != engine || l.Arm != arm || len(l.Named) == 0 {
			continue
		}
		all := 0
		for _, c := range l.Named {
			all += c.N
		}
		if l.Named[0].Name != limiter.LimitUnknown && 3*l.Named[0].N >= 2*all {
			return l.Named[0]
		}
	}
	return Count{}
}

func fewest(v verdict.Verdict) int {
	n := v.Results[0].N
	for _, r := range v.Results {
		n = min(n, r.N)
	}
	return n
}

func ofKind(v verdict.Verdict, k verdict.Kind) []verdict.Result {
	var out []verdict.Result
	for _, r := range v.Results {
		if r.Kind == k {
			out = append(out, r)
		}
	}
	return out
}

// effects lists endpoints with their effects: "capacity -12.8 % [-14.7, -10.9], p95(post) +25 %";
// one without a size has its reason.
func effects(results []verdict.Result) string {
	return strings.Join(textsOf(results, func(r verdict.Result) string {
		switch {
		case known(r.Effect):
			return r.Text() + " " + effect(r) + inParens(r.InsideMargin())
		case r.Indicative:
			return r.Name + " of unknown size"
		default:
			return r.Name + " (" + r.Reason + ")"
		}
	}), ", ")
}

// reasons lists endpoints with why they are of their kind; those with the same reason share it.
func reasons(results []verdict.Result) string {
	var by byReason
	for _, r := range results {
		name := r.Text()
		if known(r.Effect) {
			name += " " + effect(r)
		}
		by.add(r.Reason, name)
	}
	return strings.Join(by.texts("%s (%s)"), "; ")
}

// changed writes a relative effect in words: "4.1 % fewer".
func changed(r verdict.Result) string {
	word := "more"
	if r.Effect < 0 {
		word = "fewer"
	}
	text := percent(r.Effect)
	if r.HasInterval() {
		text = signed(100*r.Effect, spanDecimals(100*r.Lo, 100*r.Hi)) + " %"
	}
	return strings.TrimLeft(text, "+-") + " " + word
}

func spread(r verdict.Result) string {
	if !r.HasInterval() {
		return fmt.Sprintf(" (%s, indicative only)", count(r.N, "pair", "pairs"))
	}
	lo, hi, level := r.Decisive()
	n := spanDecimals(100*lo, 100*hi)
	text := fmt.Sprintf("%s interval %s %% to %s %%", verdict.LevelText(level), signed(100*lo, n),
		signed(100*hi, n))
	if r.Indicative {
		text += ", indicative only"
	} else {
		text += "; judged " + string(r.Kind)
	}
	return " (" + text + ")"
}

// resolution states the smallest changes that the comparison could have found.
func (b *builder) resolution() []string {
	var out prose
	for _, f := range b.Verdicts {
		if f.Verdict.Indicative {
			continue
		}
		var parts prose
		n := 0
		for _, r := range f.Verdict.Results {
			if known(r.MDE) && r.MDE > 0 {
				parts.add("%s in %s", size(r.Endpoint, r.MDE), r.Name)
				n = max(n, r.N)
			}
		}
		if len(parts) > 0 {
			out.add("%s: %s could find a change of %s (in four of five cases).", f.Name,
				count(n, "pair", "pairs"), list(parts))
		}
	}
	return out
}

// losses count the messages that arms accepted and did not keep, or did not deliver.
func (b *builder) losses() []string {
	var out prose
	for _, u := range b.Users {
		of := b.on(u.Engine) + b.armLabel(u.Arm)
		if a, m := u.Audit, u.Messages; a != nil && a.Missing > 0 {
			out = append(out, gone(of, a.Missing, a.Expected))
		} else if m.Lost > 0 {
			out.add("%s did not bring %d of %d deliveries", of, m.Lost, m.Expected())
		}
	}
	return out
}

func gone(of string, missing, expected int) string {
	return fmt.Sprintf("%s lost %s that it had acknowledged, of %d", of,
		count(missing, "message", "messages"), expected)
}

// spoiled lists the failures of targets in voided runs. No verdict uses these runs, but a release
// must account for them.
func (b *builder) spoiled() []string {
	var out prose
	for _, r := range b.in.Runs {
		c := r.Cell
		if c.Cut || c.Pilot || !c.Dropped {
			continue
		}
		of := fmt.Sprintf("%s%s in the voided block %d", b.on(c.Engine), b.armLabel(c.Arm), c.Block)
		for _, f := range r.Validity.Findings {
			if f.Level == record.Red && record.GateCause(f.Gate) == record.ByTarget {
				out.add("%s: %s: %s", of, f.Gate, f.Text)
			}
		}
		if x := r.Users; x != nil && x.Audit != nil && x.Audit.Missing > 0 {
			out = append(out, gone(of, x.Audit.Missing, x.Audit.Expected))
		}
	}
	return out
}

// tested names the subject of a finding, in the middle of a sentence.
func tested(f NamedVerdict) string {
	if f.Engine == "" {
		return "the target"
	}
	return f.Name
}

// more states how long an inconclusive comparison has to be.
func (s State) more(f NamedVerdict) string {
	need := 0
	var open, unreachable, bounds []string
	var unread byReason
	for _, r := range ofKind(f.Verdict, verdict.Inconclusive) {
		switch {
		case r.N == 0 && r.Failed == nil:
			unread.add(r.Reason, r.Name)
		case r.Censored():
			bounds = append(bounds, r.Name)
		case r.OutOfReach():
			unreachable = append(unreachable, r.Name)
		case r.PairsNeeded > r.N:
			need = max(need, r.PairsNeeded)
			open = append(open, r.Name)
		default:
			open = append(open, r.Name)
		}
	}
	text := fmt.Sprintf("Repeat the comparison on %s", tested(f))
	if need > 0 {
		text += " over " + s.lasting(need)
	}
	if len(open) > 0 {
		text += ": " + list(open) + " " + verb(len(open), "is", "are") + " open"
	}
	if len(bounds) > 0 {
		text += ", once the searches find more than lower bounds: " + list(bounds) + " " +
			verb(len(bounds), "is", "are") + " open"
	}
	if len(unreachable) > 0 {
		text += fmt.Sprintf(
			"; for %s no number of blocks up to %d is known to be enough, so make the runs steadier or longer first",
			list(unreachable),
			verdict.MostBlocks,
		)
	}
	return text + strings.Join(unread.texts("; no number of %s: %s"), "") + "."
}
