package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/stats"
)

// draft writes the comments and the action items. Those of a person, of the caller or else of the
// plan, take their place, and the draft is kept beside them.
func (b *builder) draft() {
	d := b.Document
	var own plan.Report
	if b.in.Plan != nil {
		own = b.in.Plan.Report
	}
	own = own.With(plan.Report{Comments: b.in.Comments, ActionItems: b.in.Actions})
	d.Comments, d.DraftedComments = b.comments(), true
	d.Actions, d.DraftedActions = b.actions(), true
	if len(own.Comments) > 0 {
		d.CommentsDraft = d.Comments
		d.Comments = slices.Clone(own.Comments)
		d.DraftedComments = false
	}
	if len(own.ActionItems) > 0 {
		d.ActionsDraft = d.Actions
		d.Actions = slices.Clone(own.ActionItems)
		d.DraftedActions = false
	}
}

// personNote marks texts that a person wrote.
func personNote(drafted bool, what string) []string {
	if drafted {
		return nil
	}
	return []string{
		"Written by a person. The " + what + " that were drafted from the findings are in the report's JSON.",
	}
}

// textSections are the comments and the action items.
func (d Document) textSections() []section {
	return []section{
		{Level: 2, Title: "Comments", Items: d.Comments, Raw: !d.DraftedComments,
			Notes: personNote(d.DraftedComments, "comments")},
		{Level: 2, Title: "Action Items", Items: d.Actions, Raw: !d.DraftedActions,
			Notes: personNote(d.DraftedActions, "action items")},
	}
}

func (b *builder) comments() []string {
	d := b.Document
	var out prose
	add := out.add
	if !d.State.Complete {
		add("The comparison is not complete: %d of %d blocks can be judged.", d.State.Judged,
			d.State.Planned)
	}
	for _, t := range b.losses() {
		out = append(out, sentence(t)+".")
	}
	for _, f := range d.Verdicts {
		if t := differing(*d, f); t != "" {
			add("%s%s: their supported users are set by different resources.", d.on(f.Engine), t)
		}
		out = append(out, b.testComments(f)...)
		for _, t := range impliedComments(f) {
			out = append(out, d.whose(f)+t)
		}
	}
	if len(d.Verdicts) == 0 {
		add("There is nothing to judge: no new arm was compared with the base.")
	}
	for _, f := range d.Databases {
		r, ok := resultOf(f.Verdict, capacityName)
		if !ok || len(d.Engines) == 0 || !known(r.Effect) {
			continue
		}
		add("With %s, %s supports %s users than %s%s.", d.armLabel(f.Arm), d.engineLabel(f.Engine),
			changed(r), d.Engines[0].Label, spread(r))
	}
	out = append(append(out, b.brokenRules(false)...), b.brokenRules(true)...)
	for _, c := range b.in.Chapters {
		out = append(out, c.Leads...)
	}
	out = append(out, b.limiterComments()...)
	out = append(out, d.stabilityComments()...)
	out = append(out, b.resolution()...)
	out = append(out, b.disturbanceComments()...)
	if n := len(d.Voided); n > 0 {
		add("%s voided because of runs that were not valid; see Validity.",
			count(n, "block was", "blocks were"))
	}
	for _, t := range d.Ops {
		if len(t.Gone) > 0 {
			add("%sonly the base has %s.", d.on(t.Engine), list(t.Gone))
		}
		if len(t.New) > 0 {
			add("%sthe base does not have %s.", d.on(t.Engine), list(t.New))
		}
	}
	return out
}

