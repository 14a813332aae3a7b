package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// A shape is a piece of a drawing; a list of them makes both an SVG and a PNG. Kind is line, rect,
// disc, diamond, text, curve, band, open or close; a line goes from X, Y to X2, Y2, a rect
// likewise. Class names its look: see the styles of SVG and lookOf. Open begins a group whose
// origin is at X, Y, and Close ends it.
type shape struct {
	kind, class  string
	x, y, x2, y2 float64
	r            float64 // of a disc or diamond; the size of a text, 0 for the size of its class
	text         string  // of a text; the markup of a group
	anchor       string  // of a text: "", middle or end
	turn         float64 // of a text around X, Y, in degrees
	// of a curve: x, y, x, y; of a band the upper side, then the lower one backward
	points     []float64
	tail, look string // more text behind it, and its class
}

func textAt(class string, x, y, size float64, text, anchor string) shape {
	return shape{kind: "text", class: class, x: x, y: y, r: size, text: text, anchor: anchor}
}

func turned(s shape, degrees float64) shape {
	s.turn = degrees
	return s
}

func lineAt(class string, x, y, x2, y2 float64) shape {
	return shape{kind: "line", class: class, x: x, y: y, x2: x2, y2: y2}
}

func rectAt(class string, x, y, x2, y2 float64) shape {
	return shape{kind: "rect", class: class, x: x, y: y, x2: x2, y2: y2}
}

// markAt is a disc or a diamond of radius r.
func markAt(kind, class string, x, y, r float64) shape {
	return shape{kind: kind, class: class, x: x, y: y, r: r}
}

// group begins a group with more attributes.
func group(class, attributes string) shape {
	return shape{kind: "open", class: class, text: `<g class="` + class + `"` + attributes + ">"}
}

var groupEnd = shape{kind: "close", text: "</g>"}

// writeShapes writes shapes as SVG.
func writeShapes(b *bytes.Buffer, shapes []shape) {
	for _, s := range shapes {
		s.svg(b)
	}
}

func (s shape) svg(b *bytes.Buffer) {
	class := ""
	if s.class != "" {
		class = ` class="` + markClass(s.kind, s.class) + `"`
	}
	switch s.kind {
	case "open", "close":
		b.WriteString(s.text)
	case "text":
		if s.text+s.tail == "" {
			return
		}
		if s.turn != 0 {
			fmt.Fprintf(
				b,
				`<text%s transform="translate(%s %s) rotate(%s)"`,
				class,
				coord(s.x),
				coord(s.y),
				coord(s.turn),
			)
		} else {
			fmt.Fprintf(b, `<text%s x="%s" y="%s"`, class, coord(s.x), coord(s.y))
		}
		if s.r > 0 {
			b.WriteString(` font-size="` + coord(s.r) + `"`)
		}
		if s.anchor != "" {
			b.WriteString(` text-anchor="` + s.anchor + `"`)
		}
		b.WriteString(">" + esc(s.text) + s.tailHTML() + "</text>")
	case "line":
		fmt.Fprintf(b, `<line%s x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, coord(s.x), coord(s.y),
			coord(s.x2), coord(s.y2))
	case "rect":
		fmt.Fprintf(
			b,
			`<rect%s x="%s" y="%s" width="%s" height="%s"/>`,
			class,
			coord(s.x),
			coord(s.y),
			coord(s.x2-s.x),
			coord(s.y2-s.y),
		)
	case "disc":
		fmt.Fprintf(
			b,
			`<circle%s cx="%s" cy="%s" r="%s"/>`,
			class,
			coord(s.x),
			coord(s.y),
			coord(s.r),
		)
	case "diamond":
		fmt.Fprintf(b, `<path%s d="M%s %sL%s %sL%s %sL%s %sZ"/>`, class, coord(s.x-s.r), coord(s.y),
			coord(s.x), coord(s.y-s.r), coord(s.x+s.r), coord(s.y), coord(s.x), coord(s.y+s.r))
	case "curve":
		b.WriteString("<polyline" + class + ` points="`)
		writePoints(b, s.points)
		b.WriteString(`"/>`)
	case "band":
		half := len(s.points) / 2
		b.WriteString("<path" + class + ` d="M`)
		writePoints(b, s.points[:half])
		b.WriteString("L")
		writePoints(b, s.points[half:])
		b.WriteString(`Z"/>`)
	}
	b.WriteByte('\n')
}

// tailHTML returns the markup of the text behind a label.
func (s shape) tailHTML() string {
	if s.tail == "" {
		return ""
	}
	return `<tspan class="` + s.look + `"> ` + esc(s.tail) + "</tspan>"
}

// markClass adds the class of marks to the class of an arm's color.
func markClass(kind, class string) string {
	if armOf(class) >= 0 && kind != "open" {
		return class + " mark"
	}
	return class
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

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// short cuts a text to n signs.
func short(s string, n int) string {
	r := []rune(strings.TrimRight(s, " "))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

// palette distinguishes arms for all kinds of color vision (the first six are of Okabe and Ito);
// base is blue.
var palette = [...]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xff}, {0xD5, 0x5E, 0x00, 0xff}, {0x00, 0x9E, 0x73, 0xff},
	{0xCC, 0x79, 0xA7, 0xff}, {0xE6, 0x9F, 0x00, 0xff},
	{0x56, 0xB4, 0xE9, 0xff}, {0x8C, 0x5A, 0x2B, 0xff}, {0x6B, 0x6B, 0x6B, 0xff},
}

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	soft  = color.NRGBA{0x59, 0x63, 0x6e, 0xff}
	pale  = color.NRGBA{0xd4, 0xd8, 0xdd, 0xff}
	gray  = color.NRGBA{0x77, 0x77, 0x77, 0xff}
	alarm = color.NRGBA{0xB0, 0x00, 0x20, 0xff}
)

