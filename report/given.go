package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"plimsoll/internal/plain"
	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// GivenFormat is the version of the JSON form of a report of [Given] numbers.
const GivenFormat = 1

// JudgeInput is everything that a report of given numbers is made of.
type JudgeInput struct {
	Names           [2]string
	Rows, Asides    []imported.PairRow
	Arms, Databases []Judged // with verdicts alone
	Skipped         map[string]string
	// the missing part of a stored comparison; empty for one that is complete
	NotComplete string
	Warnings    []string
	Sources     []Source
}

// Skip adds a figure that was not judged, and why.
func (in *JudgeInput) Skip(name, why string) {
	if in.Skipped == nil {
		in.Skipped = map[string]string{}
	}
	in.Skipped[name] = why
}

// FromRows makes the document of given numbers, which has verdicts, warnings and names, and no
// runs. The input is not changed.
func FromRows(in JudgeInput) Document {
	g := &Given{
		Format:      GivenFormat,
		Names:       in.Names,
		NotComplete: in.NotComplete,
		Sources:     in.Sources,
		Asides:      asides(in.Asides),
		Skipped:     skippedRows(in.Skipped),
	}
	d := Document{Format: FormatVersion, Given: g,
		Title: "Performance Comparison " + in.Names[0] + " vs " + in.Names[1],
		Name:  in.Names[0] + "_" + in.Names[1], State: State{Complete: in.NotComplete == ""},
		Arms: []ArmLabel{{Name: in.Names[0], Label: in.Names[0], Base: true}}}
	for _, j := range in.Arms {
		oneOf(&d.Engines, func(e Engine) bool { return e.Key == j.Engine },
			Engine{Key: j.Engine, Label: j.Engine, Full: j.Engine})
		oneOf(&d.Arms, func(a ArmLabel) bool { return a.Name == j.Arm },
			ArmLabel{Name: j.Arm, Label: j.Arm})
		d.Verdicts = append(d.Verdicts,
			NamedVerdict{Engine: j.Engine, Arm: j.Arm, Name: cmp.Or(j.Verdict.Database, j.Arm),
				Verdict: j.Verdict})
		g.Verdicts = append(g.Verdicts, j.Verdict)
	}
	if len(d.Verdicts) > 0 {
		d.Verdicts[0].Skipped = g.Skipped
	} else {
		d.Arms = append(d.Arms, ArmLabel{Name: in.Names[1], Label: in.Names[1]})
	}
	for _, j := range in.Databases {
		g.Databases = append(g.Databases, j.Verdict)
	}
	var notices []notice
	for _, t := range in.Warnings {
		notices = append(notices, notice{cause: causeNumbers, text: t})
	}
	if in.NotComplete != "" {
		d.State.State, d.State.Why = record.Interrupted, in.NotComplete
		notices = append(notices, notice{
			cause:   causeIncomplete,
			text:    in.NotComplete,
			changes: true,
		})
	}
	var named []NamedVerdict
	for _, v := range slices.Concat(g.Verdicts, g.Databases) {
		named = append(named, NamedVerdict{Name: v.Database, Verdict: v})
		for _, r := range v.Results {
			g.Blocks = addBlocks(g.Blocks, v.Database, r)
		}
	}
	notices = append(notices, noticesOf(named)...)
	for _, n := range notices {
		g.Warnings = append(g.Warnings, n.text)
	}
	g.WarningGroups, g.Kind = groups(notices), verdict.Worst(g.Verdicts...)
	for _, v := range g.Verdicts {
		g.Indicative = g.Indicative || v.Indicative && v.Kind == g.Kind
	}
	d.Kind = g.Kind
	d.Indicative = g.Indicative
	d.Warnings = g.Warnings
	d.WarningGroups = g.WarningGroups
	d.BlocksForSame = g.Blocks
	g.groupByMetric(in.Rows)
	return d
}

// groupByMetric groups rows by their metric, and lists their databases.
func (g *Given) groupByMetric(rows []imported.PairRow) {
	for _, r := range rows {
		m := oneOf(&g.metrics, func(m givenMetric) bool { return m.name == r.Metric },
			givenMetric{name: r.Metric, unit: r.Unit})
		m.rows = append(m.rows, r)
		if !slices.Contains(g.databases, r.Database) {
			g.databases = append(g.databases, r.Database)
		}
	}
}