// testComments describes the result of the unbounded and of the bounded test in a sentence each.
func (b *builder) testComments(f NamedVerdict) []string {
	var out prose
	base, fresh := b.baseLabel(), b.armLabel(f.Arm)
	name := b.on(f.Engine)
	of := b.whose(f)
	if r, ok := resultOf(f.Verdict, capacityName); ok {
		if known(r.Effect) {
			out.add(
				"%sin the unbounded test %s supports %s users than %s%s; the margin is %s.",
				name,
				fresh,
				changed(r),
				base,
				spread(r),
				size(r.Endpoint, r.Margin),
			)
		} else {
			out.add("%sthe unbounded test gives no size of a difference in supported users; %s: %s.", of,
				kindText(r.Kind, r.Indicative), r.Reason)
		}
	}
	var parts []string
	failed := ""
	for _, k := range []verdict.Kind{verdict.Worse, verdict.Better, verdict.Same, verdict.Inconclusive, verdict.Invalid} {
		var names []string
		for _, r := range ofKind(f.Verdict, k) {
			switch {
			case r.Name == capacityName:
			case r.Name == verdict.FailedRuns: // of both tests
				failed = fmt.Sprintf("%s%s: %s", of, r.Name, kindText(k, r.Indicative))
			case k == verdict.Same || !known(r.Effect):
				names = append(names, r.Name)
			default:
				names = append(names, r.Name+" "+effect(r))
			}
		}
		if len(names) > 0 {
			word := string(k)
			if k == verdict.Inconclusive && f.Verdict.Indicative {
				word = "indicative only"
			}
			parts = append(parts, word+": "+strings.Join(names, ", "))
		}
	}
	if len(parts) > 0 {
		out = append(out, of+"in the bounded test, "+strings.Join(parts, "; ")+".")
	}
	if failed != "" {
		out = append(out, failed+".")
	}
	return out
}

// actions drafts the next steps. Only a complete comparison without anything worse or open lets a
// release continue.
func (b *builder) actions() []string {
	d := b.Document
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	fine := d.State.Complete && len(d.Verdicts) > 0
	for _, f := range d.Verdicts {
		fine = fine && (f.Verdict.Kind == verdict.Same || f.Verdict.Kind == verdict.Better)
		add(d.State.after(f))
	}
	if !d.State.Complete {
		add("Resume or repeat the comparison: what is here is a part of it.")
	}
	if names, stops := b.ownLimits(); len(names) > 0 && d.State.Complete {
		add(fmt.Sprintf("Find the capacity of %s: searches ended at a limit of their own (%s).",
			list(names), list(stops)))
	}
	for _, v := range d.Voided {
		if v.Missing && d.State.Complete {
			add(fmt.Sprintf("Block %d is missing from the verdicts: repair what made its run "+
				"invalid.", v.Block))
		}
	}
	against := b.objections()
	for _, s := range against {
		add(s)
	}
	if fine && len(against) == 0 {
		out = slices.Insert(out, 0, "Release can continue as planned.")
		if len(out) == 1 {
			out = append(out, "No other action needed.")
		}
	}
	if len(out) == 0 {
		out = append(out, "Nothing was judged: look at Validity.")
	}
	return out
}

// after returns the next step after a verdict; empty if it asks for none.
func (s State) after(f NamedVerdict) string {
	v := f.Verdict
	switch {
	case v.Kind == verdict.Worse:
		return fmt.Sprintf("Explain the change on %s before the release continues: %s.", tested(f),
			effects(ofKind(v, v.Kind)))
	case v.Kind == verdict.Invalid:
		return fmt.Sprintf("Look at the runs on %s that gave nothing to judge, and repeat them: "+
			"%s.", tested(f), cmp.Or(unread(v), v.Reason))
	case v.Indicative && s.Judged >= stats.MinPairs:
		var few prose
		for _, r := range v.Results {
			if r.Indicative {
				few.add("%s (%s)", r.Name, count(r.N, "pair", "pairs"))
			}
		}
		return fmt.Sprintf("Measure longer on %s, so that every run has a number: "+
			"of %d blocks too few have one of %s.", tested(f), s.Judged, list(few))
	case v.Indicative:
		return fmt.Sprintf("Repeat over at least %s: fewer blocks carry no verdict.",
			strings.TrimPrefix(s.lasting(stats.MinPairs), "about "))
	case v.Kind == verdict.Inconclusive:
		return s.more(f)
	}
	return ""
}

// objections are the steps that must come before a release whatever the verdicts are.
func (b *builder) objections() []string {
	out := textsOf(append(b.losses(), b.spoiled()...), func(t string) string {
		return "Find out why before anything is released: " + t + "."
	})
	if len(b.canaryWarnings()) > 0 {
		out = append(out, "Repeat the comparison on a quiet host: the environment moved with an "+
			"arm, so that neither a difference nor sameness is the build's alone.")
	}
	if len(b.brokenRules(false)) > 0 {
		out = append(out, "Look at the rules that did not hold in the bounded test, whichever arm "+
			"broke them.")
	}
	return out
}
