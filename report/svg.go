package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Width of an SVG in its own units, and the place of the area in it. A page of 400 pixels shows it at three quarters of
// its size, where the text can still be read; the height of the head depends on the legend.
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

// svgStyle is the look of a graph that stands alone; inside an HTML page the page's style takes its place.
const svgStyle = `<style>
.chart{font:12px sans-serif;background:#fff}.chart text{fill:#222}.chart .title{font-weight:bold;font-size:14px}.chart .how{fill:#666;font-size:11px}
.grid{stroke:#ddd}.axis{stroke:#777}.mark{stroke:#777;stroke-dasharray:5 4;fill:none}.limit{stroke:#b00020;stroke-dasharray:5 4;fill:none}
.broken{fill:#b00020;opacity:.13}.unknown{fill:#777;opacity:.2}
.mean{fill:none;stroke-width:2}.thin{fill:none;stroke-width:.8;opacity:.5}.band{stroke:none;opacity:.18}
.a0 .mean,.a0 .thin{stroke:#0072b2}.a0 .band{fill:#0072b2}.a1 .mean,.a1 .thin{stroke:#d55e00}.a1 .band{fill:#d55e00}
.a2 .mean,.a2 .thin{stroke:#009e73}.a2 .band{fill:#009e73}.a3 .mean,.a3 .thin{stroke:#cc79a7}.a3 .band{fill:#cc79a7}
.a4 .mean,.a4 .thin{stroke:#e69f00}.a4 .band{fill:#e69f00}.a5 .mean,.a5 .thin{stroke:#56b4e9}.a5 .band{fill:#56b4e9}
.a6 .mean,.a6 .thin{stroke:#8c5a2b}.a6 .band{fill:#8c5a2b}.a7 .mean,.a7 .thin{stroke:#6b6b6b}.a7 .band{fill:#6b6b6b}
</style>
`

// SVG draws the graph as a file of its own, without any outside address but the name of the format.
func (g Graph) SVG(w io.Writer) error {
	var b bytes.Buffer
	g.svg(&b, ` xmlns="http://www.w3.org/2000/svg"`, svgStyle)
	_, err := w.Write(b.Bytes())
	return err
}

// svg draws the graph. Curves lie in an inner svg whose units are those of the outer one, so that a script can zoom
// by changing its view box; data-end, data-lo and data-hi on it give the range of the axes.
func (g Graph) svg(b *bytes.Buffer, attributes, style string) {
	legend := rows(g.keys(), svgWidth-16, func(k key) float64 { return 25 + signWidth*float64(len([]rune(svgText(k)))) + 12 })
	head := titleRow + 8 + keyRow*len(legend)
	how := g.how()
	if how != "" {
		head += keyRow
	}
	head += 9
	height := head + areaH + belowArea
	fmt.Fprintf(b, `<svg class="chart"%s viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n%s", attributes, svgWidth, height, esc(g.title()), style)
	fmt.Fprintf(b, `<text class="title" x="8" y="%d">%s</text>`+"\n", titleRow, esc(short(g.title(), 52)))
	if g.data.NoData != "" {
		g.svgNoData(b, head)
		return
	}
	g.svgKeys(b, legend, how)
	end := g.end()
	marks, unit := clock(end)
	ys := ticks(g.bottom(), g.top()*1.02, 5)
	lo, hi := ys[0].at, ys[len(ys)-1].at
	x := func(t float64) float64 { return t / end * areaW }
	y := func(v float64) float64 { return areaH - (v-lo)/(hi-lo)*areaH }
	for _, t := range ys {
		at := float64(head) + y(t.at)
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%[3]s" y2="%[3]s"/><text x="%d" y="%[5]s" text-anchor="end">%s</text>`+"\n",
			areaX, areaX+areaW, coord(at), areaX-6, coord(at+4), t.label)
	}
	b.WriteString(`<g class="clock">`)
	for _, t := range marks {
		fmt.Fprintf(b, `<text x="%s" y="%d" text-anchor="middle">%s</text>`, coord(areaX+x(t.at)), head+areaH+16, t.label)
	}
	b.WriteString("</g>\n")
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%[3]d" y2="%[3]d"/>`, areaX, areaX+areaW, head+areaH)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">time since the start of the test (%s)</text>`, areaX+areaW/2, height-8, unit)
	fmt.Fprintf(b, `<text transform="translate(13 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", head+areaH/2, esc(g.yLabel()))
	fmt.Fprintf(b, `<svg class="area" x="%d" y="%d" width="%[3]d" height="%[4]d" viewBox="0 0 %[3]d %[4]d" preserveAspectRatio="none" data-end="%s" data-lo="%s" data-hi="%s" data-unit="%s">`+"\n",
		areaX, head, areaW, areaH, decimal(end), decimal(lo), decimal(hi), esc(g.data.Unit))
	svgSpans(b, "broken", g.data.Broken, x)
	svgSpans(b, "unknown", g.data.Unknown, x)
	for _, a := range g.data.Arms {
		fmt.Fprintf(b, `<g class="arm a%d" data-arm="%s">`+"\n", a.Index%len(palette), esc(a.Arm))
		for _, s := range g.bands(a, (hi-lo)/areaH) {
			b.WriteString(`<path class="band" d="M`)
			points(b, a.T[s.from:s.to], a.Hi[s.from:s.to], x, y, false)
			b.WriteString("L")
			points(b, a.T[s.from:s.to], a.Lo[s.from:s.to], x, y, true)
			b.WriteString(`Z"/>` + "\n")
		}
		for _, l := range a.Each {
			polylines(b, "thin", l.T, l.V, a.Step, x, y)
		}
		polylines(b, "mean", a.T, a.Median, a.Step, x, y)
		b.WriteString("</g>\n")
	}
	if g.hasLimit() {
		fmt.Fprintf(b, `<line class="limit" x1="0" x2="%d" y1="%[2]s" y2="%[2]s" vector-effect="non-scaling-stroke"/>`, areaW, coord(y(g.data.Limit)))
	}
	if m := g.data.MeasuredFrom; m > 0 && m < end {
		fmt.Fprintf(b, `<line class="mark" x1="%[1]s" x2="%[1]s" y1="0" y2="%d" vector-effect="non-scaling-stroke"/>`, coord(x(m)), areaH)
	}
	b.WriteString("</svg>\n</svg>\n")
}

