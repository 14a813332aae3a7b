package report

import (
	"fmt"
	"io"

	"plimsoll/internal/plain"
	"plimsoll/report/draw"
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

// SVG draws the graph as a complete file, without any outside address but the name of the format.
func (g Graph) SVG(w io.Writer) error { return g.drawn(areaH).SVG(w) }

// PNG draws the graph, 800 × 440 pixels.
func (g Graph) PNG(w io.Writer) error {
	const height = pngHeight / pngScale
	_, head := g.legend()
	p := g.drawn(max(height-head-belowArea, 60))
	p.Height = height
	return p.PNG(w, pngScale)
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

// drawn draws the graph with an area of a height. Curves lie in a group that is an inner svg with
// the units of the outer one, so that a script can zoom by changing its view box; data-end, data-lo
// and data-hi on it give the range of the axes.
func (g Graph) drawn(height float64) draw.Picture {
	legend, head := g.legend()
	var l draw.List
	l.Text("title", 8, titleRow, 0, short(g.title(), 52), "")
	if g.data.NoData != "" {
		g.noData(&l, head, height)
	} else {
		g.svgKeys(&l, legend)
		g.axes(&l, head, height)
	}
	return draw.Picture{Class: "chart", Title: g.title(), Width: svgWidth,
		Height: head + height + belowArea, Shapes: l}
}

// axes draws the axes and the curves between them.
func (g Graph) axes(l *draw.List, head, height float64) {
	end := g.end()
	marks, unit := draw.Clock(end)
	bottom, _ := g.extremes()
	ys := draw.Ticks(bottom, g.top()*1.02, 5)
	a := draw.Area{End: end, Lo: ys[0].At, Hi: ys[len(ys)-1].At, Width: areaW, Height: height}
	foot := head + height
	for _, t := range ys {
		at := head + a.Y(t.At)
		l.Line("grid", areaX, at, areaX+areaW, at)
		l.Text("", areaX-6, at+4, 0, t.Label, "end")
	}
	l.Group("clock", "")
	for _, t := range marks {
		l.Text("", areaX+a.X(t.At), foot+16, 0, t.Label, "middle")
	}
	l.End()
	l.Line("axis", areaX, foot, areaX+areaW, foot)
	l.Text("", areaX+areaW/2, foot+belowArea-8, 0, "time since the start of the test ("+unit+")",
		"middle")
	l.Text("", 13, head+height/2, 0, g.yLabel(), "middle").Turn = -90
	l.Open("", areaX, head, fmt.Sprintf(
		`<svg class="area" x="%d" y="%v" width="%[3]d" height="%[4]v" viewBox="0 0 %[3]d %[4]v" preserveAspectRatio="none" data-end="%g" data-lo="%g" data-hi="%g" data-unit="%s">`,
		areaX, head, areaW, height, end, a.Lo, a.Hi, esc(g.data.Unit)))
	for _, s := range g.data.Broken {
		a.Span(l, "broken", s.From, s.To)
	}
	for _, s := range g.data.Unknown {
		a.Span(l, "unknown", s.From, s.To)
	}
	for _, arm := range g.data.Arms {
		l.Group("arm "+draw.Arm(arm.Index), ` data-arm="`+esc(arm.Arm)+`"`)
		a.Band(l, arm.T, arm.Lo, arm.Hi, arm.Step)
		for _, each := range arm.Each {
			a.Curve(l, "thin", each.T, each.V, arm.Step)
		}
		a.Curve(l, "mean", arm.T, arm.Median, arm.Step)
		l.End()
	}
	if g.hasLimit() {
		l.Line("limit", 0, a.Y(g.data.Limit), areaW, a.Y(g.data.Limit))
	}
	if m := g.data.MeasuredFrom; m > 0 && m < end {
		l.Line("mark", a.X(m), 0, a.X(m), height)
	}
	l.Close("</svg>")
}

// noData writes the text in the place of curves.
func (g Graph) noData(l *draw.List, head, height float64) {
	l.Line("axis", areaX, head+height, areaX+areaW, head+height)
	lines := wrap("no data: "+plain.OneLine(g.data.NoData), 58, 6)
	for i, line := range lines {
		y := head + height/2 + 17*(float64(i)-float64(len(lines)-1)/2)
		l.Text("nodata", svgWidth/2, y, 0, line, "middle")
	}
}

// svgText is the entry of a legend as it is shown.
func svgText(k key) string { return short(k.text, 52) }

// svgKeys draws the legend below the title, and so never over the data.
func (g Graph) svgKeys(l *draw.List, legend [][]key) {
	at := float64(titleRow + 8)
	for _, row := range legend {
		left := 10.0
		for _, k := range row {
			text := svgText(k)
			y := at + 8
			switch k.kind {
			case "arm":
				l.Group("key "+draw.Arm(k.index),
					fmt.Sprintf(` data-key="%d" tabindex="0" role="button"`, k.arm))
				l.Line("mean", left, y, left+20, y)
			case "limit", "mark":
				l.Group("key", "")
				l.Line(k.kind, left, y, left+20, y)
			case "broken", "unknown":
				l.Group("key", "")
				l.Rect(k.kind, left, y-5, left+20, y+5)
			default:
				l.Group("key", "")
				left -= 25
			}
			l.Text("", left+25, y+4, 0, text, "")
			l.End()
			left += 25 + signWidth*float64(len([]rune(text))) + 12
		}
		at += keyRow
	}
	l.Text("how", 10, at+12, 0, short(g.how(), 78), "")
}
