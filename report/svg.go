package report

import (
	"bytes"
	"fmt"
	"io"
)

// Width of a graph in its own units, and the place of the area in it. A page of 400 pixels shows it
// at three quarters of its size, where the text can still be read; the height of the head depends
// on the legend.
const (
	svgWidth  = 460
	areaX     = 56
	areaW     = svgWidth - areaX - 12
	areaH     = 176
	titleRow  = 18
	keyRow    = 16
	belowArea = 42
	signWidth = 6.3 // of a letter of the legend, on average
)

// Size of the PNG of a graph in pixels. Reports show two beside each other, each at about half of
// this width: its letters are large enough for that.
const (
	pngWidth  = 800
	pngHeight = 440
	pngScale  = float64(pngWidth) / svgWidth
)

// svgStyle is the look of a graph that stands alone; inside an HTML page the page's style takes its
// place.
const svgStyle = `<style>
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

// SVG draws the graph as a complete file, without any outside address but the name of the format.
func (g Graph) SVG(w io.Writer) error {
	var b bytes.Buffer
	g.svg(&b, ` xmlns="http://www.w3.org/2000/svg"`, svgStyle, 0)
	_, err := w.Write(b.Bytes())
	return err
}

// PNG draws the graph, 800 × 440 pixels.
func (g Graph) PNG(w io.Writer) error {
	const height = pngHeight / pngScale
	_, head := g.legend()
	return writePNG(w, svgWidth, height, pngScale, g.shapes(max(height-head-belowArea, 60)))
}

// svg draws the graph below a line with attributes and a style.
func (g Graph) svg(b *bytes.Buffer, attributes, style string, from float64) {
	_, head := g.legend()
	fmt.Fprintf(b, `<svg class="chart"%s viewBox="0 %s %d %s" role="img" aria-label="%s">`+"\n%s",
		attributes, coord(from), svgWidth, coord(head+areaH+belowArea-from), esc(g.title()), style)
	writeShapes(b, g.shapes(areaH))
	b.WriteString("</svg>\n")
}

// legend returns the rows of the legend, and the height of all above the area.
func (g Graph) legend() (legend [][]key, head float64) {
	width := func(k key) float64 { return 25 + signWidth*float64(len([]rune(svgText(k)))) + 12 }
	legend = rows(g.keys(), svgWidth-16, width)
	head = titleRow + 8 + keyRow*float64(len(legend)) + 9
	if g.how() != "" {
		head += keyRow
	}
	return legend, head
}

// shapes draws the graph with an area of a height. Curves lie in a group that is an inner svg with
// the units of the outer one, so that a script can zoom by changing its view box; data-end, data-lo
// and data-hi on it give the range of the axes.
func (g Graph) shapes(height float64) []shape {
	legend, head := g.legend()
	out := []shape{textAt("title", 8, titleRow, 0, short(g.title(), 52), "")}
	add := func(s ...shape) { out = append(out, s...) }
	if g.data.NoData != "" {
		return append(out, g.noData(head, height)...)
	}
	add(g.svgKeys(legend)...)
	end := g.end()
	marks, unit := clock(end)
	ys := ticks(g.bottom(), g.top()*1.02, 5)
	a := area{end: end, lo: ys[0].at, hi: ys[len(ys)-1].at, height: height}
	foot := head + height
	for _, t := range ys {
		at := head + a.y(t.at)
		add(
			lineAt("grid", areaX, at, areaX+areaW, at),
			textAt("", areaX-6, at+4, 0, t.label, "end"),
		)
	}
	add(group("clock", ""))
	for _, t := range marks {
		add(textAt("", areaX+a.x(t.at), foot+16, 0, t.label, "middle"))
	}
	add(
		groupEnd,
		lineAt("axis", areaX, foot, areaX+areaW, foot),
		textAt(
			"",
			areaX+areaW/2,
			foot+belowArea-8,
			0,
			"time since the start of the test ("+unit+")",
			"middle",
		),
		turned(textAt("", 13, head+height/2, 0, g.yLabel(), "middle"), -90),
	)
	inner := fmt.Sprintf(
		`<svg class="area" x="%d" y="%s" width="%[3]d" height="%[4]s" viewBox="0 0 %[3]d %[4]s" preserveAspectRatio="none" data-end="%s" data-lo="%s" data-hi="%s" data-unit="%s">`,
		areaX,
		coord(head),
		areaW,
		coord(height),
		decimal(end),
		decimal(a.lo),
		decimal(a.hi),
		esc(g.data.Unit),
	)
	add(shape{kind: "open", x: areaX, y: head, text: inner})
	add(a.spans("broken", g.data.Broken)...)
	add(a.spans("unknown", g.data.Unknown)...)
	for _, arm := range g.data.Arms {
		add(group(fmt.Sprintf("arm a%d", arm.Index%len(palette)), ` data-arm="`+esc(arm.Arm)+`"`))
		for _, s := range g.bands(arm, (a.hi-a.lo)/height) {
			add(a.band(arm, s))
		}
		for _, l := range arm.Each {
			add(a.curves("thin", l.T, l.V, arm.Step)...)
		}
		add(a.curves("mean", arm.T, arm.Median, arm.Step)...)
		add(groupEnd)
	}
	if g.hasLimit() {
		add(lineAt("limit", 0, a.y(g.data.Limit), areaW, a.y(g.data.Limit)))
	}
	if m := g.data.MeasuredFrom; m > 0 && m < end {
		add(lineAt("mark", a.x(m), 0, a.x(m), height))
	}
	add(shape{kind: "close", text: "</svg>"})
	return out
}

// noData writes the text in the place of curves.
func (g Graph) noData(head, height float64) []shape {
	out := []shape{lineAt("axis", areaX, head+height, areaX+areaW, head+height)}
	lines := wrap("no data: "+oneLine(g.data.NoData), 58, 6)
	for i, l := range lines {
		y := head + height/2 + 17*(float64(i)-float64(len(lines)-1)/2)
		out = append(out, textAt("nodata", svgWidth/2, y, 0, l, "middle"))
	}
	return out
}

// bands returns the stretches of an arm's band that can be seen: between its gaps, and where it is
// wider than fine somewhere.
func (g Graph) bands(a ArmLine, fine float64) []piece {
	var out []piece
	if len(a.Lo) == 0 {
		return nil
	}
	for _, s := range pieces(a.T, a.Step) {
		seen := false
		for i := s.from; i < s.to; i++ {
			seen = seen || a.Hi[i]-a.Lo[i] > fine
		}
		if seen && s.to-s.from > 1 {
			out = append(out, s)
		}
	}
	return out
}

// An area is the place of curves: its range and its height.
type area struct{ end, lo, hi, height float64 }

func (a area) x(t float64) float64 { return t / a.end * areaW }

func (a area) y(v float64) float64 { return a.height - (v-a.lo)/(a.hi-a.lo)*a.height }

func (a area) spans(class string, spans []Stretch) (out []shape) {
	for _, s := range spans {
		from, to := max(a.x(s.From), 0), min(a.x(s.To), areaW)
		if to > from {
			out = append(out, rectAt(class, from, 0, from+max(to-from, 1), a.height))
		}
	}
	return out
}

func (a area) band(arm ArmLine, s piece) shape {
	xy := make([]float64, 0, 4*(s.to-s.from))
	for i := s.from; i < s.to; i++ {
		xy = append(xy, a.x(arm.T[i]), a.y(arm.Hi[i]))
	}
	for i := s.to - 1; i >= s.from; i-- {
		xy = append(xy, a.x(arm.T[i]), a.y(arm.Lo[i]))
	}
	return shape{kind: "band", class: "band", points: xy}
}

func (a area) curves(class string, t, v []float64, step float64) (out []shape) {
	for _, s := range pieces(t, step) {
		xy := make([]float64, 0, 2*(s.to-s.from)+2)
		for i := s.from; i < s.to; i++ {
			xy = append(xy, a.x(t[i]), a.y(v[i]))
		}
		if len(xy) == 2 { // a point by itself would not be seen
			xy = append(xy, xy[0]+1.5, xy[1])
		}
		out = append(out, shape{kind: "curve", class: class, points: xy})
	}
	return out
}

// svgText is the entry of a legend as it is shown.
func svgText(k key) string { return short(k.text, 52) }

// svgKeys draws the legend below the title, and so never over the data.
func (g Graph) svgKeys(legend [][]key) (out []shape) {
	at := float64(titleRow + 8)
	for _, row := range legend {
		left := 10.0
		for _, k := range row {
			text := svgText(k)
			y := at + 8
			switch k.kind {
			case "arm":
				class := fmt.Sprintf("key a%d", k.index%len(palette))
				out = append(
					out,
					group(class, fmt.Sprintf(` data-key="%d" tabindex="0" role="button"`, k.arm)),
					lineAt("mean", left, y, left+20, y),
				)
			case "limit", "mark":
				out = append(out, group("key", ""), lineAt(k.kind, left, y, left+20, y))
			case "broken", "unknown":
				out = append(out, group("key", ""), rectAt(k.kind, left, y-5, left+20, y+5))
			default:
				out = append(out, group("key", ""))
				left -= 25
			}
			out = append(out, textAt("", left+25, y+4, 0, text, ""), groupEnd)
			left += 25 + signWidth*float64(len([]rune(text))) + 12
		}
		at += keyRow
	}
	return append(out, textAt("how", 10, at+12, 0, short(g.how(), 78), ""))
}
