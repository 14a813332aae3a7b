package report

import (
	"cmp"
	"fmt"
	"strings"
)

// A Graph is one picture of a document: all arms on the same clock. It is a value and may be drawn
// any number of times, as PNG or SVG.
type Graph struct {
	// File is the name under which reports look for the PNG, below their directory graphs.
	File string
	data GraphData
	name string // of the database, for the title
	// panel reports that it belongs to a page of one run: its lines are not arms, and the page
	// names them.
	panel bool
}

// Graphs returns the pictures of a document in the order in which it shows them.
func Graphs(d Document) []Graph {
	out := make([]Graph, 0, len(d.Graphs))
	for _, g := range d.Graphs {
		out = append(out, Graph{File: g.File, data: g, name: d.engineLabel(g.Engine)})
	}
	return out
}

// title is the title of the graph.
func (g Graph) title() string {
	t := cmp.Or(g.data.Title, g.data.Name)
	if g.panel {
		return t
	}
	if g.name != "" {
		t += " · " + g.name
	}
	return t + " · " + g.data.Test
}

// yLabel names the vertical axis.
func (g Graph) yLabel() string {
	t := cmp.Or(g.data.Title, g.data.Name)
	if g.data.Rule != "" {
		t = g.data.Rule
		for _, sign := range []string{" < ", " > "} { // the value, not the rule
			if i := strings.LastIndex(t, sign); i > 0 {
				t = t[:i]
			}
		}
		if strings.HasPrefix(t, "promql:") {
			t = "value" // the expression is the title
		}
	}
	return short(t, longLabel-len([]rune(g.data.Unit))) + inParens(g.data.Unit)
}

// longLabel is the largest number of signs in the label of an axis.
const longLabel = 26

// farLimit bounds a drawn limit, as a multiple of the largest value: beyond, it would press the
// curves to the bottom, and the legend states it.
const farLimit = 3

// hasLimit reports whether the line of a rule's limit is drawn.
func (g Graph) hasLimit() bool {
	_, top := g.extremes()
	// A limit cannot flatten curves that are 0 throughout.
	return g.data.Limit > 0 && (top == 0 || g.data.Limit <= farLimit*top)
}

// top returns the largest value that is drawn.
func (g Graph) top() float64 {
	_, top := g.extremes()
	if g.hasLimit() {
		top = max(top, g.data.Limit)
	}
	if !(top > 0) {
		return 1
	}
	return top
}

// extremes returns the lowest value of the curves, at most 0, and the highest, at least 0.
func (g Graph) extremes() (low, high float64) {
	for _, a := range g.data.Arms {
		for _, v := range [][]float64{a.Median, a.Lo, a.Hi} {
			for _, y := range v {
				low, high = min(low, y), max(high, y)
			}
		}
	}
	return low, high
}

// end returns the last instant, in seconds.
func (g Graph) end() float64 {
	end := 0.0
	for _, a := range g.data.Arms {
		if n := len(a.T); n > 0 {
			end = max(end, a.T[n-1])
		}
	}
	if end <= 0 {
		return 1
	}
	return end
}

// limitText labels the line of a rule's limit.
func (g Graph) limitText() string {
	t := "limit " + trim(sig(g.data.Limit, 3))
	if g.data.Unit != "" {
		t += " " + g.data.Unit
	}
	switch {
	case g.panel && g.data.LimitRule != "":
		t = g.data.LimitRule + strings.TrimPrefix(t, "limit")
	case g.data.LimitRule != "":
		t += " (" + g.data.LimitRule + ")"
	}
	if !g.hasLimit() {
		t += ", above this graph"
	}
	return t
}

// runsText states the number of runs behind a line.
func runsText(a ArmLine) string {
	if a.Of > a.N {
		return fmt.Sprintf("%d of %d runs have data", a.N, a.Of)
	}
	return count(a.N, "run", "runs")
}

// A key is an entry of the legend.
type key struct {
	kind  string // "arm", "missing", "limit", "mark", "broken", "unknown"
	arm   int    // position among the arms
	index int    // of the arm's color
	text  string
}

// keys are the entries of the legend for the elements that the graph shows.
func (g Graph) keys() []key {
	var out []key
	for i, a := range g.data.Arms {
		text := a.Arm
		if !g.panel {
			text += " (" + runsText(a) + ")"
		}
		out = append(out, key{kind: "arm", arm: i, index: a.Index, text: text})
	}
	for _, arm := range g.data.Missing {
		out = append(out, key{kind: "missing", text: arm + ": no data"})
	}
	if g.data.Limit > 0 {
		out = append(out, key{kind: "limit", text: g.limitText()})
	}
	if m := g.data.MeasuredFrom; m > 0 && m < g.end() {
		out = append(out, key{kind: "mark", text: "measured from here"})
	}
	if len(g.data.Broken) > 0 {
		out = append(out, key{kind: "broken", text: "broken"})
	}
	if len(g.data.Unknown) > 0 {
		out = append(out, key{kind: "unknown", text: "no value"})
	}
	return out
}

// how explains line and band; it is part of the legend.
func (g Graph) how() string {
	many, band := false, false
	for _, a := range g.data.Arms {
		many, band = many || a.N > 1, band || len(a.Lo) > 0
	}
	var parts []string
	switch {
	case many:
		parts = append(parts, "line: median of the runs")
		if band {
			parts = append(parts, "band: lowest to highest of all")
		}
	case band:
		parts = append(parts, "line: mean of "+secondsText(g.data.Arms[0].Step),
			"band: lowest to highest")
	}
	if g.data.Note != "" {
		parts = append(parts, g.data.Note)
	}
	return strings.Join(parts, "; ")
}

func secondsText(s float64) string { return trim(sig(s, 2)) + " s" }

// rows breaks the legend into rows that are not wider than width, by the width of each entry.
func rows(keys []key, width float64, of func(key) float64) [][]key {
	var out [][]key
	used := 0.0
	for _, k := range keys {
		w := of(k)
		if len(out) == 0 || used+w > width {
			out, used = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], k)
		used += w
	}
	return out
}
