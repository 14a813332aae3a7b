package draw

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"

	"plimsoll/internal/plain"
)

// style is the look of a chart that stands alone; inside a page the page's style takes its place.
const style = `<style>
.chart{font:12px sans-serif;background:#fff}.chart text{fill:#222}.chart .title{font-weight:bold;font-size:14px}.chart .how{fill:#666;font-size:11px}
.area line,.area polyline{vector-effect:non-scaling-stroke}
.grid{stroke:#ddd}.axis{stroke:#777}.mark{stroke:#777;stroke-dasharray:5 4;fill:none}.limit{stroke:#b00020;stroke-dasharray:5 4;fill:none}
.broken{fill:#b00020;opacity:.13}.unknown{fill:#777;opacity:.2}
.mean{fill:none;stroke-width:2}.thin{fill:none;stroke-width:.8;opacity:.5}.band{stroke:none;opacity:.18}
.a0 .mean,.a0 .thin{stroke:#0072b2}.a0 .band{fill:#0072b2}.a1 .mean,.a1 .thin{stroke:#d55e00}.a1 .band{fill:#d55e00}
.a2 .mean,.a2 .thin{stroke:#009e73}.a2 .band{fill:#009e73}.a3 .mean,.a3 .thin{stroke:#cc79a7}.a3 .band{fill:#cc79a7}
.a4 .mean,.a4 .thin{stroke:#e69f00}.a4 .band{fill:#e69f00}.a5 .mean,.a5 .thin{stroke:#56b4e9}.a5 .band{fill:#56b4e9}
.a6 .mean,.a6 .thin{stroke:#8c5a2b}.a6 .band{fill:#8c5a2b}.a7 .mean,.a7 .thin{stroke:#6b6b6b}.a7 .band{fill:#6b6b6b}
</style>
`

// A Picture is a chart with its size in units.
type Picture struct {
	Class, Title  string
	Style         string // beside that of all charts
	Width, Height float64
	Shapes        List
}

// SVG writes the picture as a complete file, without any outside address but the name of the format.
func (p Picture) SVG(w io.Writer) error {
	var b bytes.Buffer
	p.write(&b, ` xmlns="http://www.w3.org/2000/svg"`, style+p.Style, 0)
	_, err := w.Write(b.Bytes())
	return err
}

// Write writes the picture into a page, without the part above from.
func (p Picture) Write(b *bytes.Buffer, from float64) { p.write(b, "", "", from) }

func (p Picture) write(b *bytes.Buffer, attributes, style string, from float64) {
	fmt.Fprintf(b, `<svg class="%s"%s viewBox="0 %s %s %s" role="img" aria-label="%s">`+"\n%s",
		p.Class, attributes, coord(from), coord(p.Width), coord(p.Height-from), esc(p.Title), style)
	p.Shapes.SVG(b)
	b.WriteString("</svg>\n")
}

// PNG writes the picture with a number of pixels for each unit.
func (p Picture) PNG(w io.Writer, scale float64) error {
	return p.Shapes.PNG(w, p.Width, p.Height, scale)
}

// SVG writes the shapes without an element around them.
func (l List) SVG(b *bytes.Buffer) {
	for _, s := range l {
		s.svg(b)
	}
}

// esc makes a text of one line for markup.
func esc(s string) string { return html.EscapeString(plain.OneLine(s)) }

func (s Element) svg(b *bytes.Buffer) {
	class := ""
	if s.Class != "" {
		class = ` class="` + s.Class
		if armOf(s.Class) >= 0 { // the class of marks
			class += " mark"
		}
		class += `"`
	}
	put := func(format string, places ...float64) {
		args := []any{class}
		for _, v := range places {
			args = append(args, coord(v))
		}
		fmt.Fprintf(b, format, args...)
	}
	switch s.Kind {
	case "open", "close":
		b.WriteString(s.Text)
	case "text":
		if s.Text+s.Tail == "" {
			return
		}
		if s.Turn != 0 {
			put(`<text%s transform="translate(%s %s) rotate(%s)"`, s.X, s.Y, s.Turn)
		} else {
			put(`<text%s x="%s" y="%s"`, s.X, s.Y)
		}
		if s.R > 0 {
			b.WriteString(` font-size="` + coord(s.R) + `"`)
		}
		if s.Anchor != "" {
			b.WriteString(` text-anchor="` + s.Anchor + `"`)
		}
		b.WriteString(">" + esc(s.Text))
		if s.Tail != "" {
			b.WriteString(`<tspan class="` + s.Look + `"> ` + esc(s.Tail) + "</tspan>")
		}
		b.WriteString("</text>")
	case "line":
		put(`<line%s x1="%s" y1="%s" x2="%s" y2="%s"/>`, s.X, s.Y, s.X2, s.Y2)
	case "rect":
		put(`<rect%s x="%s" y="%s" width="%s" height="%s"/>`, s.X, s.Y, s.X2-s.X, s.Y2-s.Y)
	case "disc":
		put(`<circle%s cx="%s" cy="%s" r="%s"/>`, s.X, s.Y, s.R)
	case "diamond":
		put(`<path%s d="M%s %sL%s %sL%s %sL%s %sZ"/>`, s.X-s.R, s.Y, s.X, s.Y-s.R, s.X+s.R, s.Y,
			s.X, s.Y+s.R)
	case "curve":
		b.WriteString("<polyline" + class + ` points="`)
		writePoints(b, s.Points)
		b.WriteString(`"/>`)
	case "band":
		half := len(s.Points) / 2
		b.WriteString("<path" + class + ` d="M`)
		writePoints(b, s.Points[:half])
		b.WriteString("L")
		writePoints(b, s.Points[half:])
		b.WriteString(`Z"/>`)
	}
	b.WriteByte('\n')
}

// writePoints writes places as "x,y x,y".
func writePoints(b *bytes.Buffer, xy []float64) {
	buf := b.AvailableBuffer()
	for i, v := range xy {
		switch {
		case i%2 == 1:
			buf = append(buf, ',')
		case i > 0:
			buf = append(buf, ' ')
		}
		buf = appendCoord(buf, v)
	}
	b.Write(buf)
}

// coord writes a coordinate with one decimal.
func coord(v float64) string { return string(appendCoord(nil, v)) }

func appendCoord(b []byte, v float64) []byte {
	tenths := int64(math.Round(v * 10))
	if tenths < 0 {
		b, tenths = append(b, '-'), -tenths
	}
	b = strconv.AppendInt(b, tenths/10, 10)
	if d := tenths % 10; d != 0 {
		b = append(b, '.', byte('0'+d))
	}
	return b
}