// svgNoData draws the text in the place of curves.
func (g Graph) svgNoData(b *bytes.Buffer, head int) {
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%[3]d" y2="%[3]d"/>`+"\n", areaX, areaX+areaW, head+areaH)
	lines := wrap("no data: "+oneLine(g.data.NoData), 58, 6)
	for i, l := range lines {
		fmt.Fprintf(b, `<text class="nodata" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", svgWidth/2, head+areaH/2+17*i-17*(len(lines)-1)/2, esc(l))
	}
	b.WriteString("</svg>\n")
}

// bands returns the stretches of an arm's band that can be seen: between its gaps, and where it is wider than fine
// somewhere.
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

func svgSpans(b *bytes.Buffer, class string, spans []Stretch, x func(float64) float64) {
	for _, s := range spans {
		from, to := max(x(s.From), 0), min(x(s.To), areaW)
		if to > from {
			fmt.Fprintf(b, `<rect class="%s" x="%s" y="0" width="%s" height="%d"/>`+"\n", class, coord(from), coord(max(to-from, 1)), areaH)
		}
	}
}

// svgText is the entry of a legend as an SVG shows it.
func svgText(k key) string { return short(k.text, 52) }

// svgKeys writes the legend below the title.
func (g Graph) svgKeys(b *bytes.Buffer, legend [][]key, how string) {
	at := titleRow + 8
	for _, row := range legend {
		left := 10.0
		for _, k := range row {
			text := svgText(k)
			y := at + 8
			switch k.kind {
			case "arm":
				fmt.Fprintf(b, `<g class="key a%d" data-key="%d" tabindex="0" role="button"><line class="mean" x1="%s" x2="%s" y1="%[5]d" y2="%[5]d"/>`,
					k.index%len(palette), k.arm, coord(left), coord(left+20), y)
			case "limit", "mark":
				fmt.Fprintf(b, `<g class="key"><line class="%s" x1="%s" x2="%s" y1="%[4]d" y2="%[4]d"/>`, k.kind, coord(left), coord(left+20), y)
			case "broken", "unknown":
				fmt.Fprintf(b, `<g class="key"><rect class="%s" x="%s" y="%d" width="20" height="10"/>`, k.kind, coord(left), y-5)
			default:
				b.WriteString(`<g class="key">`)
				left -= 25
			}
			fmt.Fprintf(b, `<text x="%s" y="%d">%s</text></g>`+"\n", coord(left+25), y+4, esc(text))
			left += 25 + signWidth*float64(len([]rune(text))) + 12
		}
		at += keyRow
	}
	if how != "" {
		fmt.Fprintf(b, `<text class="how" x="10" y="%d">%s</text>`+"\n", at+12, esc(short(how, 78)))
	}
}

func polylines(b *bytes.Buffer, class string, t, v []float64, step float64, x, y func(float64) float64) {
	for _, s := range pieces(t, step) {
		fmt.Fprintf(b, `<polyline class="%s" vector-effect="non-scaling-stroke" points="`, class)
		points(b, t[s.from:s.to], v[s.from:s.to], x, y, false)
		if s.to-s.from == 1 { // a point by itself would not be seen
			fmt.Fprintf(b, " %s,%s", coord(x(t[s.from])+1.5), coord(y(v[s.from])))
		}
		b.WriteString(`"/>` + "\n")
	}
}

// points writes places as "x,y x,y", backwards if asked.
func points(b *bytes.Buffer, t, v []float64, x, y func(float64) float64, backwards bool) {
	buf := b.AvailableBuffer()
	for i := range t {
		k := i
		if backwards {
			k = len(t) - 1 - i
		}
		if i > 0 {
			buf = append(buf, ' ')
		}
		buf = appendCoord(buf, x(t[k]))
		buf = append(buf, ',')
		buf = appendCoord(buf, y(v[k]))
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
