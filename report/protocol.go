package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// protocol fills in the Protocol; nothing for a comparison without records of it.
func (b *builder) protocol() {
	c := b.c
	if !c.AA && len(c.Looks) == 0 && c.Before == nil && len(c.Resumed) == 0 && c.Mode == "" &&
		c.Gathered == nil {
		return
	}
	stood, balanced := places(b.in.Plan, b.judgedBlocks())
	b.Protocol = &Protocol{Mode: c.Mode, ModeWhy: c.ModeWhy, Places: stood, Unbalanced: !balanced,
		Duet: b.duetTurns(), AA: c.AA, PlanDigest: c.PlanDigest,
		Looks: c.Looks, Budget: c.Budget, Before: c.Before, Resumed: c.Resumed}
	if c.Gathered != nil {
		b.Protocol.Gathered = c.Gathered.How
	}
}

// Foresight states before the first run how long a comparison takes and which changes it can find,
// a sentence a line. label names an engine for people.
func Foresight(b record.Before, looks []record.Look, label func(engine string) string) []string {
	var out prose
	add := out.add
	if b.Budget > 0 {
		add("%s", budgetText(b))
	} else {
		took := fmt.Sprintf("about %s after deployment", aboutTime(b.Most))
		if len(looks) > 1 {
			took = fmt.Sprintf("after deployment about %s if the first look decides, %s if none does",
				aboutTime(b.Least), aboutTime(b.Most))
		}
		if b.Retry > 0 {
			took += fmt.Sprintf("; up to %s more for voided blocks, which are run again", aboutTime(b.Retry))
		}
		add("%s, %s", count(b.Runs, "run", "runs"), took)
	}
	if len(looks) > 0 {
		add("%s, %s, which together are 5 %%", plannedText(looks), levelsText(looks))
	}
	out = append(out, noiseText(b, label))
	if t := Findable(b, label); t != "" {
		out = append(out, t)
	}
	return out
}

// noiseText cites the results of comparisons of a build with itself in this environment.
func noiseText(b record.Before, label func(string) string) string {
	if len(b.Noise) == 0 {
		return "the noise of this environment is not known: plimsoll compare -aa PLAN measures it by comparing the base with itself"
	}
	lines := 0
	wrong := 0
	pairs := 0
	most := 0

	var parts []string
	engine := ""
	for i, n := range b.Noise {
		lines += n.Lines
		wrong += n.False
		most = max(most, n.Comparisons)
		if pairs == 0 || n.Pairs < pairs {
			pairs = n.Pairs
		}
		name := n.Metric
		if i == 0 || n.Engine != engine {
			name, engine = prefix(label(n.Engine))+n.Metric, n.Engine
		}
		parts = append(parts, name+" "+spreadText(n.RunSD(), n.Absolute))
	}
	text := fmt.Sprintf(
		"noise of this environment (sd of runs, from %s of a build with itself): %s; %d of %s better or worse",
		count(most, "comparison", "comparisons"),
		strings.Join(parts, ", "),
		wrong,
		count(lines, "line was", "lines were"),
	)
	if pairs < stats.MinPairs {
		text += fmt.Sprintf(
			" (from %s only; at least %d are asked for)",
			count(pairs, "pair", "pairs"),
			stats.MinPairs,
		)
	}
	return text
}

// Findable states the changes that the planned blocks of a comparison can find; empty for a
// comparison without forecasts. label names an engine, as in [Foresight].
func Findable(b record.Before, label func(string) string) string {
	all := b.Expected
	if len(all) == 0 {
		return ""
	}
	if all[0].MDE == 0 {
		return fmt.Sprintf("%s no verdict, whatever they show: at least %d are needed",
			count(all[0].Blocks, "block carries", "blocks carry"), stats.MinPairs)
	}
	var parts, names, assumed []string // names has the names of the last part
	engine, last := "", ""
	for i, x := range all {
		e := plan.Endpoint{Name: x.Metric, Absolute: x.Absolute, Unit: x.Unit}
		name := x.Metric
		if i == 0 || x.Engine != engine {
			name, engine, last = prefix(label(x.Engine))+x.Metric, x.Engine, ""
		}
		text := size(e, x.MDE)
		if x.MDE > x.Margin {
			needed := "more blocks than make sense"
			if x.Needed > 0 {
				needed = State{Block: b.Most / time.Duration(max(x.Blocks, 1))}.lasting(x.Needed)
			}
			text += fmt.Sprintf(" (the margin of %s needs %s)", size(e, x.Margin), needed)
		}
		if text == last {
			parts = parts[:len(parts)-1]
		} else {
			names = nil
		}
		names, last = append(names, name), text
		parts = append(parts, list(names)+" "+text)
		if a := spreadText(x.RunSD,
			x.Absolute) + " for " + kindOf(x.Metric); x.Assumed && !slices.Contains(assumed, a) {
			assumed = append(assumed, a)
		}
	}
	out := fmt.Sprintf("%d blocks find in four of five cases: %s", all[0].Blocks,
		strings.Join(parts, ", "))
	if len(assumed) > 0 {
		out += fmt.Sprintf("; assumed, not measured: an sd of runs of %s", list(assumed))
	}
	return out
}

