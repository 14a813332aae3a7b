package report

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// A TrendGraph is the picture of one database: the level of each release against the first of its chain, with
// intervals and changes. It may be drawn any number of times.
type TrendGraph struct {
	// File is the name below the directory graphs, without an ending.
	File  string
	title string
	marks []trendMark
	lines [][2]int // marks that a comparison joins along a chain: indexes of neighbors
	gaps  []float64
}

// A trendMark is one release: its place, and 100 % for the first of a chain.
type trendMark struct {
	x, level, lo, hi float64 // lo and hi are NaN where there is no interval
	name, change     string
}

// TrendGraphs returns the pictures of a document, one per database.
func TrendGraphs(d TrendDocument) []TrendGraph {
	var out []TrendGraph
	for i, db := range d.Databases {
		g := TrendGraph{File: "trend", title: trendTitle}
		if db.Database != "" {
			g.File, g.title = "trend_"+slug(db.Database), trendTitle+" · "+db.Database
		}
		if slices.ContainsFunc(out, func(other TrendGraph) bool { return other.File == g.File }) {
			g.File += fmt.Sprintf("_%d", i+1)
		}
		x := 0.5
		for k, c := range db.Chains {
			if k > 0 {
				g.gaps = append(g.gaps, x)
				x += 0.5
			}
			for j, r := range c.Releases {
				percent := func(v Number) float64 { return 100 * (1 + float64(v)) }
				m := trendMark{x: x, level: percent(r.Against.Value), lo: percent(r.Against.Lo), hi: percent(r.Against.Hi), name: r.Release}
				for _, change := range c.Changes {
					if change.Release == r.Release {
						m.change, _, _ = strings.Cut(change.Shift.text(), " [")
					}
				}
				if j > 0 {
					g.lines = append(g.lines, [2]int{len(g.marks) - 1, len(g.marks)})
				} else {
					m.lo, m.hi = math.NaN(), math.NaN() // it is 100 % by definition
				}
				g.marks = append(g.marks, m)
				x++
			}
		}
		out = append(out, g)
	}
	return out
}

// span is the width in places of releases.
func (g TrendGraph) span() float64 {
	if len(g.marks) == 0 {
		return 1
	}
	return g.marks[len(g.marks)-1].x + 0.5
}

