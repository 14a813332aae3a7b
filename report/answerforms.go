package report

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// answerStyle is the look of the picture that stands alone; inside a page the page's style takes its place.
const answerStyle = `<style>
.answer{font-family:"Liberation Sans",sans-serif;background:#fff}.answer text{fill:#222}.answer .strong{font-weight:bold}.answer .plain{font-weight:normal}.answer .soft{fill:#59636e}
.answer .grid{stroke:#ccd2d9;stroke-width:1}.answer .axis{stroke:#777;stroke-width:1}.answer .margin{fill:#999;opacity:.28}.answer .span{stroke:#222;stroke-width:1.8}
.a0{--c:#0072b2}.a1{--c:#d55e00}.a2{--c:#009e73}.a3{--c:#cc79a7}.a4{--c:#e69f00}.a5{--c:#56b4e9}.a6{--c:#8c5a2b}.a7{--c:#6b6b6b}
.answer .mark{fill:var(--c);stroke:var(--c);stroke-width:1}.answer .hollow{fill-opacity:.15;stroke-dasharray:2 1.5}.answer .fill{opacity:.85}
.answer .k-worse{fill:#b3261e}.answer .k-better,.answer .k-same{fill:#1a7f37}.answer .k-inconclusive,.answer .k-indicative{fill:#8a5a00}.answer .k-invalid{fill:#6e40c9}
</style>
`

// SVG draws the picture as a file of its own, its panels in columns of two, without any outside address but the name of
// the format.
func (a Answer) SVG(w io.Writer) error {
	var b bytes.Buffer
	width, height := a.size()
	fmt.Fprintf(&b, `<svg class="answer" xmlns="http://www.w3.org/2000/svg" viewBox="-8 -4 %s %s" width="%[1]s" height="%[2]s" role="img" aria-label="%[3]s">`+"\n%s",
		coord(width+16), coord(height+8), esc(strings.Join(a.brief(), " ")), answerStyle)
	a.places(func(p answerPanel, x, y float64) {
		fmt.Fprintf(&b, `<g transform="translate(%s %s)">`+"\n", coord(x), coord(y))
		writeShapes(&b, p.shapes())
		b.WriteString("</g>\n")
	})
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// columns is how many panels stand beside each other.
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

// size returns that of all panels.
func (a Answer) size() (width, height float64) {
	width = float64(a.columns()*(answerWidth+answerGap) - answerGap)
	a.places(func(p answerPanel, _, y float64) { height = max(height, y+p.height()) })
	return width, height
}

// writeHTML writes the picture into a page: a panel for each verdict, and their text in a fold.
func (a Answer) writeHTML(b *bytes.Buffer) {
	b.WriteString(`<figure class="picture" aria-label="The answer"><div class="panels">` + "\n")
	for _, p := range a.panels {
		fmt.Fprintf(b, `<svg class="answer" viewBox="0 -2 %d %s" preserveAspectRatio="xMinYMin meet" role="img" aria-label="%s">`+"\n", answerWidth, coord(p.height()+2), esc(p.text(false)))
		writeShapes(b, p.shapes())
		b.WriteString("</svg>\n")
	}
	b.WriteString("</div>\n<details><summary>The picture in words</summary>\n")
	for _, t := range a.Text() {
		b.WriteString(`<p class="note">` + esc(t) + "</p>\n")
	}
	b.WriteString("</details></figure>\n")
}

func writeShapes(b *bytes.Buffer, shapes []shape) {
	for _, s := range shapes {
		switch s.kind {
		case "text":
			if s.text+s.tail == "" {
				continue
			}
			anchor := ""
			if s.anchor != "" {
				anchor = ` text-anchor="` + s.anchor + `"`
			}
			fmt.Fprintf(b, `<text class="%s" x="%s" y="%s" font-size="%s"%s>%s</text>`, s.class, coord(s.x), coord(s.y), coord(s.r), anchor, esc(s.text)+s.tailHTML())
		case "line":
			fmt.Fprintf(b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, s.class, coord(s.x), coord(s.y), coord(s.x2), coord(s.y2))
		case "rect":
			fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, markClass(s.class), coord(s.x), coord(s.y), coord(s.x2-s.x), coord(s.y2-s.y))
		case "disc":
			fmt.Fprintf(b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, markClass(s.class), coord(s.x), coord(s.y), coord(s.r))
		case "diamond":
			fmt.Fprintf(b, `<path class="%s" d="M%s %sL%s %sL%s %sL%s %sZ"/>`, markClass(s.class), coord(s.x-s.r), coord(s.y), coord(s.x), coord(s.y-s.r), coord(s.x+s.r), coord(s.y), coord(s.x), coord(s.y+s.r))
		}
		b.WriteByte('\n')
	}
}

