package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/statements"
	"plimsoll/watch/query"
)

// whySections are the sections on the origin of differences.
func (d Document) whySections() []section {
	var out []section
	for i := range d.Why {
		out = append(out, d.costSections(&d.Why[i])...)
	}
	for _, s := range d.Statements {
		out = append(out, d.statementSections(s)...)
	}
	if out = append(out, d.suspectSections()...); len(out) == 0 {
		return nil
	}
	return append([]section{{Level: 2, Title: "Why"}}, out...)
}

// whyTitle names an endpoint of an arm on an engine.
func (d Document) whyTitle(what, engine, arm string) string {
	title := what + dashLabel(d.engineLabel(engine))
	if len(d.Arms) > 2 {
		title += ", " + d.armLabel(arm)
	}
	return title
}

func (d Document) costSections(w *Why) []section {
	lead := section{Level: 3, Title: d.whyTitle("Parts of "+w.Endpoint, w.Engine, w.Arm),
		Items: prose{w.Sentence + "."}}
	if w.Withheld != "" {
		return []section{lead}
	}
	lead.Table, lead.Notes = w.partTable(), w.notes()
	if f := d.flame(w); f != nil {
		lead.Drawing = f
	}
	functions := w.functionTable([2]string{d.baseLabel(), d.armLabel(w.Arm)})
	return append([]section{lead}, functions.section(
		d.whyTitle("Functions that changed "+w.Endpoint, w.Engine, w.Arm),
		"With what they call outside the program itself. Q: the share of false "+
			"findings among those that are as certain as this one or more.")...)
}

// partTable is the parts of a difference; its last row is their sum.
func (w *Why) partTable() *table {
	u := unitOf(max(w.Base, w.New))
	t := newTable("Part", ">"+u.unit+" per operation", ">Of the difference")
	for _, p := range w.Parts {
		t.add(w.partName(p), u.change(p.Cost), w.share(p.Share))
	}
	t.add(fmt.Sprintf("sum: from %s to %s %s", u.text(w.Base), u.text(w.New), u.unit),
		signed(u.scale*(w.New-w.Base), u.decimals), w.share(1))
	return t
}

// share writes a share of the difference; a dash where the difference may be zero.
func (w *Why) share(share float64) string {
	if !known(share) || share == 0 || w.Change.Low*w.Change.High <= 0 {
		return dash
	}
	return fixed(100*share, 0) + " %"
}

// partName names a part in a table.
func (w *Why) partName(p attribution.CostPart) string {
	switch p.Kind {
	case attribution.PartFunction:
		return shortFunction(p.Name)
	case attribution.PartSpread:
		return evenly
	case attribution.PartRest:
		return "other functions"
	case attribution.PartUnknown:
		return "not sampled"
	default:
		return p.Name
	}
}

func (w *Why) functionTable(arms [2]string) *table {
	u := unitOf(max(w.Base, w.New))
	t := newTable("Function", "Remark", ">Base "+u.unit, ">New", ">Change",
		">"+u.unit+" per operation", ">Q", "Called by", "Full name")
	for _, f := range w.Findings {
		callers := textsOf(f.Callers, func(c attribution.Function) string {
			return shortFunction(c.Name)
		})
		full := f.Function.Name
		if f.From != nil {
			full += ", in the base " + f.From.Name
		}
		t.add(shortFunction(f.Function.Name), orDash(strings.Join(remarks(f, arms), ", ")),
			u.text(f.Base), u.text(f.New), orDash(changeText(f.Change)), u.change(f.Cost),
			doubt(f.Q), orDash(strings.Join(callers, ", ")), full)
	}
	return t
}

// doubt writes a false discovery rate.
func doubt(q float64) string {
	if q < 0.0001 {
		return "< 0.0001"
	}
	return sig(q, 2)
}

