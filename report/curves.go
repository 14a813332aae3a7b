package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/plan"
)

// seedNames are the ten graphs that reports of this kind have always had, in their order.
var seedNames = []string{"avg-api-times", "p99-api-times", "avg-store-times", "p99-store-times",
	"cpu-utilization",
	"goroutines-in-use", "heap-in-use", "number-of-connected-devices", "rps", "stack-in-use"}

// graphs fills the curves: by test, then by engine, in the order of the specs; then the rules over
// time. A graph without data in any judged run is kept, with the reason.
func (b *builder) graphs() {
	specs := b.specs()
	always := len(specs)
	specs = append(specs, b.in.Further...)
	for _, test := range []string{Bounded, Unbounded} {
		if !b.has(test) {
			continue
		}
		for _, e := range b.Engines {
			absent := Absent{Engine: e.Key, Test: test}
			for i, spec := range specs {
				if i >= always && !b.knows(e.Key, test, spec.Name) {
					continue
				}
				g := GraphData{Engine: e.Key, Test: test, GraphSpec: spec,
					File: fileName(e.Key, test, spec.Name)}
				if test == Bounded {
					g.MeasuredFrom = b.measuredFrom(e.Key)
				}
				if l := spec.Threshold; l != nil {
					g.Limit, g.LimitRule = l.Value, l.Rule
				}
				b.lines(&g,
					func(r RunData) (Line, string) {
						return r.Series[test][spec.Name], r.NoData[test][spec.Name]
					})
				if len(g.Arms) == 0 {
					absent.Names = append(absent.Names, spec.Name)
					absent.Why = append(absent.Why, g.NoData)
				}
				b.Graphs = append(b.Graphs, g)
			}
			if len(absent.Names) > 0 {
				b.Absent = append(b.Absent, absent)
			}
		}
	}
	b.ruleGraphs()
}

// knows reports whether a judged run has a graph, or the reason why it does not.
func (b *builder) knows(engine, test, name string) bool {
	return slices.ContainsFunc(b.judged, func(r RunData) bool {
		_, drawn := r.Series[test][name]
		return r.Cell.Engine == engine && (drawn || r.NoData[test][name] != "")
	})
}

// specs lists the graphs to draw: the input's, and the seed graphs that it does not have.
func (b *builder) specs() []GraphSpec {
	out := slices.Clone(b.in.Graphs)
	for _, name := range seedNames {
		if !slices.ContainsFunc(out, func(s GraphSpec) bool { return s.Name == name }) {
			out = append(out, GraphSpec{
				Name:  name,
				Title: sentence(strings.ReplaceAll(name, "-", " ")),
			})
		}
	}
	return out
}

// notes list the graphs without data, those with the same reason together.
func (a Absent) notes() []string {
	var by byReason
	for i, name := range a.Names {
		by.add(a.Why[i], name)
	}
	return by.texts("No data for %s: %s.")
}

func (b *builder) measuredFrom(engine string) float64 {
	for _, r := range b.judged {
		if ph, ok := r.Manifest.Phase("measure"); ok && r.Cell.Engine == engine {
			return ph.From.Seconds()
		}
	}
	return 0
}

// ruleGraphs draws each rule of the search over time, against its limit.
func (b *builder) ruleGraphs() {
	for _, t := range b.Rules {
		var done []string
		for _, row := range t.Rows {
			if row.Search == nil || slices.Contains(done, row.Rule) {
				continue
			}
			done = append(done, row.Rule)
			unit, scale := ruleUnit(row.Unit)
			name := "slo-" + slug(row.Rule)
			g := GraphData{Engine: t.Engine, Test: Unbounded, Rule: row.Rule,
				Limit:     tidy(float64(row.Limit) * scale),
				GraphSpec: GraphSpec{Name: name, Title: row.Rule, Unit: unit, Scale: scale},
				File:      fileName(t.Engine, Unbounded, name)}
			for n := 2; slices.ContainsFunc(b.Graphs, func(o GraphData) bool {
				return o.File == g.File
			}); n++ {
				// Long rules that begin alike get a number.
				g.File = fmt.Sprintf("%s-%d.png",
					strings.TrimSuffix(fileName(t.Engine, Unbounded, name), ".png"), n)
			}
			b.lines(&g, func(r RunData) (Line, string) {
				return ruleLine(
					r,
					row.Rule,
					scale,
				), "no evaluation of the rule in the search had a value"
			})
			b.Graphs = append(b.Graphs, g)
		}
	}
}

// ruleUnit returns the unit in which values of a rule are drawn, and the factor that converts them.
func ruleUnit(unit string) (name string, scale float64) {
	switch unit {
	case plan.Seconds:
		return "ms", 1000
	case plan.Fraction:
		return "%", 100
	}
	return "", 1
}

func ruleLine(r RunData, rule string, scale float64) Line {
	var l Line
	ph, ok := r.Manifest.Phase("search")
	if !ok {
		return l
	}
	for _, ev := range r.Events {
		if ev.Kind == "slo" && ev.Rule == rule && ev.Phase != measuredPhase && !ev.NoData &&
			inSearch(r.Manifest, ev) && ev.At >= ph.From {
			l.T = append(l.T, (ev.At - ph.From).Seconds())
			l.V = append(l.V, ev.Value*scale)
		}
	}
	return l
}

// lines fills a graph with the arms that have data, each on one grid, and lists the arms without
// data. of returns the line of a run, or why there is none.
func (b *builder) lines(g *GraphData, of func(RunData) (Line, string)) {
	arms, lines := make([]ArmLine, len(b.Arms)), make([][]Line, len(b.Arms))
	var whys []string
	for i, a := range b.Arms {
		arms[i] = ArmLine{Arm: a.Label, Index: i}
		for _, r := range b.of(g.Engine, a.Name) {
			if !carried(r, g.Test) {
				continue
			}
			arms[i].Of++
			l, why := of(r)
			if l = l.usable(); len(l.T) < 2 {
				if why != "" && !slices.Contains(whys, why) {
					whys = append(whys, why)
				}
				continue
			}
			lines[i] = append(lines[i], l)
		}
		if len(lines[i]) == 0 && arms[i].Of > 0 {
			g.Missing = append(g.Missing, a.Label)
		}
	}
	if g.Arms = onGrid(arms, lines); len(g.Arms) > 0 {
		return
	}
	g.Missing = nil
	g.NoData = cmp.Or(strings.Join(whys, "; "), "no judged run has it")
}

// fileName names a graph's file. The number is the comparison's in the document; there is one.
func fileName(engine, test, name string) string {
	return fmt.Sprintf("%s_%s_0_%s.png", slug(cmp.Or(engine, "target")), slug(test), slug(name))
}

func (d Document) graphIndexes(engine, testName string, rules bool) []int {
	var out []int
	for i, g := range d.Graphs {
		if g.Engine == engine && g.Test == testName && (g.Rule != "") == rules {
			out = append(out, i)
		}
	}
	return out
}

func (d Document) graphSections() []section {
	var out []section
	for _, name := range []string{Bounded, Unbounded} {
		for _, e := range d.Engines {
			s := section{Level: 3, Title: "Graphs - " + sentence(name),
				Graphs: d.graphIndexes(e.Key, name, false)}
			if e.Label != "" {
				s.Title += " " + e.Label
			}
			for _, a := range d.Absent {
				if a.Engine == e.Key && a.Test == name {
					s.Notes.say(a.notes()...)
				}
			}
			if len(s.Graphs)+len(s.Notes) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}
