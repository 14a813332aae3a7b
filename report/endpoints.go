package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/judge/attribution"
	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// kindNotes state which operations typical(op) compares, and how operations count in a cost.
func kindNotes(f NamedVerdict) []string {
	var out prose
	for _, r := range f.Verdict.Results {
		if k := r.Kinds; k != nil && (k.Compared > 1 || len(k.Left) > 0) {
			out.add("%s, the %s: %s.", r.Name, r.Text(), k.Sentence())
		}
		if r.Kinds != nil && len(r.Kinds.Changed) > 0 {
			out.add("%s: %s.", r.Name, changedKinds(r.Kinds.Changed))
		}
		if r.Kinds != nil && r.Kinds.Alike != nil {
			out.add("%s: %s.", r.Name, alikeText(*r.Kinds))
		}
		if r.Mix != nil {
			out.add("%s: %s.", r.Name, r.Mix.Sentence())
		}
	}
	return out
}

// mostKinds limits the operations that a sentence names.
const mostKinds = 5

// changedKinds lists the kinds of operations behind typical(OP) that changed.
func changedKinds(all []verdict.KindShift) string {
	var names []string
	for _, k := range all[:min(len(all), mostKinds)] {
		share := fixed(100*k.Share, 0)
		names = append(names, fmt.Sprintf("%s, %s %% of the change", operationText(k), share))
	}
	text := count(len(all), "kind", "kinds") + " changed for certain: " + strings.Join(names, "; ")
	if more := len(all) - mostKinds; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// operationText writes a kind of operations with its change: "view_channel (+66 % [+55, +77])".
func operationText(k verdict.KindShift) string {
	change := attribution.IntervalEstimate{Value: k.Effect, Low: k.Lo, High: k.Hi}
	return k.Kind + " (" + changeText(change) + ")"
}

// alikeText tells what kinds of operations have in common: "13 of 14 kinds of operations take 19.8
// to 21.2 ms longer each".
func alikeText(k verdict.Kinds) string {
	a := *k.Alike
	least, most, word := a.Least, a.Most, "longer"
	if most < 0 {
		least, most, word = -most, -least, "less"
	}
	between := sig(least, 3) + " to " + sig(most, 3) + " ms "
	if a.Unit != "ms" {
		between = fixed(100*least, 0) + " to " + fixed(100*most, 0) + " % "
	}
	who := "all " + count(k.Compared, "kind", "kinds")
	if a.Kinds < k.Compared {
		who = fmt.Sprintf("%d of %d kinds", a.Kinds, k.Compared)
	}
	return who + " of operations take " + between + word + " each"
}

// typicalLines tell what the operations behind a typical response time that is worse or better have
// in common, or name those that make most of it: at most two, of those that go its way.
func typicalLines(f NamedVerdict) []string {
	var out []string
	for _, r := range f.Verdict.Results {
		if r.Kinds == nil || !decided(r) {
			continue
		}
		if r.Kinds.Alike != nil {
			out = append(out, r.Name+" "+effect(r)+": "+alikeText(*r.Kinds))
			continue
		}
		var parts []string
		for _, k := range r.Kinds.Changed {
			if k.Share >= leastPart && len(parts) < 2 {
				parts = append(parts, shareText(k.Share)+" of it is "+operationText(k))
			}
		}
		if len(parts) > 0 {
			out = append(out, r.Name+" "+effect(r)+": "+strings.Join(parts, "; "))
		}
	}
	return out
}

// impliedNotes states the effect of changed costs on the supported users, a sentence each.
func impliedNotes(f NamedVerdict) []string {
	var out []string
	for _, r := range f.Verdict.Results {
		if r.Implies != nil {
			out = append(out, r.Name+": "+r.Implies.Sentence)
		}
	}
	return out
}

// impliedComments lists the implied notes of the first page: of costs that are worse or better, and
// of costs that the searches contradict.
func impliedComments(f NamedVerdict) []string {
	changed := NamedVerdict{}
	for _, r := range f.Verdict.Results {
		if m := r.Implies; m != nil && (decided(r) || m.Search == verdict.Contradicted) {
			changed.Verdict.Results = append(changed.Verdict.Results, r)
		}
	}
	return impliedNotes(changed)
}

func (b *builder) verdicts() {
	d := b.Document
	d.Verdicts = b.findings(b.in.Arms, len(d.Arms) > 2)
	d.Databases = b.findings(b.in.Databases, true)
	all := make([]verdict.Verdict, 0, len(d.Verdicts))
	for _, f := range d.Verdicts {
		all = append(all, f.Verdict)
		for _, r := range f.Verdict.Results {
			if r.Kind == verdict.Inconclusive {
				d.BlocksForSame = addBlocks(d.BlocksForSame, f.Name, r)
			}
		}
	}
	d.Kind = verdict.Worst(all...)
	for _, f := range d.Verdicts {
		d.Indicative = d.Indicative || d.Kind == verdict.Inconclusive && f.Verdict.Kind == d.Kind &&
			f.Verdict.Indicative
	}
}

func (b *builder) findings(js []Judged, withArm bool) []NamedVerdict {
	out := make([]NamedVerdict, 0, len(js))
	for _, j := range js {
		f := NamedVerdict{Engine: j.Engine, Arm: j.Arm, Verdict: j.Verdict, Secondary: j.Secondary,
			Shifts: j.Shifts, Skipped: skippedRows(j.Skipped), Name: b.engineLabel(j.Engine)}
		switch {
		case f.Name == "":
			f.Name = b.armLabel(j.Arm)
		case withArm:
			f.Name += ", " + b.armLabel(j.Arm)
		}
		out = append(out, f)
	}
	return out
}

// skippedRows are reasons by endpoint, as rows in the order of the endpoints.
func skippedRows(why map[string]string) (out []record.Row) {
	for _, name := range slices.Sorted(maps.Keys(why)) {
		out = append(out, record.Row{Name: name, Value: why[name]})
	}
	return out
}

func (d Document) endpointSections() []section {
	var out []section
	for i, f := range d.Verdicts {
		base, fresh := d.baseLabel(), d.armLabel(f.Arm)
		notes := append(endpointNotes(f, base, fresh), d.omissionNotes(f)...)
		if i == 0 {
			notes = append(
				notes,
				"Could find: the change that this many pairs with this spread find in four of five cases. "+
					"Needed: how long a comparison takes whose numbers are like these until it has a verdict. One verdict per database holds its level over all endpoints (Holm).",
			)
		}
		out = append(out,
			section{Level: 3, Title: d.titleOf("Primary endpoints", f),
				Table: d.State.endpointTable(f, base, fresh), Notes: notes})
	}
	return out
}

// blockSections states how many blocks it takes to find endpoints the same.
func (d Document) blockSections() []section {
	return blocksTable(d.BlocksForSame).section("Blocks to say the same", blocksNote)
}

// databaseSections are the verdicts on databases against the first.
func (d Document) databaseSections() []section {
	var out []section
	for _, f := range d.Databases {
		base, fresh := d.Engines[0].Label, d.engineLabel(f.Engine)
		out = append(out, section{
			Level: 3, Title: d.titleBetween("Databases", f),
			Table: d.State.endpointTable(f, base, fresh), Notes: endpointNotes(f, base, fresh),
		})
	}
	return out
}

// endpointNotes are the notes below every table of endpoints.
func endpointNotes(f NamedVerdict, base, fresh string) []string {
	return slices.Concat(kindNotes(f), impliedNotes(f), clockNotes(f, base, fresh), skippedNotes(f))
}

func (s State) endpointTable(f NamedVerdict, base, fresh string) *table {
	t := newTable(
		"Endpoint",
		"!Verdict",
		">"+base,
		">"+fresh,
		">Effect",
		">Margin",
		">Could find",
		">Pairs",
		">Needed",
		"Why",
	)
	for _, r := range f.Verdict.Results {
		needed := dash
		if r.PairsNeeded > 0 {
			needed = s.briefly(r.PairsNeeded)
		}
		t.add(
			r.Name,
			kindText(r.Kind, r.Indicative),
			summary(r.Endpoint, r.Base),
			summary(r.Endpoint, r.New),
			effect(r),
			size(r.Endpoint, r.Margin),
			size(r.Endpoint, r.MDE),
			r.N,
			needed,
			r.Reason,
		)
	}
	return t
}

func skippedNotes(f NamedVerdict) []string {
	var out prose
	for _, s := range f.Skipped {
		out.add("Not judged: %s (%s).", s.Name, s.Value)
	}
	return out
}

// leastByClock is the smallest share of a cost whose removal is stated.
const leastByClock = 0.01

// clockNotes states the CPU time that pauses of a duet added and that was left out of costs.
func clockNotes(f NamedVerdict, base, fresh string) []string {
	var parts prose
	for _, r := range f.Verdict.Results {
		if max(r.ByClock[0], r.ByClock[1]) >= leastByClock {
			parts.add("%s %.1f %% of %s and %.1f %% of %s",
				r.Name, 100*r.ByClock[0], base, 100*r.ByClock[1], fresh)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{
		"CPU time that follows the clock, and that pauses added, is left out, in each block by itself: " +
			strings.Join(parts, "; ") + ".",
	}
}

// addBlocks adds the number of blocks it takes to find a result the same, if it is defined.
func addBlocks(out []BlocksFor, of string, r verdict.Result) []BlocksFor {
	each := r.BlocksForSame()
	if each == nil {
		return out
	}
	return append(out,
		BlocksFor{Of: of, Endpoint: r.Name, Effect: Number(r.Effect), Margin: r.Margin, Pairs: r.N,
			Each: each})
}

// blocksTable shows how many blocks it takes, a row per endpoint and a column per spread.
func blocksTable(blocks []BlocksFor) *table {
	head := []string{"Endpoint", ">Delta", ">Margin", ">Pairs"}
	named := slices.ContainsFunc(blocks, func(b BlocksFor) bool { return b.Of != "" })
	if named {
		head = append([]string{"Test"}, head...)
	}
	for _, sd := range verdict.RunSDs() {
		head = append(head, ">sd "+trim(fixed(100*sd, 1))+" %")
	}
	t := newTable(head...)
	for _, b := range blocks {
		var row []string
		if named {
			row = append(row, b.Of)
		}
		row = append(row, b.Endpoint, fixed(100*b.Effect, 2)+"%", trim(fixed(100*b.Margin, 1))+" %",
			strconv.Itoa(b.Pairs))
		for _, e := range b.Each {
			row = append(row, blocksText(e))
		}
		t.add(row)
	}
	return t
}

func blocksText(b verdict.Blocks) string {
	switch {
	case b.Never:
		return "never"
	case b.TooMany:
		return "> 10000"
	}
	return strconv.Itoa(b.Blocks)
}

// blocksNote explains the table of blocks.
const blocksNote = "How many blocks (one run of each arm) it takes until four in five comparisons say \"the same within the margin\", " +
	"if the true difference is the one shown, by how much runs of one build vary (sd). Never: the difference lies outside the margin. " +
	"Fewer than six blocks carry no verdict."

// BlocksText writes below a result, for a screen, how many blocks it takes to find the same;
// nothing where that is not defined.
func BlocksText(w io.Writer, r verdict.Result) error {
	blocks := addBlocks(nil, "", r)
	if len(blocks) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteByte('\n')
	writeBlocks(&b, blocks)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBlocks writes the numbers of blocks in columns, with their note; nothing where there are
// none.
func writeBlocks(b *strings.Builder, blocks []BlocksFor) {
	if len(blocks) == 0 {
		return
	}
	t := blocksTable(blocks)
	for _, l := range columns(slices.Concat([][]string{t.Head}, t.Rows), nil, "   ") {
		b.WriteString(l + "\n")
	}
	b.WriteString("\n" + blocksNote + "\n")
}