func asides(rows []imported.PairRow) []Aside {
	var out []Aside
	values := map[int][2][]float64{}
	for _, r := range rows {
		i := slices.IndexFunc(out,
			func(a Aside) bool { return a.Name == r.Metric && a.Database == r.Database })
		if i < 0 {
			i = len(out)
			out = append(out, Aside{Name: r.Metric, Database: r.Database, Unit: r.Unit})
		}
		out[i].Pairs++
		v := values[i]
		values[i] = [2][]float64{append(v[0], r.Base), append(v[1], r.New)}
	}
	for i := range out {
		a, v := &out[i], values[i]
		a.Arithmetic = slices.Contains(v[0], 0) || slices.Contains(v[1], 0)
		mean := stat.GeometricMean
		if a.Arithmetic {
			mean = stat.Mean
		}
		a.Base, a.New, a.Effect = Number(mean(v[0], nil)), Number(mean(v[1], nil)), unknown
		if !a.Arithmetic && a.Base > 0 && a.New > 0 {
			a.Effect = a.New/a.Base - 1
		}
	}
	return out
}

// givenTop begins a report of given numbers. The result tables follow the release reports: a row
// per database, a column per version, and the deltas both ways.
func (d Document) givenTop() sheet {
	g := d.Given
	s := sheet{
		title:    "Performance Comparison",
		arms:     g.Names[:],
		about:    "Judged from given numbers.",
		front:    d.front(),
		warnings: g.Warnings,
	}
	s.footer = "Made by plimsoll from numbers that were given to it; it did not measure them."
	for i, v := range g.Verdicts {
		s.front.verdicts[i].text = strings.TrimSuffix(v.Lead, ".")
	}
	return s
}

func (d Document) givenSections() []section {
	g := d.Given
	out := []section{resultsHead}
	for _, m := range g.metrics {
		out = append(out, g.resultSections(m)...)
	}
	for _, v := range slices.Concat(g.Verdicts, g.Databases) {
		title := "Endpoints"
		if v.Database != "" {
			title += " - " + v.Database
		}
		if len(v.Results) == 0 {
			continue
		}
		f := NamedVerdict{Verdict: v}
		out = append(out,
			section{Level: 3, Title: title,
				Table: State{}.endpointTable(f, v.Results[0].Base.Name, v.Results[0].New.Name),
				Notes: slices.Concat(kindNotes(f), impliedNotes(f))})
	}
	last := &out[len(out)-1]
	last.Notes.say(skippedNotes(NamedVerdict{Skipped: g.Skipped})...)
	return out
}

// asideSections are the figures that are only shown.
func (d Document) asideSections() []section {
	g := d.Given
	t := newTable("Figure", "Test", ">"+g.Names[0], ">"+g.Names[1], ">Delta", ">Pairs")
	for _, a := range g.Asides {
		e := plan.Endpoint{Unit: a.Unit}
		delta := dash
		if a.Effect.Known() {
			delta = percent(a.Effect)
		}
		t.add(a.Name, orDash(a.Database), measured(e, float64(a.Base)), measured(e, float64(a.New)),
			delta, a.Pairs)
	}
	return t.section(
		"Other figures",
		"Geometric means over the pairs; arithmetic ones, without a delta, of what is 0 somewhere. "+
			"Shown and not judged: among many figures some differ by chance.",
	)
}

// sourceSections are the files that the numbers were read from.
func (d Document) sourceSections() []section {
	t := newTable("Arm", ">Pair", "File", "Tool")
	for _, s := range d.Given.Sources {
		t.add(s.Arm, s.Pair, s.File, s.Tool)
	}
	return t.section("Sources")
}

// mostTables is the largest number of pairs that get one table each, as in the release reports.
const mostTables = 3

