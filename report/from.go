package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
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
	for _, p := range documentParts() {
		if p.fill != nil {
			p.fill(&b)
		}
	}
	b.warnings()
	b.draft()
	return d
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
		labels := textsOf(b.c.Arms, of)
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

// state fills in how far the comparison came.
func (b *builder) state() {
	s := State{Complete: b.c.State == record.Sealed, State: b.c.State, Why: b.c.Why,
		Planned: b.c.Blocks, Block: b.blockTime()}
	for block, whole := range b.whole {
		if whole && !b.c.Waits(block) {
			s.Judged++
		}
	}
	if slices.ContainsFunc(b.in.Arms, costJudged) {
		s.Cost = b.c.CostBlocks()
	}
	b.State = s
}

func costJudged(j Judged) bool {
	return slices.ContainsFunc(j.Verdict.Results, func(r verdict.Result) bool {
		_, cost := plan.CostOf(r.Name)
		return cost && r.N > 0
	})
}

// blockTime returns how long a block took from the beginning to the end of the comparison, pauses
// left out; 0 where that is not known.
func (b *builder) blockTime() time.Duration {
	runs := 0
	for _, r := range b.c.Runs {
		if !r.Pilot && !r.Cut {
			runs++
		}
	}
	took := b.c.Ended.Sub(b.c.Started)
	for _, r := range b.c.Resumed {
		took -= r.At.Sub(r.Cut)
	}
	if runs == 0 || b.c.Started.IsZero() || b.c.Ended.IsZero() || b.c.Gathered != nil || took <= 0 {
		return 0
	}
	return took * time.Duration(len(b.c.Arms)*max(1, len(b.c.Engines))) / time.Duration(runs)
}
