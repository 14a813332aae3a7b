package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"plimsoll/report/draw"
)

// A TrendGraph is the picture of one database: the level of each release against the first of its
// chain, with intervals and changes. It may be drawn any number of times.
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
func TrendGraphs(d Document) []TrendGraph {
	var out []TrendGraph
	for i, db := range d.Trend.Databases {
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
				m := trendMark{x: x, level: percent(r.Against.Value), lo: percent(r.Against.Lo),
					hi: percent(r.Against.Hi), name: r.Release}
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
func (g TrendGraph) scale() []draw.Tick {
	lo, hi := 99.0, 101.0
	for _, m := range g.marks {
		for _, v := range []float64{m.level, m.lo, m.hi} {
			if known(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	pad := (hi - lo) / 20
	return draw.Ticks(lo-pad, hi+pad, 6)
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
	return "Supported users in % of the first release of each chain: " + strings.Join(parts,
		"; ") + "."
}

// Width of the picture in its own units, height of its area, and the place of the area in it.
const (
	trendWidth = 860
	trendX     = 58
	trendY     = 34
	trendW     = trendWidth - trendX - 16
	trendH     = 250
)

// trendStyle is the style of a standalone trend beside the style of graphs.
const trendStyle = `<style>.whisker{stroke:#0072b2;stroke-width:1.6}.dot{fill:#0072b2}.change{stroke:#b00020;stroke-width:1.6;stroke-dasharray:4 3}.gap{stroke:#bbb;stroke-width:1.5}.chart .called{fill:#b00020;font-weight:bold}</style>` + "\n"

// SVG draws the picture as a complete file, without any outside address but the name of the format.
func (g TrendGraph) SVG(w io.Writer) error { return g.drawn(trendH).SVG(w) }

// PNG draws the picture, 1200 × 560 pixels.
func (g TrendGraph) PNG(w io.Writer) error {
	const scale = 1200.0 / trendWidth
	return g.drawn(560/scale-trendY-g.below()).PNG(w, scale)
}

// below is the height of the names, which are written at 30 degrees with letters 7 wide.
func (g TrendGraph) below() float64 {
	longest := 0
	for _, m := range g.marks {
		longest = max(longest, len([]rune(short(m.name, 18))))
	}
	return float64(24 + 7*longest/2)
}

// drawn draws the picture with an area of a height.
func (g TrendGraph) drawn(height float64) draw.Picture {
	ys := g.scale()
	lo, hi := ys[0].At, ys[len(ys)-1].At
	foot := trendY + height
	x := func(v float64) float64 { return trendX + v/g.span()*trendW }
	y := func(v float64) float64 { return foot - (v-lo)/(hi-lo)*height }
	var l draw.List
	l.Text("title", 8, 18, 0, g.title, "")
	for _, t := range ys {
		l.Line("grid", trendX, y(t.At), trendX+trendW, y(t.At))
		l.Text("", trendX-6, y(t.At)+4, 0, t.Label, "end")
	}
	l.Text("", 14, trendY+height/2, 0, trendAxis, "middle").Turn = -90
	for _, at := range g.gaps {
		l.Line("gap", x(at-0.25), trendY, x(at-0.25), foot)
	}
	l.Group("a0", "")
	for _, between := range g.lines {
		from, to := g.marks[between[0]], g.marks[between[1]]
		l.Line("mean", x(from.x), y(from.level), x(to.x), y(to.level))
	}
	for _, m := range g.marks {
		if known(m.lo) {
			l.Line("whisker", x(m.x), y(m.lo), x(m.x), y(m.hi))
		}
		l.Disc("dot", x(m.x), y(m.level), 4)
	}
	l.End()
	// of names from here on; the last one of a chain has its name, if there is room for few
	free := math.Inf(1)
	for _, m := range slices.Backward(g.marks) {
		if free-m.x >= g.span()/38 {
			free = m.x
			l.Text("", x(m.x), foot+16, 0, short(m.name, 18), "end").Turn = -30
		}
		if m.change != "" {
			at := x(m.x - 0.5)
			l.Line("change", at, trendY, at, foot)
			l.Text("called", at+4, trendY+12, 0, m.change, "")
		}
	}
	return draw.Picture{Class: "chart trend", Title: g.title, Style: trendStyle, Width: trendWidth,
		Height: foot + g.below(), Shapes: l}
}

// picture returns the name of the file and the title.
func (g TrendGraph) picture() (file, title string) { return g.File, g.title }

// writeDrawing writes the picture into a page, with its description as text.
func (g TrendGraph) writeDrawing(b *bytes.Buffer, id int) {
	fmt.Fprintf(
		b,
		`<figure class="roomy" aria-labelledby="t%[1]d"><figcaption><b id="t%[1]d">%[2]s</b></figcaption>`+"\n",
		id,
		esc(g.title+" ("+trendAxis+")"),
	)
	g.drawn(trendH).Write(b, 0)
	fmt.Fprintf(b, `<p class="note">%s</p></figure>`+"\n", esc(g.alternative()))
}

const trendTitle = "Supported users by release"
