package report

import "plimsoll/dialect"

// measuredTest is the test name of graphs whose clock begins with the measured phase.
const measuredTest = "measured phase"

// chapters takes the caller's chapters into the document.
func (b *builder) chapters() {
	for _, c := range b.in.Chapters {
		out := Chapter{Title: c.Title, Notes: c.Notes, Tables: c.Tables}
		for _, g := range c.Charts {
			if data, ok := chapterGraph(g); ok {
				out.Graphs = append(out.Graphs, len(b.Graphs))
				b.Graphs = append(b.Graphs, data)
			}
		}
		b.Chapters = append(b.Chapters, out)
	}
}

// chapterGraph puts the runs of each line on one grid; false without data.
func chapterGraph(g dialect.Chart) (GraphData, bool) {
	data := GraphData{
		Test: measuredTest, File: slug(g.Name) + ".png",
		GraphSpec: GraphSpec{Name: g.Name, Title: g.Title, Unit: g.Unit, Scale: 1},
	}
	arms, lines := make([]ArmLine, len(g.Lines)), make([][]Line, len(g.Lines))
	for i, of := range g.Lines {
		arms[i] = ArmLine{Arm: of.Label, Index: of.Index}
		for _, run := range of.Runs {
			if l := Line(run).usable(); len(l.T) >= 2 {
				lines[i] = append(lines[i], l)
			}
		}
	}
	data.Arms = onGrid(arms, lines)
	return data, len(data.Arms) > 0
}

func (d Document) chapterSections() []section {
	var out []section
	for _, c := range d.Chapters {
		out = append(out, section{Level: 2, Title: c.Title, Notes: c.Notes, Graphs: c.Graphs})
		for _, t := range c.Tables {
			s := newTable(t.Head...)
			s.Rows = t.Rows
			out = append(out, s.section(t.Title, t.Notes...)...)
		}
	}
	return out
}