func faded(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// armOf returns the index of the arm's color in a class such as "arm a1"; -1 if there is none.
func armOf(class string) int {
	for name := range strings.FieldsSeq(class) {
		if len(name) == 2 && name[0] == 'a' && name[1] >= '0' && name[1] <= '7' {
			return int(name[1] - '0')
		}
	}
	return -1
}

// A look is the style of a class in a PNG.
type look struct {
	color        color.NRGBA
	width        float64 // of a line, in units
	size         float64 // of letters
	bold, dashed bool
}

// looks holds the look of each class; the color of an arm is added.
var looks = map[string]look{
	"title":          {color: ink, size: 14, bold: true},
	"how":            {color: soft, size: 11},
	"soft":           {color: soft},
	"grid":           {color: pale, width: 0.7},
	"gap":            {color: pale, width: 1.5},
	"axis":           {color: gray, width: 1},
	"mark":           {color: gray, width: 1.2, dashed: true},
	"limit":          {color: alarm, width: 1.4, dashed: true},
	"change":         {color: alarm, width: 1.6, dashed: true},
	"called":         {color: alarm, bold: true},
	"span":           {color: ink, width: 1.8},
	"whisker":        {color: palette[0], width: 1.6},
	"dot":            {color: palette[0]},
	"margin":         {color: color.NRGBA{0x99, 0x99, 0x99, 0x48}},
	"broken":         {color: faded(alarm, 0x22)},
	"unknown":        {color: faded(gray, 0x33)},
	"same":           {color: color.NRGBA{0xdf, 0xe3, 0xe8, 0xff}},
	"up1":            {color: color.NRGBA{0xfb, 0xdc, 0xc8, 0xff}},
	"up2":            {color: color.NRGBA{0xf6, 0xb0, 0x7f, 0xff}},
	"up3":            {color: color.NRGBA{0xe9, 0x8a, 0x3f, 0xff}},
	"down1":          {color: color.NRGBA{0xd3, 0xe6, 0xf5, 0xff}},
	"down2":          {color: color.NRGBA{0x97, 0xc7, 0xe8, 0xff}},
	"down3":          {color: color.NRGBA{0x5c, 0xaa, 0xdb, 0xff}},
	"k-worse":        {color: color.NRGBA{0xb3, 0x26, 0x1e, 0xff}},
	"k-better":       {color: color.NRGBA{0x1a, 0x7f, 0x37, 0xff}},
	"k-same":         {color: color.NRGBA{0x1a, 0x7f, 0x37, 0xff}},
	"k-inconclusive": {color: color.NRGBA{0x8a, 0x5a, 0x00, 0xff}},
	"k-indicative":   {color: color.NRGBA{0x8a, 0x5a, 0x00, 0xff}},
	"k-invalid":      {color: color.NRGBA{0x6e, 0x40, 0xc9, 0xff}},
}

// lookOf returns the look of a class in a group of an arm, -1 for none.
func lookOf(class string, arm int) look {
	name, _, _ := strings.Cut(class, " ")
	l, ok := looks[name]
	if !ok {
		l.color = ink
	}
	if i := armOf(class); i >= 0 {
		l.color = palette[i]
	} else if arm >= 0 {
		switch name {
		case "mean":
			l.color, l.width = palette[arm], 2
		case "thin":
			l.color, l.width = faded(palette[arm], 0x80), 0.8
		case "band":
			l.color = faded(palette[arm], 0x30)
		}
	}
	if strings.Contains(class, "hollow") {
		l.color.A = 0x30
	}
	l.bold = l.bold || strings.Contains(class, "strong")
	if l.size == 0 {
		l.size = 12
	}
	return l
}
