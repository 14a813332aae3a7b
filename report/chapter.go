package report

// ChapterData is a part of a report that its caller makes: paragraphs, tables and graphs of runs that it has read
// itself.
type ChapterData struct {
	Title string
	// Leads are sentences for the comments at the beginning of the report, unless a person has written these.
	Leads  []string
	Notes  []string // paragraphs
	Tables []ChapterTable
	Graphs []ChapterGraph
}

// A ChapterTable is a table of texts. Columns whose head begins with ">" hold numbers.
type ChapterTable struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
	Notes []string   `json:"notes,omitempty"`
}

// A ChapterGraph draws sources against the time since the beginning of the measured phase. Its File is unique in a
// report.
type ChapterGraph struct {
	Name, Title, Unit string
	Sources           []ChapterSource
}

// A ChapterSource is one curve of a graph: the runs that are averaged, and the number of its color.
type ChapterSource struct {
	Label string
	Index int
	Runs  []Line
}

// A Chapter is a ChapterData in a document. Graphs are indexes into Document.Graphs.
type Chapter struct {
	Title  string         `json:"title"`
	Notes  []string       `json:"notes,omitempty"`
	Tables []ChapterTable `json:"tables,omitempty"`
	Graphs []int          `json:"graphs,omitempty"`
}

// measuredTest is the test name of graphs whose clock begins with the measured phase.
const measuredTest = "measured phase"

// chapters takes the caller's chapters into the document.
func (b *builder) chapters() {
	for _, c := range b.in.Chapters {
		out := Chapter{Title: c.Title, Notes: c.Notes, Tables: c.Tables}
		for _, g := range c.Graphs {
			if data, ok := chapterGraph(g); ok {
				out.Graphs = append(out.Graphs, len(b.d.Graphs))
				b.d.Graphs = append(b.d.Graphs, data)
			}
		}
		b.d.Chapters = append(b.d.Chapters, out)
	}
}

// chapterGraph puts the runs of each source on one grid; false without data.
func chapterGraph(g ChapterGraph) (GraphData, bool) {
	data := GraphData{Test: measuredTest, GraphSpec: GraphSpec{Name: g.Name, Title: g.Title, Unit: g.Unit, Scale: 1}, File: slug(g.Name) + ".png"}
	lines := make([][]Line, len(g.Sources))
	end, step := 0.0, 0.0
	for i, s := range g.Sources {
		for _, l := range s.Runs {
			if l = l.usable(); len(l.T) >= 2 {
				n := len(l.T)
				lines[i] = append(lines[i], l)
				end, step = max(end, l.T[n-1]), max(step, (l.T[n-1]-l.T[0])/float64(n-1))
			}
		}
	}
	step = max(step, end/GridPoints)
	if step <= 0 {
		return data, false
	}
	for i, s := range g.Sources {
		if len(lines[i]) > 0 {
			a := overlay(lines[i], step)
			a.Arm, a.Index = s.Label, s.Index
			data.Arms = append(data.Arms, a)
		}
	}
	return data, true
}

func (d Document) chapterSections() []section {
	var out []section
	for _, c := range d.Chapters {
		out = append(out, section{Level: 2, Title: c.Title, Notes: c.Notes, Graphs: c.Graphs})
		for _, t := range c.Tables {
			s := newTable(-1, t.Head...)
			s.Rows = t.Rows
			out = append(out, section{Level: 3, Title: t.Title, Table: s, Notes: t.Notes})
		}
	}
	return out
}