func kindOf(metric string) string {
	switch {
	case metric == capacityName:
		return "capacity"
	case strings.HasPrefix(metric, "throughput"):
		return "throughput"
	}
	return "latencies"
}

// protocolSections describe the protocol.
func (d Document) protocolSections() []section {
	p := d.Protocol
	if p == nil {
		return nil
	}
	s := section{Level: 3, Title: "How it was compared"}
	add := s.Items.add
	if p.AA {
		add(
			"All arms are one build: every difference is noise, and a verdict of better or worse is a false one. The store's registry of such comparisons has its lines (plimsoll ls -aa).",
		)
	}
	s.Items.say(p.Gathered...)
	s.Items.say(p.modeTexts(d)...)
	s.Items.say(d.levelTexts()...)
	if b := p.Before; b != nil {
		add("Before the first run (%s, plan %s) it was stated:",
			b.At.UTC().Format("2006-01-02 15:04:05 MST"), p.PlanDigest)
		for _, t := range Foresight(*b, p.Looks, d.engineLabel) {
			add("%s.", sentence(t))
		}
	}
	s.Items.say(p.lookTexts(d)...)
	for _, r := range p.Resumed {
		s.Items.say(resumedText(r, p.Duet != nil))
	}
	s.Items.say(p.canaryTexts(d)...)
	s.Table = d.noiseTable()
	if s.Table != nil {
		s.Notes.say("Sd of runs: how much runs of one build vary, here from the differences within the blocks (divided by the root of two), " +
			"and in comparisons of a build with itself in this environment. Could find before: what was expected before the first run; after: what this comparison's own spread allows.",
		)
	}
	return []section{s}
}

// resumedText describes one interruption of a comparison.
func resumedText(r record.Resumption, duet bool) string {
	why := "adjacent in time"
	if duet {
		why = "made in turns"
	}
	text := fmt.Sprintf("It was cut on %s%s and went on %s later",
		r.Cut.UTC().Format("2006-01-02 15:04:05 MST"), inParens(r.Why), aboutTime(r.At.Sub(r.Cut)))
	switch {
	case r.Block == 0:
		text += ", between two blocks: no pair spans the gap"
	case len(r.Runs) > 0:
		text += fmt.Sprintf(
			": block %d was run again whole, because the runs of a block are %s; what was finished of it is kept and not judged (%s)",
			r.Block,
			why,
			list(r.Runs),
		)
	default:
		text += fmt.Sprintf(": block %d was run again from its first run", r.Block)
	}
	if len(r.Lost) > 0 {
		text += fmt.Sprintf(
			"; under way at that moment, and no part of the comparison: %s",
			list(r.Lost),
		)
	}
	return text + "."
}

// noiseTable sets this comparison's spread beside the noise floor and the expectation; nil if
// nothing was stated before.
func (d Document) noiseTable() *table {
	b := d.Protocol.Before
	if b == nil || len(d.Verdicts) == 0 {
		return nil
	}
	t := newTable("Endpoint", ">Sd of runs here", ">A build with itself", ">Comparisons",
		">False lines", ">Could find before", ">after", ">Margin")
	for _, f := range d.Verdicts {
		for _, r := range f.Verdict.Results {
			own := dash
			floor := dash
			from := dash
			wrong := dash
			before := dash

			if known(r.SD) && r.N >= stats.MinInterval {
				own = spreadText(r.SD/math.Sqrt2, r.Absolute)
			}
			for _, n := range b.Noise {
				if n.Engine == f.Engine && n.Metric == r.Name {
					floor = spreadText(n.RunSD(), n.Absolute)
					from = strconv.Itoa(n.Comparisons)
					wrong = fmt.Sprintf("%d of %d", n.False, n.Lines)
				}
			}
			for _, x := range b.Expected {
				if x.Engine == f.Engine && x.Metric == r.Name {
					if before = size(r.Endpoint, x.MDE); x.Assumed && before != dash {
						before += " (assumed)"
					}
				}
			}
			t.add(strings.TrimSpace(prefix(f.Name)+r.Name), own, floor, from, wrong, before,
				size(r.Endpoint, r.MDE), size(r.Endpoint, r.Margin))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
