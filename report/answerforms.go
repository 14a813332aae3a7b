package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"plimsoll/report/draw"
)

// answerStyle is the look of the picture that stands alone; inside a page the page's style takes
// its place.
const answerStyle = `<style>
.answer{font-family:"Liberation Sans",sans-serif;background:#fff}.answer text{fill:#222}.answer .strong{font-weight:bold}.answer .plain{font-weight:normal}.answer .soft{fill:#59636e}
.answer .grid{stroke:#ccd2d9;stroke-width:1}.answer .axis{stroke:#777;stroke-width:1}.answer .margin{fill:#999;opacity:.28}.answer .span{stroke:#222;stroke-width:1.8}
.a0{--c:#0072b2}.a1{--c:#d55e00}.a2{--c:#009e73}.a3{--c:#cc79a7}.a4{--c:#e69f00}.a5{--c:#56b4e9}.a6{--c:#8c5a2b}.a7{--c:#6b6b6b}
.answer .mark{fill:var(--c);stroke:var(--c);stroke-width:1}.answer .hollow{fill-opacity:.15;stroke-dasharray:2 1.5}.answer .fill{opacity:.85}
.answer .k-worse{fill:#b3261e}.answer .k-better,.answer .k-same{fill:#1a7f37}.answer .k-inconclusive,.answer .k-indicative{fill:#8a5a00}.answer .k-invalid{fill:#6e40c9}
</style>
`

// SVG draws the picture as a complete file, its panels in columns of two, without any outside
// address but the name of the format.
func (a Answer) SVG(w io.Writer) error {
	var b bytes.Buffer
	width, height := a.size()
	fmt.Fprintf(
		&b,
		`<svg class="answer" xmlns="http://www.w3.org/2000/svg" viewBox="-8 -4 %v %v" width="%[1]v" height="%[2]v" role="img" aria-label="%[3]s">`+"\n%s",
		width+16,
		height+8,
		esc(strings.Join(a.texts(false), " ")),
		answerStyle,
	)
	a.places(func(p answerPanel, x, y float64) {
		fmt.Fprintf(&b, `<g transform="translate(%v %v)">`+"\n", x, y)
		p.shapes().SVG(&b)
		b.WriteString("</g>\n")
	})
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// columns returns the number of panels beside each other.
func (a Answer) columns() int { return max(min(len(a.panels), 2), 1) }

// places calls f with each panel and the place of its upper left corner.
func (a Answer) places(f func(p answerPanel, x, y float64)) {
	y, tallest := 0.0, 0.0
	for i, p := range a.panels {
		column := i % a.columns()
		if column == 0 && i > 0 {
			y, tallest = y+tallest+answerGap, 0
		}
		tallest = max(tallest, p.height())
		f(p, float64(column)*(answerWidth+answerGap), y)
	}
}

// size returns the size of all panels.
func (a Answer) size() (width, height float64) {
	width = float64(a.columns()*(answerWidth+answerGap) - answerGap)
	a.places(func(p answerPanel, _, y float64) { height = max(height, y+p.height()) })
	return width, height
}

// writeHTML writes the picture into a page: a panel for each verdict, and their text in a fold.
func (a Answer) writeHTML(b *bytes.Buffer) {
	b.WriteString(`<figure class="picture" aria-label="The answer"><div class="panels">` + "\n")
	for _, p := range a.panels {
		fmt.Fprintf(
			b,
			`<svg class="answer" viewBox="0 -2 %d %v" preserveAspectRatio="xMinYMin meet" role="img" aria-label="%s">`+"\n",
			answerWidth,
			p.height()+2,
			esc(p.text(false)),
		)
		p.shapes().SVG(b)
		b.WriteString("</svg>\n")
	}
	b.WriteString("</div>\n<details><summary>The picture in words</summary>\n")
	for _, t := range a.texts(true) {
		b.WriteString(`<p class="note">` + esc(t) + "</p>\n")
	}
	b.WriteString("</details></figure>\n")
}

// answerScale is the number of pixels of a PNG for a unit of the picture: enough for a screen with
// two device pixels to a unit.
const answerScale = 2

// PNG draws the picture, its panels in columns of two, with two pixels to a unit.
func (a Answer) PNG(w io.Writer) error {
	width, height := a.size()
	var all draw.List
	a.places(func(p answerPanel, x, y float64) {
		all.Open("", 8+x, 6+y, "")
		all = append(all, p.shapes()...)
		all.End()
	})
	return all.PNG(w, width+16, height+12, answerScale)
}
