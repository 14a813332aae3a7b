package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report/draw"
)

// The kinds of a page.
const (
	SystemPage      = "system"
	CoordinatorPage = "coordinator"
)

// NewPageRef names a page: <run>_<test>_<kind>.html.
func NewPageRef(r RunData, test, kind string) PageRef {
	cell, m := r.Cell, r.Manifest
	if cell.Run == "" { // a run by itself
		cell.Run = m.ID
		cell.Block = m.Block
		cell.Arm = m.Arm
		cell.Engine = m.Engine
	}
	// A run's id is the name of a directory, whole: cutting it could make two alike.
	file := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
			c == '.' {
			return c
		}
		return '-'
	}, cell.Run)
	return PageRef{Kind: kind, Test: test, Run: cell.Run, Block: cell.Block, Arm: cell.Arm,
		Engine: cell.Engine, File: fmt.Sprintf("%s_%s_%s.html", file, slug(test), slug(kind))}
}

// A Page is a frozen view of one run in one of its tests: its hosts, processes and databases, or
// its rules. It is self-contained, as a report is.
type Page struct {
	PageRef
	Data   RunData
	Panels []Panel
}

// A Panel is one picture of a page. Its lines are on the clock of the test, in seconds from its
// start, and in Unit.
type Panel struct {
	Group, Title, Unit string
	Lines              []PanelLine
	// Rule marks the panel of an SLO rule with the threshold Limit. Another panel may have a Limit
	// too, which LimitName names.
	Rule      string
	Limit     float64
	LimitName string
	// Broken are the stretches in which the rule did not hold, Unknown those in which it had no
	// value.
	Broken, Unknown []Stretch
	// Why is the reason why there are no lines; such a panel is listed below the others.
	Why string
}

// A PanelLine is one curve of a panel.
type PanelLine struct {
	Name string
	Line
}

// RulePanel is the picture of a rule over time: value is the rule's value, in seconds, fractions,
// or the unit of its PromQL.
func RulePanel(rule string, limit float64, value Line, broken, unknown []Stretch) Panel {
	p := Panel{Group: "Rules", Title: rule, Rule: rule, Broken: broken, Unknown: unknown}
	unit, scale := ruleUnit(ruleOf(rule).Unit)
	p.Unit, p.Limit = unit, tidy(limit*scale)
	l := PanelLine{Name: "value"}
	l.T, l.V = value.T, make([]float64, len(value.V))
	for i, v := range value.V {
		l.V[i] = v * scale
	}
	if len(l.T) > 0 {
		p.Lines = []PanelLine{l}
	}
	return p
}

// graph draws a panel, at most one line for each color. Of too many lines it shows those with the highest peaks, and states how many
// it leaves out.
func (p Panel) graph(measuredFrom float64) Graph {
	lines := slices.Clone(p.Lines)
	g := GraphData{GraphSpec: GraphSpec{Title: p.Title, Unit: p.Unit}, Rule: p.Rule, Limit: p.Limit,
		LimitRule: p.LimitName, Broken: p.Broken, Unknown: p.Unknown, MeasuredFrom: measuredFrom,
		NoData: p.Why}
	if rest := len(lines) - draw.Arms; rest > 0 {
		slices.SortStableFunc(lines,
			func(x, y PanelLine) int { return -cmp.Compare(peak(x.V), peak(y.V)) })
		lines = lines[:draw.Arms]
		g.Note = fmt.Sprintf("%s with lower peaks left out", count(rest, "line", "lines"))
	}
	arms, usable := make([]ArmLine, len(lines)), make([][]Line, len(lines))
	for i, l := range lines {
		arms[i] = ArmLine{Arm: l.Name, Index: i, Of: 1}
		if line := l.usable(); len(line.T) > 0 {
			usable[i] = []Line{line}
		}
	}
	if g.Arms = onGrid(arms, usable); len(g.Arms) == 0 && g.NoData == "" {
		g.NoData = "it has no values in this test"
	}
	return Graph{data: g, panel: true}
}

func peak(v []float64) float64 {
	top := 0.0
	for _, y := range v {
		top = max(top, y)
	}
	return top
}

// kindTitle is the title of a page's kind.
func (p Page) kindTitle() string {
	if p.Kind == CoordinatorPage {
		return "Coordinator metrics"
	}
	return "System metrics"
}

// where names the run of a page in the words of the comparison: "postgresql unbounded · new · block
// 2".
func (p Page) where() string {
	parts := []string{strings.TrimSpace(p.Engine + " " + p.Test)}
	if p.Arm != "" {
		parts = append(parts, p.Arm)
	}
	if p.Block > 0 {
		parts = append(parts, fmt.Sprintf("block %d", p.Block))
	}
	return strings.Join(parts, " · ")
}

