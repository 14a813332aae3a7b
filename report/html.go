package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style and the script of the page
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// writePage writes a page: its header, then its folds. Those without a title have a list of their
// sections above them.
func writePage(w io.Writer, title string, header func(*bytes.Buffer), folds []fold, graphs []Graph,
	footer string) error {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n" +
		`<meta http-equiv="Content-Security-Policy" content="` + policy() + `"/>` + "\n" +
		`<meta name="viewport" content="width=device-width, initial-scale=1"/>` + "\n")
	fmt.Fprintf(
		&b,
		"<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		esc(title),
		pageStyle,
	)
	header(&b)
	b.WriteString(`<nav aria-label="Sections">`)
	id := 0
	for i, p := range folds {
		if p.title != "" {
			if i == 0 {
				b.WriteString(
					`<b>Everything else</b> <button type="button" class="unfold">open all</button>`,
				)
			}
			continue
		}
		for _, s := range p.sections {
			fmt.Fprintf(&b, `<a href="#s%d">%s</a>`, id, esc(s.Title))
			id++
		}
	}
	b.WriteString("</nav>\n<main>\n")
	helped := false
	id = 0
	for _, p := range folds {
		if p.title != "" {
			fmt.Fprintf(
				&b,
				`<details class="fold"><summary><b>%s</b> <span class="soft">%s</span></summary>`+"\n",
				esc(p.title),
				esc(p.contents()),
			)
		}
		for _, s := range p.sections {
			writeHTMLSection(&b, s, id, graphs, len(s.Graphs) > 0 && !helped)
			helped = helped || len(s.Graphs) > 0
			id++
		}
		if p.title != "" {
			b.WriteString("</details>\n")
		}
	}
	fmt.Fprintf(&b, "<footer>%s</footer>\n</main>\n<script>\n%s</script>\n</body>\n</html>\n",
		esc(footer), pageScript)
	_, err := w.Write(b.Bytes())
	return err
}

// empty reports whether a section is a heading alone.
func (s section) empty() bool {
	return len(s.Items)+len(s.Notes)+len(s.Graphs)+len(s.Links) == 0 && s.Table == nil &&
		s.Drawing == nil
}

// contents names the sections of a fold, each kind once.
func (p fold) contents() string {
	var names []string
	for _, s := range p.sections {
		name, _, _ := strings.Cut(s.Title, " - ")
		if s.Level == 2 && (len(p.sections) == 1 || s.empty()) || name == p.title ||
			slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
	}
	return strings.Join(names, " · ")
}

// policy is the page's content security policy: its own style and script, known by their hashes,
// and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte("\n" + text)) // as it stands between the tags
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript) +
		"; base-uri 'none'; form-action 'none'"
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

func writeWarnings(b *bytes.Buffer, warnings []string) {
	if len(warnings) == 0 {
		return
	}
	b.WriteString(`<details class="alert" open=""><summary><b>` + count(len(warnings), "warning",
		"warnings") + "</b></summary><ul>")
	for _, t := range warnings {
		b.WriteString("<li>" + esc(t) + "</li>")
	}
	b.WriteString("</ul></details>\n")
}

// writeHTMLSection writes a section; with help, it explains the graphs before the first one.
func writeHTMLSection(b *bytes.Buffer, s section, id int, graphs []Graph, help bool) {
	fmt.Fprintf(b, `<h%[1]d id="s%[2]d">%[3]s</h%[1]d>`+"\n", s.Level, id, esc(s.Title))
	if len(s.Items) > 0 {
		writeItems(b, "<ul>", s.Items, "</ul>")
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

// A cell of at least longCell bytes is wrapped; one of at least veryLongCell gets a wide column.
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

// writeHTMLLinks writes the links of a section in HTML.
func writeHTMLLinks(b *bytes.Buffer, s section) {
	if len(s.Links) == 0 {
		return
	}
	b.WriteString(`<div class="scroll"><table><thead><tr>`)
	for _, h := range s.LinkHead {
		fmt.Fprintf(b, "<th>%s</th>", esc(h))
	}
	b.WriteString("</tr></thead><tbody>\n")
	for _, r := range s.Links {
		fmt.Fprintf(b, "<tr><td>%s</td>", esc(r.Name))
		for _, refs := range r.Cells {
			b.WriteString("<td>")
			for i, p := range refs {
				if i > 0 {
					b.WriteString(" · ")
				}
				fmt.Fprintf(b, `<a href="%s/%s">%s</a>`, PagesDir, esc(p.File), esc(p.linkText()))
			}
			b.WriteString("</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
}
