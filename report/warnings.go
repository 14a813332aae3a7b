package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/record"
	"plimsoll/stats"
)

// warnings collects the facts that a reader must know before trusting a number.
func (b *builder) warnings() {
	d := b.Document
	all := d.State.notices()
	add := func(cause string, texts []string) {
		for _, t := range texts {
			all = append(all, notice{cause: cause, text: t, changes: true})
		}
	}
	add(causeUnlike, d.mixWarnings())
	add(causeLost, d.lostWarnings())
	all = append(all, b.conductNotices()...)
	add(causeEnvironment, d.canaryWarnings())
	if b.c.Gathered != nil {
		add(causeEnvironment, b.c.Gathered.Warnings)
	}
	all = append(all, userNotices(d.Users, d.userLabel)...)
	all = append(all, b.resultNotices()...)
	all = append(all, d.findingNotices()...)
	var once []notice
	for _, n := range all {
		if !slices.Contains(d.Warnings, n.text) {
			d.Warnings, once = append(d.Warnings, n.text), append(once, n)
		}
	}
	d.WarningGroups = groups(once)
}

// notices are the warnings that a comparison is incomplete, or judged too few blocks.
func (s State) notices() []notice {
	n := notice{cause: causeFew, changes: true}
	switch {
	case !s.Complete:
		n.cause, n.text = causeIncomplete, s.missing(s.ended())
	case s.Judged == 0 && s.Cost > 0:
		n.cause = causeEnvironment
		n.text = "others on the host disturbed every block: only the cost of operations was " +
			"judged, not response times or capacity"
	case s.Judged == 0:
		n.text = "no block could be judged"
	case s.Judged < stats.MinPairs:
		n.text = fmt.Sprintf("%s judged: below %d everything is indicative only",
			count(s.Judged, "block was", "blocks were"), stats.MinPairs)
	default:
		return nil
	}
	return []notice{n}
}

// conductNotices are the warnings of how the comparison went: where searches began, the time of
// repeated runs, and voided blocks.
func (b *builder) conductNotices() []notice {
	var out []notice
	for _, e := range slices.Sorted(maps.Keys(b.c.Unguided)) {
		out = append(out, notice{cause: causeSearch,
			text: fmt.Sprintf("%sthe searches begin where the plan says, because %s", b.on(e),
				b.c.Unguided[e])})
	}
	if b.c.Retried > 0 {
		out = append(out, notice{cause: causeTime,
			text: fmt.Sprintf("%s went into running again what was void, %s of it into waiting "+
				"for a quiet host", b.c.Retried.Round(time.Second), b.c.Waited.Round(time.Second))})
	}
	for _, v := range b.Voided {
		out = append(out,
			notice{
				cause:   causeVoided,
				changes: v.Missing,
				about:   []string{fmt.Sprintf("block %d", v.Block)},
				text:    fmt.Sprintf("block %d was voided (%s); %s", v.Block, v.Why, v.again()),
			})
	}
	return out
}

// findingNotices count the judged runs with findings, by the worst of each.
func (d *Document) findingNotices() []notice {
	amber, red := 0, 0
	for _, r := range d.Runs {
		if r.Part != "judged" || len(r.Finding) == 0 {
			continue
		}
		if slices.ContainsFunc(r.Finding, func(f record.Finding) bool {
			return f.Level == record.Red
		}) {
			red++
		} else {
			amber++
		}
	}
	var out []notice
	if red > 0 {
		out = append(out, notice{cause: causeFindings, changes: true,
			text: fmt.Sprintf("%s a red finding that did not make the run invalid; see Validity",
				count(red, "judged run has", "judged runs have"))})
	}
	if amber > 0 {
		out = append(out, notice{cause: causeFindings,
			text: fmt.Sprintf("%s amber findings; see Validity",
				count(amber, "judged run has", "judged runs have"))})
	}
	return out
}

// resultNotices are the warnings of the verdicts.
func (b *builder) resultNotices() []notice {
	all := slices.Clone(b.Verdicts)
	for _, f := range b.Databases {
		f.Name = b.engineLabel(f.Engine) + " against " + b.Engines[0].Label + " with " +
			b.armLabel(f.Arm)
		all = append(all, f)
	}
	return noticesOf(all)
}