// HTML writes the page.
func (p Page) HTML(w io.Writer) error {
	var graphs []Graph
	var sections []section
	var absent []Panel
	measured := 0.0
	if ph, ok := p.Data.Manifest.Phase("measure"); ok && p.Test == Bounded {
		measured = ph.From.Seconds()
	}
	for _, panel := range p.Panels {
		if len(panel.Lines) == 0 && panel.Rule == "" {
			absent = append(absent, panel)
			continue
		}
		if len(sections) == 0 || sections[len(sections)-1].Title != panel.Group {
			sections = append(sections, section{Level: 2, Title: panel.Group})
		}
		s := &sections[len(sections)-1]
		s.Graphs = append(s.Graphs, len(graphs))
		graphs = append(graphs, panel.graph(measured))
	}
	if len(absent) > 0 {
		t := newTable("Panel", "Why it is not here")
		for _, panel := range absent {
			t.add(panel.Group+": "+panel.Title, cmp.Or(panel.Why, "the run has no such series"))
		}
		sections = append(sections, section{Level: 2, Title: "Not in this run", Table: t})
	}
	title := p.kindTitle() + " · " + p.where()
	return writePage(w, title, p.header, []fold{{sections: sections}}, graphs, fmt.Sprintf(
		"Run %s, drawn from its stored series by %s.",
		p.Run,
		orDash(p.Data.Manifest.Tool),
	))
}

func (p Page) header(b *bytes.Buffer) {
	m := p.Data.Manifest
	fmt.Fprintf(b, "<header class=\"page\">\n<h1>%s</h1>\n", esc(p.kindTitle()))
	facts := []string{p.where(), "run " + p.Run, m.Epoch.UTC().Format(time.DateTime) + " UTC"}
	for _, ph := range m.Phases {
		if ph.To-ph.From < time.Second {
			continue
		}
		facts = append(facts, ph.Name+" "+plan.FormatDuration((ph.To-ph.From).Round(time.Second)))
	}
	fmt.Fprintf(b, `<div class="soft">%s</div>`+"\n", esc(strings.Join(facts, " · ")))
	if !p.Data.Validity.Valid {
		why := "its manifest says so"
		for _, f := range p.Data.Validity.Findings {
			if f.Level == record.Red {
				why = f.Gate + ": " + f.Text
			}
		}
		fmt.Fprintf(b, `<div class="alert"><b>This run is not valid</b> (%s).</div>`+"\n", esc(why))
	}
	lead := ""
	if p.Kind == CoordinatorPage {
		lead = Dominant(p.Data, p.Test)
	} else if l := p.Data.Limiter; l != nil {
		lead = l.Sentence
	}
	if lead != "" {
		fmt.Fprintf(b, `<p class="lead">%s</p>`+"\n", esc(lead))
	}
	b.WriteString("</header>\n")
}

// pages collects the pages of the judged runs: by engine, test and block, base first.
func (b *builder) pages() {
	for _, r := range b.judged {
		b.Pages = append(b.Pages, r.Pages...)
	}
	by := func(names []string, x, y string) int {
		return cmp.Compare(slices.Index(names, x), slices.Index(names, y))
	}
	slices.SortStableFunc(b.Pages, func(x, y PageRef) int {
		return cmp.Or(by(b.c.Engines, x.Engine, y.Engine), cmp.Compare(x.Test, y.Test),
			cmp.Compare(x.Block, y.Block), by(b.c.Arms, x.Arm, y.Arm))
	})
}

// pageSections lists the pages: a row for each test and block, a column for each arm.
func (d Document) pageSections() []section {
	if len(d.Pages) == 0 {
		return nil
	}
	s := section{Level: 3, Title: "System and coordinator metrics", LinkHead: []string{"Test"}}
	for _, a := range d.Arms {
		s.LinkHead = append(s.LinkHead, a.Label)
	}
	for _, p := range d.Pages {
		name := strings.TrimSpace(d.engineLabel(p.Engine) + " " + p.Test)
		if len(d.Blocks) > 1 || d.State.Planned > 1 {
			name += fmt.Sprintf(", block %d", p.Block)
		}
		if n := len(s.Links); n == 0 || s.Links[n-1].Name != name {
			s.Links = append(s.Links, linkRow{Name: name, Cells: make([][]PageRef, len(d.Arms))})
		}
		row := &s.Links[len(s.Links)-1]
		for i, a := range d.Arms {
			if a.Name == p.Arm {
				row.Cells[i] = append(row.Cells[i], p)
			}
		}
	}
	s.Notes = []string{
		"Each judged run by itself, frozen: what hosts, processes and databases did, and every rule against its threshold over time.",
	}
	return []section{resultsHead, s}
}

// resultsHeads is the heading of the results where no page has it.
func (d Document) resultsHeads() []section {
	if len(d.Pages) > 0 {
		return nil
	}
	return []section{resultsHead}
}
