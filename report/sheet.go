package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// sections returns the sections of all folds.
func (s sheet) sections() []section {
	var out []section
	for _, f := range s.folds {
		out = append(out, f.sections...)
	}
	return out
}

// Markdown writes a report in GitHub's dialect of Markdown. Graphs are referred to as
// graphs/<file>; the caller puts the PNG files there. Of a [Document] it has the first screen and
// the sections of release reports; [FullMarkdown] has everything.
func Markdown(w io.Writer, d Document) error {
	s := d.sheet()
	var b strings.Builder
	s.writeTop(&b)
	s.writeLeads(&b)
	if s.front != nil {
		s.front.writeMarkdown(&b, s.full)
	}
	if s.brief == nil {
		writeList(&b, "Warnings:", s.warnings, false)
		return writeSections(w, &b, s.graphs, s.sections())
	}
	b.WriteString("---\n\n")
	fmt.Fprintf(&b,
		"[%s](%[1]s) has every table, warning and run; `report.html` is the same as one page.\n\n",
		s.full)
	return writeSections(w, &b, s.graphs, s.brief)
}

// FullMarkdown writes everything that is in the document, as [Markdown] does for the first screen.
func FullMarkdown(w io.Writer, d Document) error {
	if d.Given != nil {
		return Markdown(w, d) // which has everything already
	}
	s := d.sheet()
	var b strings.Builder
	s.writeTop(&b)
	for i, f := range d.Verdicts {
		s.front.verdicts[i].text = headline(d, f)
	}
	s.front.writeVerdicts(&b)
	if !s.front.answer.Empty() {
		s.front.writePicture(&b)
	}
	writeList(&b, "Warnings:", s.warnings, false)
	return writeSections(w, &b, s.graphs, s.sections())
}

// heading is the title with the arms; text and arm write their markup.
func (s sheet) heading(text, arm func(string) string) string {
	return strings.TrimSpace(text(s.title) + " " + strings.Join(textsOf(s.arms, arm), " vs "))
}

// writeTop writes the title and the alerts.
func (s sheet) writeTop(b *strings.Builder) {
	b.WriteString("# " + s.heading(md, code) + "\n\n")
	for _, a := range s.alerts {
		b.WriteString("**" + a.head + "**" + md(a.text) + "\n\n")
	}
}

// writeLeads writes the sentences below the title.
func (s sheet) writeLeads(b *strings.Builder) {
	if s.list {
		writeList(b, "", s.leads, false)
		return
	}
	for _, t := range s.leads {
		b.WriteString(md(t) + "\n\n")
	}
}