// notes state how much the parts rest on, and how to look further.
func (w *Why) notes() prose {
	var out prose
	if could := w.couldFind(); could != "" {
		out.add("This comparison finds a change of one function by %s of %s in four of five cases. "+
			"Intervals are at 95 %%, over %s.", could, w.Endpoint, count(w.Blocks, "block", "blocks"))
	}
	if w.Without > 0 {
		out.add("%s no profile, and %s left out: the difference is that of the others.",
			count(w.Without, "judged block has", "judged blocks have"),
			verb(w.Without, "is", "are"))
	}
	if w.Profiles[0] != "" {
		out.add("The profiles of the first block, in the directory of the store: go tool pprof "+
			"-diff_base %s %s", w.Profiles[0], w.Profiles[1])
	}
	return out
}

func (d Document) statementSections(s StatementsOf) []section {
	title := d.whyTitle("Statements", s.Engine, s.Arm)
	if s.Withheld != "" {
		return []section{{Level: 3, Title: title, Notes: prose{s.withheld()}}}
	}
	u := unitOf(max(s.Base, s.New))
	about := fmt.Sprintf("Execution time of all statements per operation: %s %s in the base, %s in "+
		"%s (%s), over %s.", u.text(s.Base), u.unit, u.text(s.New), d.armLabel(s.Arm),
		orDash(changeText(s.Change)), count(s.Blocks, "block", "blocks"))
	if c := changeText(s.Common); c != "" && s.Common.Low*s.Common.High > 0 {
		about += " The server as a whole takes " + c + " per call; changes per call are beyond that."
	}
	if s.More > 0 {
		about += fmt.Sprintf(" %s.",
			count(s.More, "more statement changed", "more statements changed"))
	}
	out := []section{{Level: 3, Title: title, Notes: prose{about}}}
	if len(s.Findings) == 0 {
		out[0].Notes.add("No statement changed.")
	} else {
		out[0].Table = changedTable(s, u)
	}
	return append(out, d.planTable(s).section(d.whyTitle("Plans that differ", s.Engine, s.Arm))...)
}

func changedTable(s StatementsOf, u perOperation) *table {
	t := newTable("Operation", "Statement", "Changed", ">"+u.unit+" per operation",
		">Of the difference", ">Q")
	for _, f := range s.Findings {
		text := f.Text
		if f.From != "" {
			text += " (in the base: " + f.From + ")"
		}
		share := dash
		if f.Share != 0 {
			share = fixed(100*f.Share, 0) + " %"
		}
		t.add(orDash(f.Operation), text, orDash(strings.Join(statementFacts(f), "; ")),
			u.change(f.Cost), share, doubt(f.Q))
	}
	return t
}

// planTable has the plans that differ, of the statements that changed and then of others.
func (d Document) planTable(s StatementsOf) *table {
	t := newTable("Operation", "Statement", "Time", "Plan of "+d.baseLabel(),
		"Plan of "+d.armLabel(s.Arm))
	for _, f := range slices.Concat(s.Findings, s.Plans) {
		if f.Plan == nil {
			continue
		}
		change := "did not change for certain"
		for _, x := range f.Figures {
			if x.Measure == statements.Time && f.Kind != statements.Planned {
				change = orDash(changeText(x.Change))
			}
		}
		t.add(orDash(f.Operation), short(plain.OneLine(f.Text), longStatement), change,
			oneLinePlan(f.Plan.Base), oneLinePlan(f.Plan.New))
	}
	return t
}

// withheld writes why no statement is compared, and the remedy.
func (s StatementsOf) withheld() string {
	text := "Not compared: " + cmp.Or(missingText[s.Missing], string(s.Withheld))
	if s.Remedy != "" {
		text += "; to enable it: " + s.Remedy
	}
	return text + "."
}

var missingText = map[query.Missing]string{
	query.Off:        "the server does not count statements",
	query.Refused:    "the server does not let this user read the counts of statements",
	query.Reset:      "the server's counts of statements began anew in the measured phase",
	query.Shared:     "the arms take turns on one database, which is not paused",
	query.Unanswered: "the server did not give its counts of statements in time",
	query.NoDatabase: "no database of the target is known here",
}

// oneLinePlan writes a plan on one line: a step in the one before it is behind an arrow.
func oneLinePlan(plan string) string {
	var steps []string
	for line := range strings.Lines(plan) {
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		steps = append(steps, strings.Repeat("› ", depth)+strings.TrimSpace(line))
	}
	return strings.Join(steps, "  ")
}
