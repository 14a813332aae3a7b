package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Size of an SVG in its own units, and the place of the area in it.
const (
	svgWidth  = 640
	svgHeight = 320
	areaX     = 62
	areaY     = 52
	areaW     = svgWidth - areaX - 14
	areaH     = svgHeight - areaY - 44
)

// svgStyle is the look of a graph that stands alone; inside an HTML report the page's style takes its place.
const svgStyle = `<style>
.chart{font:12px sans-serif;background:#fff}.chart text{fill:#222}.chart .title{font-weight:bold;font-size:14px}
.grid{stroke:#ddd}.axis{stroke:#777}.mark{stroke:#777;stroke-dasharray:5 4;fill:none}.limit{stroke:#b00020;stroke-dasharray:5 4;fill:none}
.mean{fill:none;stroke-width:2}.thin{fill:none;stroke-width:.8;opacity:.5}.band{stroke:none;opacity:.18}
.a0 .mean,.a0 .thin{stroke:#0072b2}.a0 .band{fill:#0072b2}.a1 .mean,.a1 .thin{stroke:#d55e00}.a1 .band{fill:#d55e00}
.a2 .mean,.a2 .thin{stroke:#009e73}.a2 .band{fill:#009e73}.a3 .mean,.a3 .thin{stroke:#cc79a7}.a3 .band{fill:#cc79a7}
.a4 .mean,.a4 .thin{stroke:#e69f00}.a4 .band{fill:#e69f00}
</style>
`

// SVG draws the graph as a file of its own, without any outside address but the name of the format.
func (g Graph) SVG(w io.Writer) error {
	var b bytes.Buffer
	g.svg(&b, ` xmlns="http://www.w3.org/2000/svg"`, svgStyle)
	_, err := w.Write(b.Bytes())
	return err
}

// svg draws the graph. Curves lie in an inner svg whose units are those of the outer one, so that a script can zoom by
// changing its view box; data-x and data-y on it say what a unit is worth.
func (g Graph) svg(b *bytes.Buffer, attributes, style string) {
	end := g.end()
	marks, unit := clock(end)
	ys := ticks(g.bottom(), g.top()*1.02, 5)
	lo, hi := ys[0].at, ys[len(ys)-1].at
	x := func(t float64) float64 { return t / end * areaW }
	y := func(v float64) float64 { return areaH - (v-lo)/(hi-lo)*areaH }
	fmt.Fprintf(b, `<svg class="chart"%s viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n%s", attributes, svgWidth, svgHeight, esc(g.title()), style)
	fmt.Fprintf(b, `<text class="title" x="8" y="18">%s</text>`+"\n", esc(g.title()))
	for _, t := range ys {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%[3]s" y2="%[3]s"/><text x="%d" y="%[5]s" text-anchor="end">%s</text>`+"\n",
			areaX, areaX+areaW, coord(areaY+y(t.at)), areaX-6, coord(areaY+y(t.at)+4), t.label)
	}
	b.WriteString(`<g class="clock">`)
	for _, t := range marks {
		fmt.Fprintf(b, `<text x="%s" y="%d" text-anchor="middle">%s</text>`, coord(areaX+x(t.at)), areaY+areaH+17, t.label)
	}
	b.WriteString("</g>\n")
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%[3]d" y2="%[3]d"/>`, areaX, areaX+areaW, areaY+areaH)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">time since the start of the test (%s)</text>`, areaX+areaW/2, svgHeight-8, unit)
	fmt.Fprintf(b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", areaY+areaH/2, esc(short(g.yLabel(), 34)))
	fmt.Fprintf(b, `<svg class="area" x="%d" y="%d" width="%[3]d" height="%[4]d" viewBox="0 0 %[3]d %[4]d" preserveAspectRatio="none" data-end="%s" data-lo="%s" data-hi="%s" data-unit="%s">`+"\n",
		areaX, areaY, areaW, areaH, plain(end), plain(lo), plain(hi), esc(g.data.Unit))
	for _, a := range g.data.Arms {
		fmt.Fprintf(b, `<g class="arm a%d" data-arm="%s">`+"\n", a.Index%len(palette), esc(a.Arm))
		for _, s := range pieces(a.T, a.Step) {
			if len(a.Lo) == 0 || s.to-s.from < 2 {
				continue
			}
			b.WriteString(`<path class="band" d="M`)
			points(b, a.T[s.from:s.to], a.Hi[s.from:s.to], x, y, false)
			b.WriteString("L")
			points(b, a.T[s.from:s.to], a.Lo[s.from:s.to], x, y, true)
			b.WriteString(`Z"/>` + "\n")
		}
		for _, l := range a.Each {
			polylines(b, "thin", l.T, l.V, a.Step, x, y)
		}
		polylines(b, "mean", a.T, a.Mean, a.Step, x, y)
		b.WriteString("</g>\n")
	}
	if g.hasLimit() {
		fmt.Fprintf(b, `<line class="limit" x1="0" x2="%d" y1="%[2]s" y2="%[2]s" vector-effect="non-scaling-stroke"/>`, areaW, coord(y(g.data.Limit)))
	}
	if m := g.data.MeasuredFrom; m > 0 && m < end {
		fmt.Fprintf(b, `<line class="mark" x1="%[1]s" x2="%[1]s" y1="0" y2="%d" vector-effect="non-scaling-stroke"/>`, coord(x(m)), areaH)
	}
	b.WriteString("</svg>\n")
	g.svgKeys(b, end)
	b.WriteString("</svg>\n")
}

// svgKeys writes the legend below the title.
func (g Graph) svgKeys(b *bytes.Buffer, end float64) {
	at := 10
	key := func(class, attributes, line, label string) {
		label = short(label, 30)
		fmt.Fprintf(b, `<g class="key %s"%s><line class="%s" x1="%d" x2="%d" y1="34" y2="34"/><text x="%d" y="38">%s</text></g>`+"\n",
			class, attributes, line, at, at+20, at+25, esc(label))
		at += 25 + 7*len([]rune(label)) + 14
	}
	for i, a := range g.data.Arms {
		runs := " (1 run)"
		if a.N != 1 {
			runs = " (" + strconv.Itoa(a.N) + " runs)"
		}
		key("a"+strconv.Itoa(a.Index%len(palette)), fmt.Sprintf(` data-key="%d" tabindex="0" role="button"`, i), "mean", a.Arm+runs)
	}
	if g.data.Rule != "" && g.data.Limit > 0 {
		key("", "", "limit", g.limitText())
	}
	if m := g.data.MeasuredFrom; m > 0 && m < end {
		key("", "", "mark", "measured from here")
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
	for i := range t {
		k := i
		if backwards {
			k = len(t) - 1 - i
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(coord(x(t[k])))
		b.WriteByte(',')
		b.WriteString(coord(y(v[k])))
	}
}

// coord writes a coordinate with one decimal.
func coord(v float64) string {
	return trim(strconv.FormatFloat(math.Round(v*10)/10, 'f', 1, 64))
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// short cuts a text to n signs.
func short(s string, n int) string {
	r := []rune(strings.TrimRight(s, " "))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