// writeSections appends the sections to b, and ends the file.
func writeSections(w io.Writer, b *strings.Builder, graphs []Graph, sections []section) error {
	for _, s := range sections {
		writeSection(b, graphs, s)
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// writePicture refers to the picture of the answer.
func (f *front) writePicture(b *strings.Builder) {
	fmt.Fprintf(b, "![%s](graphs/%s.png)\n\n", md(strings.Join(f.answer.texts(false), " ")), AnswerFile)
}

// writeVerdicts writes the verdicts, and where their differences come from.
func (f *front) writeVerdicts(b *strings.Builder) {
	for _, v := range f.verdicts {
		fmt.Fprintf(b, "- **%s** · %s\n", strings.ToUpper(v.kind), md(v.text))
		for _, t := range v.why {
			b.WriteString("  - " + md(t) + "\n")
		}
	}
	if len(f.verdicts) > 0 {
		b.WriteByte('\n')
	}
}

// writeMarkdown writes the first screen; full is the file with all warnings.
func (f *front) writeMarkdown(b *strings.Builder, full string) {
	f.writeVerdicts(b)
	if full != "" && !f.answer.Empty() {
		f.writePicture(b)
	}
	writeList(b, "**Limited by**", f.limits, false)
	texts := textsOf(f.groups, func(g WarningGroup) string {
		if g.Changes {
			return "**Could change a verdict:** " + md(g.Text)
		}
		return md(g.Text)
	})
	title := "**Warnings**"
	if full != "" && f.warnings > len(texts) {
		title = fmt.Sprintf("**Warnings (all %d are in %s)**", f.warnings, full)
	}
	writeList(b, title, texts, true)
	writeList(b, "**Next**", f.next, f.raw)
}

// writeList writes a list, below a title if it has one; raw means that its items are Markdown
// already.
func writeList(b *strings.Builder, title string, items []string, raw bool) {
	if len(items) == 0 {
		return
	}
	if title != "" {
		b.WriteString(title + "\n\n")
	}
	for _, t := range items {
		if raw {
			t = strings.ReplaceAll(strings.TrimSpace(t), "\n", "\n  ")
		} else {
			t = md(t)
		}
		b.WriteString("- " + t + "\n")
	}
	b.WriteByte('\n')
}

// HTML writes a report as one page that needs nothing but itself: graphs, style and script are
// inside, and its policy forbids the browser to fetch anything, and to run or apply any script or
// style but the page's own. Every text is escaped.
func HTML(w io.Writer, d Document) error {
	s := d.sheet()
	title := strings.TrimSpace(s.title + " " + strings.Join(s.arms, " vs "))
	return writePage(w, title, s.writeHeader, s.folds, s.graphs, s.footer)
}

// writeHeader writes the top and the first screen.
func (s sheet) writeHeader(b *bytes.Buffer) {
	arm := func(a string) string { return "<code>" + esc(a) + "</code>" }
	fmt.Fprintf(b, "<header>\n<h1>%s</h1>\n", s.heading(esc, arm))
	if s.about != "" {
		fmt.Fprintf(b, `<div class="soft">%s</div>`+"\n", esc(s.about))
	}
	for _, a := range s.alerts {
		fmt.Fprintf(b, `<div class="alert"><b>%s</b>%s</div>`+"\n", esc(a.head), escText(a.text))
	}
	if s.list {
		writeItems(b, "<ul>", s.leads, "</ul>")
	} else {
		for _, t := range s.leads {
			fmt.Fprintf(b, "<p>%s</p>\n", esc(t))
		}
	}
	if s.front != nil {
		s.front.writeHTML(b, s.warnings)
	} else {
		writeWarnings(b, s.warnings)
	}
	b.WriteString("</header>\n")
}

// writeItems writes the items of a list between its tags.
func writeItems(b *bytes.Buffer, begin string, items []string, end string) {
	b.WriteString(begin + "\n")
	for _, t := range items {
		b.WriteString("<li>" + esc(t) + "</li>\n")
	}
	b.WriteString(end + "\n")
}

// escText escapes a text that goes on behind another and may begin with a space.
func escText(s string) string {
	if strings.HasPrefix(s, " ") {
		return " " + esc(s)
	}
	return esc(s)
}

// writeHTML writes the first screen.
func (f *front) writeHTML(b *bytes.Buffer, warnings []string) {
	b.WriteString(`<div class="verdicts">` + "\n")
	for _, v := range f.verdicts {
		fmt.Fprintf(
			b,
			`<p class="verdict k-%s"><span class="badge">%s</span> %s.</p>`+"\n",
			slug(v.kind),
			esc(v.kind),
			esc(v.text),
		)
		for _, t := range v.why {
			fmt.Fprintf(b, `<p class="because">%s.</p>`+"\n", esc(t))
		}
	}
	b.WriteString("</div>\n")
	if !f.answer.Empty() {
		f.answer.writeHTML(b)
	}
	b.WriteString(`<div class="brief">` + "\n")
	list := func(title string, items []string) {
		if len(items) == 0 {
			return
		}
		writeItems(b, "<section><h2>"+title+"</h2><ul>", items, "</ul></section>")
	}
	list("Limited by", f.limits)
	if len(f.groups)+len(warnings) > 0 {
		b.WriteString("<section><h2>Warnings</h2><ul>\n")
		for _, g := range f.groups {
			mark := ""
			if g.Changes {
				mark = `<b class="k-amber mark">could change a verdict</b> `
			}
			b.WriteString("<li>" + mark + esc(g.Text) + "</li>\n")
		}
		b.WriteString("</ul>")
		if len(warnings) > 0 {
			head := count(len(warnings), "warning in full", "warnings in full")
			writeItems(b, "<details><summary>"+head+"</summary><ul>", warnings,
				"</ul></details></section>")
		} else {
			b.WriteString("</section>\n")
		}
	}
	list("Next", f.next)
	b.WriteString("</div>\n")
}

// Limits of the short Markdown, in items.
const (
	briefComments = 30
	briefSetup    = 60
)

// briefSections are the sections of release reports, in their order.
func (d Document) briefSections() []section {
	out := d.textSections()
	if c := &out[0]; len(c.Items) > briefComments {
		c.Notes = append([]string{fmt.Sprintf("%s in %s.",
			count(len(c.Items)-briefComments, "more comment is", "more comments are"), FullFile)},
			c.Notes...)
		c.Items = c.Items[:briefComments]
	}
	setup := d.setupSections()[0]
	if n := len(setup.Table.Rows); n > briefSetup {
		setup.Table.Rows = setup.Table.Rows[:briefSetup]
		setup.Notes.add("%s in %s.", count(n-briefSetup, "more row is", "more rows are"), FullFile)
	}
	out = append(out, setup, resultsHead)
	if n := len(d.Pages); n > 0 {
		out = append(out, section{
			Level: 3,
			Title: "System and coordinator metrics",
			Notes: []string{
				fmt.Sprintf("%s of single runs: %s lists them.", count(n, "page", "pages"),
					FullFile),
			},
		})
	}
	if users := d.capacitySections(); len(users) > 0 {
		out = append(out, users[0])
	}
	for _, s := range d.endpointSections() {
		s.Table = s.Table.without("Why")
		out = append(out, s)
	}
	return append(out, d.graphSections()...)
}

// without returns the table without a column.
func (t *table) without(head string) *table {
	i := slices.Index(t.Head, head)
	if i < 0 {
		return t
	}
	cut := func(row []string) []string { return slices.Delete(slices.Clone(row), i, i+1) }
	out := &table{
		Head:  cut(t.Head),
		Right: slices.Delete(slices.Clone(t.Right), i, i+1),
		Kind:  t.Kind,
	}
	for _, r := range t.Rows {
		out.Rows = append(out.Rows, cut(r))
	}
	return out
}

// sheet lays a document out.
func (d Document) sheet() sheet {
	var s sheet
	of := d.Subject()
	switch of {
	case Numbers:
		s = d.givenTop()
	case Ladder:
		s = d.Sizing.top()
	case Releases:
		s = d.Trend.top()
	default:
		s = d.top()
	}
	for _, p := range documentParts() {
		if p.of&of == 0 || p.sections == nil {
			continue
		}
		more := p.sections(d)
		if len(more) == 0 {
			continue
		}
		title := p.fold
		if of != Runs { // short enough without folds
			title = ""
		}
		if n := len(s.folds); n == 0 || s.folds[n-1].title != title {
			s.folds = append(s.folds, fold{title: title})
		}
		last := &s.folds[len(s.folds)-1]
		last.sections = append(last.sections, more...)
	}
	return s
}

// top begins a comparison's report.
func (d Document) top() sheet {
	s := sheet{title: "Performance Comparison", arms: d.armTitles(), front: d.front(),
		warnings: d.Warnings}
	s.brief, s.full = d.briefSections(), FullFile
	s.graphs = Graphs(d)
	s.footer = fmt.Sprintf("Comparison %s, made from stored runs by %s.", orDash(d.Comparison),
		orDash(d.tool()))
	done := "complete"
	if !d.State.Complete {
		done = "not complete"
		text := fmt.Sprintf(
			" (%s): %d of %d blocks can be judged.",
			d.State.ended(),
			d.State.Judged,
			d.State.Planned,
		)
		s.alerts = append(s.alerts, alert{"Not complete", text})
	}
	s.about = fmt.Sprintf("%s · %s · %s", d.Name, done, d.State.judgedText())
	if len(d.Verdicts) == 0 {
		s.alerts = append(s.alerts, alert{"Nothing was judged.", ""})
	}
	return s
}

// FullFile is the name of the file with everything, beside the file of [Markdown].
const FullFile = "report-full.md"
