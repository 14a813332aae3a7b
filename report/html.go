package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style and the script of the page
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// HTML writes the document as one page that needs nothing but itself: graphs, style and script are inside, and its
// policy forbids the browser to fetch anything, and to run or apply any script or style but the page's own. Every text is escaped.
func HTML(w io.Writer, d Document) error {
	return writePage(w, d.Title, func(b *bytes.Buffer) { writeHeader(b, d) }, d.sections(), Graphs(d),
		fmt.Sprintf("Comparison %s, made from stored runs by %s.", orDash(d.Comparison), orDash(d.tool())))
}

// writePage writes a page of a header and sections.
func writePage(w io.Writer, title string, header func(*bytes.Buffer), sections []section, graphs []Graph, footer string) error {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n" +
		`<meta http-equiv="Content-Security-Policy" content="` + policy() + `"/>` + "\n" +
		`<meta name="viewport" content="width=device-width, initial-scale=1"/>` + "\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n", esc(title), pageStyle)
	header(&b)
	b.WriteString(`<nav aria-label="Sections">`)
	for i, s := range sections {
		fmt.Fprintf(&b, `<a href="#s%d">%s</a>`, i, esc(s.Title))
	}
	b.WriteString("</nav>\n<main>\n")
	helped := false
	for i, s := range sections {
		writeHTMLSection(&b, s, i, graphs, len(s.Graphs) > 0 && !helped)
		helped = helped || len(s.Graphs) > 0
	}
	fmt.Fprintf(&b, "<footer>%s</footer>\n</main>\n<script>\n%s</script>\n</body>\n</html>\n", esc(footer), pageScript)
	_, err := w.Write(b.Bytes())
	return err
}

// policy is what the page allows the browser: its own style and script, known by their hashes, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte("\n" + text)) // as it stands between the tags
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript) + "; base-uri 'none'; form-action 'none'"
}

// tool names the program that ran the comparison.
func (d Document) tool() string {
	for _, r := range d.Setup {
		if r.Name == "Load-test version" {
			return r.Value
		}
	}
	return ""
}

func esc(s string) string { return html.EscapeString(oneLine(s)) }

// writeHeader writes what is seen at a glance: a card for each verdict, what is incomplete, the warnings.
func writeHeader(b *bytes.Buffer, d Document) {
	labels := make([]string, len(d.Arms))
	for i, a := range d.Arms {
		labels[i] = "<code>" + esc(a.Label) + "</code>"
	}
	fmt.Fprintf(b, "<header>\n<h1>Performance Comparison %s</h1>\n", strings.Join(labels, " vs "))
	done := "complete"
	if !d.State.Complete {
		done = "not complete"
	}
	fmt.Fprintf(b, `<div class="soft">%s · %s · %d of %d blocks judged</div>`+"\n", esc(d.Name), done, d.State.Judged, d.State.Planned)
	if !d.State.Complete {
		text := stateWord(d.State.State)
		if d.State.Why != "" {
			text += ": " + d.State.Why
		}
		fmt.Fprintf(b, `<div class="alert"><b>Not complete</b> (%s). What follows is a part of the comparison.</div>`+"\n", esc(text))
	}
	if len(d.Verdicts) == 0 {
		b.WriteString(`<div class="alert"><b>Nothing was judged.</b></div>` + "\n")
	}
	b.WriteString(`<div class="cards">` + "\n")
	for _, f := range d.Verdicts {
		writeCard(b, d, f)
	}
	b.WriteString("</div>\n")
	writeWarnings(b, d.Warnings)
	b.WriteString("</header>\n")
}

func writeWarnings(b *bytes.Buffer, warnings []string) {
	if len(warnings) == 0 {
		return
	}
	b.WriteString(`<details class="alert" open=""><summary><b>` + count(len(warnings), "warning", "warnings") + "</b></summary><ul>")
	for _, t := range warnings {
		b.WriteString("<li>" + esc(t) + "</li>")
	}
	b.WriteString("</ul></details>\n")
}