// scale returns the ticks of the vertical axis.
func (g TrendGraph) scale() []tick {
	lo, hi := 99.0, 101.0
	for _, m := range g.marks {
		for _, v := range []float64{m.level, m.lo, m.hi} {
			if known(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	pad := (hi - lo) / 20
	return ticks(lo-pad, hi+pad, 6)
}

const trendAxis = "% of the first release of the chain"

// alternative describes the picture in a sentence.
func (g TrendGraph) alternative() string {
	parts := make([]string, len(g.marks))
	for i, m := range g.marks {
		parts[i] = fmt.Sprintf("%s %s %%", m.name, sig(m.level, 4))
		if known(m.lo) {
			parts[i] += fmt.Sprintf(" (%s to %s)", sig(m.lo, 4), sig(m.hi, 4))
		}
		if m.change != "" {
			parts[i] += ", changed by " + m.change
		}
	}
	return "Supported users in % of the first release of each chain: " + strings.Join(parts, "; ") + "."
}

// Size of the SVG, and the place of the area in it.
const (
	trendWidth = 860
	trendX     = 58
	trendY     = 34
	trendW     = trendWidth - trendX - 16
	trendH     = 250
)

// trendStyle is the style of a standalone trend beside the style of graphs.
const trendStyle = `<style>.whisker{stroke:#0072b2;stroke-width:1.6}.dot{fill:#0072b2}.change{stroke:#b00020;stroke-width:1.6;stroke-dasharray:4 3}.gap{stroke:#bbb;stroke-width:1.5}.chart .called{fill:#b00020;font-weight:bold}</style>` + "\n"

// SVG draws the picture as a file of its own, without any outside address but the name of the format.
func (g TrendGraph) SVG(w io.Writer) error {
	var b bytes.Buffer
	g.svg(&b, ` xmlns="http://www.w3.org/2000/svg"`, svgStyle+trendStyle)
	_, err := w.Write(b.Bytes())
	return err
}

func (g TrendGraph) svg(b *bytes.Buffer, attributes, style string) {
	ys := g.scale()
	lo, hi := ys[0].at, ys[len(ys)-1].at
	longest := 0
	for _, m := range g.marks {
		longest = max(longest, len([]rune(short(m.name, 18))))
	}
	height := trendY + trendH + 24 + 7*longest/2 // names are written at 30 degrees, with letters 7 wide
	x := func(v float64) string { return coord(trendX + v/g.span()*trendW) }
	y := func(v float64) string { return coord(trendY + trendH - (v-lo)/(hi-lo)*trendH) }
	fmt.Fprintf(b, `<svg class="chart trend"%s viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n%s", attributes, trendWidth, height, esc(g.title), style)
	fmt.Fprintf(b, `<text class="title" x="8" y="18">%s</text>`+"\n", esc(g.title))
	for _, t := range ys {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%[3]s" y2="%[3]s"/><text x="%[4]d" y="%[3]s" dy="4" text-anchor="end">%[5]s</text>`+"\n", trendX, trendX+trendW, y(t.at), trendX-6, t.label)
	}
	fmt.Fprintf(b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", trendY+trendH/2, trendAxis)
	for _, at := range g.gaps {
		fmt.Fprintf(b, `<line class="gap" x1="%[1]s" x2="%[1]s" y1="%[2]d" y2="%[3]d"/>`+"\n", x(at-0.25), trendY, trendY+trendH)
	}
	b.WriteString(`<g class="a0">` + "\n")
	for _, l := range g.lines {
		from, to := g.marks[l[0]], g.marks[l[1]]
		fmt.Fprintf(b, `<line class="mean" x1="%s" x2="%s" y1="%s" y2="%s"/>`+"\n", x(from.x), x(to.x), y(from.level), y(to.level))
	}
	for _, m := range g.marks {
		if known(m.lo) {
			fmt.Fprintf(b, `<line class="whisker" x1="%[1]s" x2="%[1]s" y1="%[2]s" y2="%[3]s"/>`, x(m.x), y(m.lo), y(m.hi))
		}
		fmt.Fprintf(b, `<circle class="dot" cx="%s" cy="%s" r="4"/>`+"\n", x(m.x), y(m.level))
	}
	b.WriteString("</g>\n<g>\n")
	for _, m := range g.marks {
		fmt.Fprintf(b, `<text transform="translate(%s %d) rotate(-30)" text-anchor="end">%s</text>`+"\n", x(m.x), trendY+trendH+16, esc(short(m.name, 18)))
		if m.change != "" {
			fmt.Fprintf(b, `<line class="change" x1="%[1]s" x2="%[1]s" y1="%[2]d" y2="%[3]d"/><text class="called" x="%[1]s" y="%[4]d" dx="4">%[5]s</text>`+"\n", x(m.x-0.5), trendY, trendY+trendH, trendY+12, esc(m.change))
		}
	}
	b.WriteString("</g>\n</svg>\n")
}

// PNG draws the picture, 1200 × 560 pixels.
func (g TrendGraph) PNG(w io.Writer) error {
	p := plot.New()
	p.Title.Text = g.title
	p.Y.Label.Text = trendAxis
	ys := g.scale()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, g.span(), ys[0].at, ys[len(ys)-1].at
	names := make(plot.ConstantTicks, len(g.marks))
	for i, m := range g.marks {
		names[i] = plot.Tick{Value: m.x, Label: short(m.name, 18)}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = names, constant(ys)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YTop
	p.Title.TextStyle.Font.Size, p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Weight = 16, "Sans", bold
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size, a.Label.TextStyle.Font.Variant, a.Label.TextStyle.Color = 13, "Sans", ink
		a.Tick.Label.Font.Size, a.Tick.Label.Font.Variant, a.Tick.Label.Color = 13, "Sans", ink
		a.LineStyle.Color, a.Tick.LineStyle.Color = gray, gray
		a.Padding = 0
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Width = pale, 0
	p.Add(grid)
	inf, dashes := math.Inf(1), []vg.Length{5, 4}
	line := func(x1, y1, x2, y2 float64, style draw.LineStyle) error {
		return addLine(p, []float64{x1, x2}, []float64{y1, y2}, inf, style)
	}
	var points plotter.XYs
	for _, l := range g.lines {
		from, to := g.marks[l[0]], g.marks[l[1]]
		if err := line(from.x, from.level, to.x, to.level, draw.LineStyle{Color: palette[0], Width: 2}); err != nil {
			return err
		}
	}
	for _, at := range g.gaps {
		if err := line(at-0.25, p.Y.Min, at-0.25, p.Y.Max, draw.LineStyle{Color: pale, Width: 2}); err != nil {
			return err
		}
	}
	for _, m := range g.marks {
		points = append(points, plotter.XY{X: m.x, Y: m.level})
		if known(m.lo) {
			if err := line(m.x, m.lo, m.x, m.hi, draw.LineStyle{Color: palette[0], Width: 1.6}); err != nil {
				return err
			}
		}
		if m.change == "" {
			continue
		}
		if err := line(m.x-0.5, p.Y.Min, m.x-0.5, p.Y.Max, draw.LineStyle{Color: alarm, Width: 1.6, Dashes: dashes}); err != nil {
			return err
		}
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: m.x - 0.5, Y: p.Y.Max}}, Labels: []string{m.change}})
		if err != nil {
			return err
		}
		label.TextStyle[0] = draw.TextStyle{Color: alarm, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: 13, Weight: bold}, Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YTop}
		label.Offset = vg.Point{X: 4, Y: -4}
		p.Add(label)
	}
	if len(points) > 0 {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: palette[0], Radius: 4, Shape: draw.CircleGlyph{}}
		p.Add(dots)
	}
	const width, height = 1200, 560
	size := vgimg.UseWH(width*vg.Inch/dpi, height*vg.Inch/dpi)
	c := vgimg.NewWith(size, vgimg.UseDPI(dpi))
	p.Draw(draw.Crop(draw.New(c), 8, -18, 6, -8))
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	return enc.Encode(w, paletted(c.Image()))
}

// writeDrawing writes the picture into a page, with its description as text.
func (g TrendGraph) writeDrawing(b *bytes.Buffer, id int) {
	fmt.Fprintf(b, `<figure class="roomy" aria-labelledby="t%[1]d"><figcaption><b id="t%[1]d">%[2]s</b></figcaption>`+"\n", id, esc(g.title+" ("+trendAxis+")"))
	g.svg(b, "", "")
	fmt.Fprintf(b, `<p class="note">%s</p></figure>`+"\n", esc(g.alternative()))
}
