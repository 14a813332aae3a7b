package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// From makes the document of a comparison. It shares memory with in and changes nothing in it.
// Input that is incomplete (a comparison without runs, without verdicts, without a plan) gives a
// document that states so.
func From(in Input) Document {
	b := builder{in: in, c: in.Comparison}
	if b.c == nil {
		b.c = &record.Comparison{}
	}
	b.whole = b.c.WholeBlocks()
	d := Document{Format: FormatVersion, Name: b.c.Name, Comparison: b.c.ID, Setup: []record.Row{},
		Comments: []string{}, Actions: []string{}, Runs: []RunRow{}}
	b.Document = &d
	b.sortRuns()
	b.protocol()
	b.names()
	b.state()
	b.verdicts()
	for _, p := range parts() {
		if p.fill != nil {
			p.fill(&b)
		}
	}
	b.warnings()
	b.draft()
	return d
}

// A builder fills a document.
type builder struct {
	*Document
	in     Input
	c      *record.Comparison
	whole  map[int]bool // by block: every run of it counts
	judged []RunData    // the runs that verdicts rest on, by block
}

// names fills the arms, the engines and the title.
func (b *builder) names() {
	d := b.Document
	labels := b.labels()
	for i, a := range b.c.Arms {
		d.Arms = append(d.Arms, ArmLabel{Name: a, Label: labels[i], Base: i == 0})
	}
	d.bySettings(b.settings())
	short := map[string]int{}
	for _, e := range b.c.Engines {
		short[shortName(b.fullName(e))]++
	}
	for _, e := range b.c.Engines {
		full := b.fullName(e)
		label := shortName(full)
		if short[label] > 1 {
			label = full
		}
		d.Engines = append(d.Engines, Engine{Key: e, Label: label, Full: full})
	}
	d.Title = strings.TrimSpace("Performance Comparison " + strings.Join(d.armTitles(), " vs "))
}

// labels names the arms by their versions if all of these differ; else arms named base and new by
// their program or address in the plan, if these differ; else by their own names.
func (b *builder) labels() []string {
	for _, of := range []func(arm string) string{b.version, b.given} {
		labels := make([]string, len(b.c.Arms))
		for i, a := range b.c.Arms {
			labels[i] = of(a)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
		if len(distinct) == len(labels) && !slices.Contains(labels, "") {
			return labels
		}
	}
	return slices.Clone(b.c.Arms)
}

// given returns the program or the address that the plan has for an arm named base or new; empty
// without one.
func (b *builder) given(arm string) string {
	if p := b.in.Plan; p != nil && p.Compare != nil &&
		(arm == plan.Base || arm == record.ImportedNew) {
		a, _ := p.Compare.Arm(arm)
		return cmp.Or(a.Binary, a.URL.First())
	}
	return ""
}

// version returns the build of an arm as the plan names it, or else as the target reports it.
func (b *builder) version(arm string) string {
	if p := b.in.Plan; p != nil && p.Compare != nil {
		if a, ok := p.Compare.Arm(arm); ok && a.Version != "" {
			return a.Version
		}
	}
	for _, e := range b.c.Engines {
		if v := b.described(e, arm).Version; v != "" {
			return v
		}
	}
	return ""
}

// fullName returns the name that the server of an engine reports, or else the usual name of the
// engine.
func (b *builder) fullName(engine string) string {
	if n := b.in.EngineNames[engine]; n != "" {
		return n
	}
	if engine == "" {
		return "" // not ours, and not compared
	}
	if db := b.described(engine, "").Database; db != nil && db.Name != "" {
		return db.Full()
	}
	switch engine {
	case "postgresql":
		return "PostgreSQL"
	case "mysql":
		return "MySQL"
	}
	return engine
}

func shortName(full string) string {
	name, _, _ := strings.Cut(full, " ")
	return name
}

// sortRuns picks the judged runs and orders them.
func (b *builder) sortRuns() {
	judged := b.c.Judged()
	for _, r := range b.in.Runs {
		if judged(r.Cell) {
			b.judged = append(b.judged, r)
		}
	}
	slices.SortStableFunc(b.judged,
		func(x, y RunData) int { return cmp.Compare(x.Cell.Block, y.Cell.Block) })
}

// of returns the judged runs of an arm on an engine, by block.
func (b *builder) of(engine, arm string) []RunData {
	var out []RunData
	for _, r := range b.judged {
		if r.Cell.Engine == engine && r.Cell.Arm == arm {
			out = append(out, r)
		}
	}
	return out
}

// on begins a sentence about an engine.
func (d *Document) on(engine string) string { return prefix(d.engineLabel(engine)) }

// baseLabel names the base.
func (d *Document) baseLabel() string { return d.armLabel(baseName(*d)) }

func (d *Document) engineLabel(key string) string {
	for _, e := range d.Engines {
		if e.Key == key {
			return e.Label
		}
	}
	return key
}

// userLabel names an arm on an engine.
func (d *Document) userLabel(u UsersOf) string {
	if e := d.engineLabel(u.Engine); e != "" {
		return e + ", " + d.armLabel(u.Arm)
	}
	return d.armLabel(u.Arm)
}

func (d *Document) armLabel(name string) string {
	for _, a := range d.Arms {
		if a.Name == name {
			return a.Label
		}
	}
	return name
}

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
	if !s.Complete {
		return []notice{
			{cause: causeIncomplete, text: s.missing(s.ended()), changes: true},
		}
	}
	switch {
	case s.Judged == 0 && s.Cost > 0:
		return []notice{{cause: causeEnvironment, changes: true,
			text: "others on the host disturbed every block: only the cost of operations was " +
				"judged, not response times or capacity"}}
	case s.Judged == 0:
		return []notice{{cause: causeFew, text: "no block could be judged", changes: true}}
	case s.Judged < stats.MinPairs:
		return []notice{{cause: causeFew, changes: true,
			text: fmt.Sprintf("%s judged: below %d everything is indicative only",
				count(s.Judged, "block was", "blocks were"), stats.MinPairs)}}
	}
	return nil
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
	var all []judgedAs
	for _, f := range b.Verdicts {
		all = append(all, judgedAs{f.Name, f.Verdict})
	}
	for _, f := range b.Databases {
		all = append(all, judgedAs{
			b.engineLabel(
				f.Engine,
			) + " against " + b.Engines[0].Label + " with " + b.armLabel(
				f.Arm,
			),
			f.Verdict,
		})
	}
	return noticesOf(all)
}

// A judgedAs is a verdict under the name by which warnings call it.
type judgedAs struct {
	name    string
	verdict verdict.Verdict
}

// missing states that a comparison is not complete, the reason, and how much of it can be judged,
// where its blocks are known.
func (s State) missing(how string) string {
	if s.Planned == 0 {
		return s.Why
	}
	return fmt.Sprintf("the comparison is not complete (%s): %d of %d blocks can be judged", how,
		s.Judged, s.Planned)
}

// ended describes the end of a comparison that is not complete.
func (s State) ended() string {
	word := stateWord(s.State)
	if s.Why == "" || strings.HasPrefix(s.Why, word) {
		return cmp.Or(s.Why, word)
	}
	return word + ": " + s.Why
}

func stateWord(s record.State) string {
	if s == "" {
		return "state unknown"
	}
	return string(s)
}