// writeCard writes one verdict with its supported users and what stopped the searches.
func writeCard(b *bytes.Buffer, d Document, f Finding) {
	kind := kindText(f.Verdict.Kind, f.Verdict.Indicative)
	fmt.Fprintf(b, `<div class="card k-%s"><h2><span class="badge">%s</span> %s</h2>`+"\n", slug(kind), esc(kind), esc(f.Name))
	for _, c := range d.Capacity {
		if c.Engine != f.Engine {
			continue
		}
		b.WriteString(`<div class="figures">`)
		for i, cell := range c.Cells {
			if !d.Arms[i].Base && cell.Arm != f.Arm {
				continue
			}
			value, interval, _ := strings.Cut(cell.users(), " [")
			if interval != "" {
				interval = "[" + interval
			}
			fmt.Fprintf(b, "<div><b>%s</b><span>users, %s %s</span></div>", esc(value), esc(d.Arms[i].Label), esc(interval))
			if cell.Delta != nil {
				value, interval, _ = strings.Cut(cell.Delta.text(), " [")
				if interval != "" {
					interval = "[" + interval
				}
				fmt.Fprintf(b, "<div><b>%s</b><span>difference %s</span></div>", esc(value), esc(interval))
			}
		}
		b.WriteString("</div>\n")
	}
	fmt.Fprintf(b, "<p>%s.</p>\n", esc(headline(d, f)))
	for _, l := range d.Limiters {
		if l.Engine == f.Engine && (l.Arm == f.Arm || l.Arm == baseName(d)) {
			fmt.Fprintf(b, `<p class="soft">%s: %s</p>`+"\n", esc(d.armLabel(l.Arm)), esc(limitText(l)))
		}
	}
	b.WriteString("</div>\n")
}

// writeHTMLSection writes a section; with help, it says before the graphs how they are read.
func writeHTMLSection(b *bytes.Buffer, s section, id int, graphs []Graph, help bool) {
	fmt.Fprintf(b, `<h%[1]d id="s%[2]d">%[3]s</h%[1]d>`+"\n", s.Level, id, esc(s.Title))
	if len(s.Items) > 0 {
		b.WriteString("<ul>\n")
		for _, t := range s.Items {
			b.WriteString("<li>" + esc(t) + "</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	if s.Drawing != nil {
		s.Drawing.writeDrawing(b, id)
	}
	if s.Table != nil {
		writeHTMLTable(b, s.Table, id)
	}
	writeHTMLLinks(b, s)
	for _, n := range s.Notes {
		fmt.Fprintf(b, `<p class="note">%s</p>`+"\n", esc(n))
	}
	if len(s.Graphs) == 0 {
		return
	}
	if help {
		b.WriteString(`<p class="note help">` + graphHelp + "</p>\n")
	}
	b.WriteString(`<div class="graphs">` + "\n")
	for _, i := range s.Graphs {
		writeFigure(b, graphs[i], i)
	}
	b.WriteString("</div>\n")
}

// longCell is from how many signs a cell is text to be wrapped, veryLongCell from how many it gets a broad column.
const (
	longCell     = 40
	veryLongCell = 160
)

// writeHTMLTable writes a table below the heading of section id.
func writeHTMLTable(b *bytes.Buffer, t *table, id int) {
	fmt.Fprintf(b, `<div class="scroll" role="region" aria-labelledby="s%d"><table><thead><tr>`, id)
	for i, h := range t.Head {
		fmt.Fprintf(b, `<th scope="col"%s>%s</th>`, class(t.Right[i], ""), esc(h))
	}
	b.WriteString("</tr></thead><tbody>\n")
	for _, r := range t.Rows {
		b.WriteString("<tr>")
		for i, c := range r {
			names := ""
			switch {
			case i == t.Kind:
				word, _, _ := strings.Cut(strings.TrimLeft(c, "✅⚠️❌ "), " ")
				names = "kind k-" + slug(word)
			case len(c) >= veryLongCell:
				names = "wide long"
			case len(c) >= longCell:
				names = "wide"
			}
			fmt.Fprintf(b, "<td%s>%s</td>", class(t.Right[i], names), esc(c))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
}

func class(right bool, names string) string {
	if right {
		names = strings.TrimSpace("r " + names)
	}
	if names == "" {
		return ""
	}
	return ` class="` + names + `"`
}