// tailHTML returns the markup of the text behind a label.
func (s shape) tailHTML() string {
	if s.tail == "" {
		return ""
	}
	return `<tspan class="` + s.look + `"> ` + esc(s.tail) + "</tspan>"
}

// markClass adds the class of marks to the class of an arm's color.
func markClass(class string) string {
	if strings.HasPrefix(class, "a") {
		return class + " mark"
	}
	return class
}

// answerScale is how many pixels a PNG has for a unit of the picture: enough for a screen with two pixels for each of
// its own.
const answerScale = 2

// PNG draws the picture, its panels in columns of two, with two pixels to a unit.
func (a Answer) PNG(w io.Writer) error {
	width, height := a.size()
	// A unit is a point of the canvas, and a pixel an answerScale-th of it.
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(width+16), vg.Length(height+12)), vgimg.UseDPI(72*answerScale))
	dc := draw.New(c)
	a.places(func(p answerPanel, x, y float64) {
		for _, s := range p.shapes() {
			drawShape(dc, s, vg.Length(8+x), dc.Max.Y-vg.Length(6+y))
		}
	})
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, paletted(c.Image()))
}

// answerLook is the color of a class.
func answerLook(class string) color.NRGBA {
	name, rest, _ := strings.Cut(class, " ")
	c := ink
	switch name {
	case "soft":
		c = color.NRGBA{0x59, 0x63, 0x6e, 0xff}
	case "grid":
		c = color.NRGBA{0xcc, 0xd2, 0xd9, 0xff}
	case "axis":
		c = gray
	case "margin":
		c = color.NRGBA{0x99, 0x99, 0x99, 0x48}
	case "k-worse":
		c = color.NRGBA{0xb3, 0x26, 0x1e, 0xff}
	case "k-better", "k-same":
		c = color.NRGBA{0x1a, 0x7f, 0x37, 0xff}
	case "k-inconclusive", "k-indicative":
		c = color.NRGBA{0x8a, 0x5a, 0x00, 0xff}
	case "k-invalid":
		c = color.NRGBA{0x6e, 0x40, 0xc9, 0xff}
	default:
		if len(name) == 2 && name[0] == 'a' {
			c = armColor(int(name[1] - '0'))
		}
	}
	if strings.Contains(rest, "hollow") {
		c = faded(c, 0x30)
	}
	return c
}

// drawShape draws a shape whose origin is at left, top: the canvas counts upward.
func drawShape(dc draw.Canvas, s shape, left, top vg.Length) {
	at := func(x, y float64) vg.Point { return vg.Point{X: left + vg.Length(x), Y: top - vg.Length(y)} }
	c := answerLook(s.class)
	switch s.kind {
	case "text":
		style := letters(vg.Length(s.r), c, strings.Contains(s.class, "strong"))
		behind := letters(vg.Length(s.r), answerLook(s.look), strings.Contains(s.look, "strong"))
		style.YAlign, behind.YAlign = draw.YBottom, draw.YBottom
		tail := s.tail
		if tail != "" && s.text != "" {
			tail = " " + tail
		}
		p := at(s.x, s.y)
		p.Y -= vg.Length(s.r) - style.FontExtents().Ascent // y is the line that letters stand on
		switch width := style.Width(s.text) + behind.Width(tail); s.anchor {
		case "middle":
			p.X -= width / 2
		case "end":
			p.X -= width
		}
		dc.FillText(style, p, s.text)
		p.X += style.Width(s.text)
		dc.FillText(behind, p, tail)
	case "line":
		width := vg.Length(1)
		if s.class == "span" {
			width = 1.8
		}
		from, to := at(s.x, s.y), at(s.x2, s.y2)
		dc.StrokeLine2(draw.LineStyle{Color: c, Width: width}, from.X, from.Y, to.X, to.Y)
	case "rect":
		dc.FillPolygon(c, []vg.Point{at(s.x, s.y), at(s.x2, s.y), at(s.x2, s.y2), at(s.x, s.y2)})
	case "disc":
		dc.DrawGlyph(draw.GlyphStyle{Color: c, Radius: vg.Length(s.r), Shape: draw.CircleGlyph{}}, at(s.x, s.y))
	case "diamond":
		dc.FillPolygon(c, []vg.Point{at(s.x-s.r, s.y), at(s.x, s.y-s.r), at(s.x+s.r, s.y), at(s.x, s.y+s.r)})
	}
}