// resultSections lays out one metric: a table per run, or one of all runs.
func (g *Given) resultSections(m givenMetric) []section {
	var pairs []int
	for _, r := range m.rows {
		if !slices.Contains(pairs, r.Block) {
			pairs = append(pairs, r.Block)
		}
	}
	slices.Sort(pairs)
	title := m.title(len(g.databases))
	named := len(g.databases) > 1 || g.databases[0] != ""
	head := []string{">" + g.Names[0], ">" + g.Names[1], ">Delta"}
	if named {
		head = append([]string{"Test"}, head...)
	}
	switch {
	case len(pairs) == 1:
		t := newTable(head...)
		g.addRows(t, m, pairs[0], named)
		return t.section(title)
	case len(pairs) > mostTables:
		t := newTable(append([]string{">Run"}, head...)...)
		for _, p := range pairs {
			g.addRows(t, m, p, named, strconv.Itoa(p))
		}
		return t.section(title)
	}
	out := []section{{Level: 3, Title: title}}
	for _, p := range pairs {
		t := newTable(head...)
		g.addRows(t, m, p, named)
		out = append(out, section{Level: 4, Title: fmt.Sprintf("Run %d", p), Table: t})
	}
	return out
}

func (m givenMetric) title(databases int) string {
	if m.name != capacityName {
		if m.unit == "" {
			return m.name
		}
		return m.name + ", " + m.unit
	}
	if databases > 1 {
		return "Supported users in unbounded tests"
	}
	return "Supported users in unbounded test"
}

// addRows adds the rows of one pair: each database, then each but the first against the first.
func (g *Given) addRows(t *table, m givenMetric, pair int, named bool, before ...string) {
	find := func(database string) (imported.PairRow, bool) {
		for _, r := range m.rows {
			if r.Database == database && r.Block == pair {
				return r, true
			}
		}
		return imported.PairRow{}, false
	}
	absolute := g.absolute(m.name)
	for _, db := range g.databases {
		r, ok := find(db)
		if !ok {
			continue
		}
		cells := slices.Clone(before)
		if named {
			cells = append(cells, test(db))
		}
		t.add(cells, given(r.Base, r.BaseCensored), given(r.New, r.NewCensored),
			deltaCell(r.Base, r.New, r.BaseCensored, r.NewCensored, absolute))
	}
	first, ok := find(g.databases[0])
	of := func(v verdict.Verdict) bool {
		_, judged := resultOf(v, m.name)
		return judged
	}
	// The metric was not compared between databases.
	apart := slices.ContainsFunc(g.Verdicts, of) && !slices.ContainsFunc(g.Databases, of)
	if len(g.Databases) == 0 || !ok || apart {
		return
	}
	for _, db := range g.databases[1:] {
		r, ok := find(db)
		if !ok {
			continue
		}
		label := "Delta"
		if len(g.databases) > 2 {
			label += " " + db
		}
		t.add(
			before,
			label,
			deltaCell(first.Base, r.Base, first.BaseCensored, r.BaseCensored, absolute),
			deltaCell(first.New, r.New, first.NewCensored, r.NewCensored, absolute),
			"",
		)
	}
}

func (g *Given) absolute(metric string) bool {
	for _, v := range g.Verdicts {
		if r, ok := resultOf(v, metric); ok {
			return r.Absolute
		}
	}
	return false
}

// given writes a number as it was given.
func given(v float64, atLeast bool) string {
	text := sig(v, 4)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		text = fixed(v, 0)
	}
	if atLeast {
		return ">= " + text
	}
	return text
}

// deltaCell writes a difference as the release reports do: "12.84%", "-0.28%".
func deltaCell(base, fresh float64, baseAtLeast, newAtLeast, absolute bool) string {
	bound := ""
	switch {
	case baseAtLeast && newAtLeast, !absolute && !(base > 0):
		return dash
	case baseAtLeast:
		bound = "<= "
	case newAtLeast:
		bound = ">= "
	}
	if absolute {
		return bound + fixed(fresh-base, 3) + " pp"
	}
	return bound + fixed(100*(fresh/base-1), 2) + "%"
}

// screen writes the document for a screen: the pairs of each endpoint, the verdicts, and the blocks
// that finding them the same would have taken.
func (g *Given) screen(w io.Writer) error {
	var b strings.Builder
	for _, v := range slices.Concat(g.Verdicts, g.Databases) {
		if err := v.Text(&b); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	for _, s := range g.Skipped {
		plain.Fprintf(&b, "not judged: %s (%s)\n", s.Name, s.Value)
	}
	for _, t := range g.Warnings {
		plain.Fprintf(&b, "warning: %s\n", t)
	}
	if len(g.Skipped)+len(g.Warnings) > 0 {
		b.WriteByte('\n')
	}
	writeBlocks(&b, g.Blocks)
	_, err := io.WriteString(w, b.String())
	return err
}
