package report

import (
	"bytes"
	"fmt"
	"io"
)

// JudgeHTML writes the document as one page that needs nothing but itself, as [HTML] does.
func JudgeHTML(w io.Writer, d JudgeDocument) error {
	doc := d.Document()
	header := func(b *bytes.Buffer) {
		fmt.Fprintf(b, "<header>\n<h1>Performance Comparison <code>%s</code> vs <code>%s</code></h1>\n", esc(d.Names[0]), esc(d.Names[1]))
		b.WriteString(`<div class="soft">Judged from given numbers.</div>` + "\n" + `<div class="cards">` + "\n")
		for _, f := range doc.Verdicts {
			writeCard(b, doc, f)
		}
		b.WriteString("</div>\n")
		writeWarnings(b, d.Warnings)
		b.WriteString("</header>\n")
	}
	return writePage(w, doc.Title, header, d.sections(), nil, "Made by plimsoll from numbers that were given to it; it did not measure them.")
}
