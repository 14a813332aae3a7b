package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/judge/attribution"
	"plimsoll/report/draw"
)

// A Flame is a differential flame graph of a cost: the call tree of both arms from the top down.
// The width of a function is its CPU time per operation, in the arm that spends more at that place,
// so that what only the base does has a place, too. Its color is the change against the base; a
// change that is smaller than the comparison could find has none.
type Flame struct {
	// File is the name below the directory graphs, without an ending.
	File  string
	title string
	why   *Why
	fresh string // the new arm
	cells []flameCell
	rows  int
}

// A flameCell is a function at one place. Its place and width are shares of the whole width.
type flameCell struct {
	node  *attribution.Node
	x, w  float64
	depth int
}

const (
	// leastCell is the least width of a function in the picture.
	leastCell = 0.001
	flameW    = 1000
	flameRow  = 18
	flameHead = 46
	// flameSign is the width of a letter, on average.
	flameSign = 6.6
)

// pruned returns the tree without the functions that are narrower than a thousandth of it, and how
// many these are. It shares no node with the tree.
func pruned(tree *attribution.Node) (out *attribution.Node, dropped int) {
	if tree == nil {
		return nil, 0
	}
	least := leastCell * widthOf(tree)
	var of func(*attribution.Node) *attribution.Node
	of = func(n *attribution.Node) *attribution.Node {
		c := *n
		c.Children = nil
		for _, child := range n.Children {
			if widthOf(child) < least {
				dropped += nodesOf(child)
				continue
			}
			c.Children = append(c.Children, of(child))
		}
		return &c
	}
	return of(tree), dropped
}

func nodesOf(n *attribution.Node) int {
	all := 1
	for _, c := range n.Children {
		all += nodesOf(c)
	}
	return all
}

// widthOf returns the CPU time per operation of a function in the arm that spends more there: its
// own, and that of what it calls.
func widthOf(n *attribution.Node) float64 {
	base, fresh, sum := n.Base, n.New, 0.0
	for _, c := range n.Children {
		base, fresh, sum = base-c.Base, fresh-c.New, sum+widthOf(c)
	}
	return max(base, fresh, 0) + sum
}

// flame returns the picture of a cost; nil without a tree.
func (d Document) flame(w *Why) *Flame {
	if w.Tree == nil || !(widthOf(w.Tree) > 0) {
		return nil
	}
	f := &Flame{why: w, fresh: d.armLabel(w.Arm), title: fmt.Sprintf(
		"%s per operation: %s against %s", w.Endpoint, d.armLabel(w.Arm), d.baseLabel())}
	if label := d.engineLabel(w.Engine); label != "" {
		f.title += " · " + label
	}
	f.File = slug(strings.TrimSpace("why " + w.Engine + " " + w.Arm + " " + w.Role))
	f.place(w.Tree, 0, widthOf(w.Tree), 0)
	return f
}

// Flames returns the pictures of a document in the order in which it shows them.
func Flames(d Document) []*Flame {
	var out []*Flame
	for i := range d.Why {
		if f := d.flame(&d.Why[i]); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// place adds a function and what it calls, the widest first.
func (f *Flame) place(n *attribution.Node, x, whole float64, depth int) {
	f.cells = append(f.cells, flameCell{n, x / whole, widthOf(n) / whole, depth})
	f.rows = max(f.rows, depth+1)
	children := slices.Clone(n.Children)
	slices.SortStableFunc(children, func(a, b *attribution.Node) int {
		return cmp.Or(-cmp.Compare(widthOf(a), widthOf(b)),
			cmp.Compare(a.Function.Name, b.Function.Name))
	})
	for _, c := range children {
		f.place(c, x, whole, depth+1)
		x += widthOf(c)
	}
}

// look returns the class of a function's color: up or down with the strength of the change from 1
// to 3, or same where nothing is certain.
func (f *Flame) look(n *attribution.Node) string {
	by := n.New - n.Base
	if n.Finding < 0 && math.Abs(by) < f.why.CouldFind*f.why.Base || by == 0 {
		return "same"
	}
	strength := 1
	switch change := math.Abs(by) / n.Base; {
	case !(change < 0.2):
		strength = 3
	case change >= 0.05:
		strength = 2
	}
	if by < 0 {
		return fmt.Sprintf("down%d", strength)
	}
	return fmt.Sprintf("up%d", strength)
}

// label is the text in a cell: a change that has a color has its sign, too.
func (f *Flame) label(n *attribution.Node) string {
	name := shortFunction(n.Function.Name)
	if name == "" {
		name = f.why.Endpoint
	}
	if f.look(n) != "same" {
		name = nodeChange(n) + " " + name
	}
	return name
}

// nodeChange writes the change of a function at one place.
func nodeChange(n *attribution.Node) string {
	switch {
	case n.Base <= 0:
		return "+ new"
	case n.New <= 0:
		return "- gone"
	}
	return percent(n.New/n.Base - 1)
}

// text describes a cell in a line that begins with its label.
func (f *Flame) text(c flameCell) string {
	u := unitOf(max(f.why.Base, f.why.New))
	text := fmt.Sprintf("%s · %s to %s %s, %s", f.label(c.node), u.text(c.node.Base),
		u.text(c.node.New), u.unit, nodeChange(c.node))
	if c.node.Finding >= 0 {
		text += " · a function that changed"
	}
	return text
}

// drawn draws the picture.
func (f *Flame) drawn() draw.Picture {
	var l draw.List
	l.Text("title", 8, 16, 0, f.title, "")
	x := 8.0
	for _, k := range flameKeys {
		l.Group("key", "")
		l.Rect(k.class, x, 25, x+14, 37)
		l.Text("", x+19, 36, 0, k.text, "")
		l.End()
		x += 19 + flameSign*float64(len(k.text)) + 18
	}
	for _, c := range f.cells {
		class := "cell " + f.look(c.node)
		if c.node.Finding >= 0 {
			class += " found"
		}
		left, top, width := flameW*c.x, flameHead+float64(flameRow*c.depth), flameW*c.w
		l.Open(class, 0, 0, fmt.Sprintf(`<g class="%s" data-at="%s %s %d"><title>%s</title>`, class,
			share6(c.x), share6(c.w), c.depth, esc(f.text(c))))
		l.Rect(f.look(c.node), left+0.3, top, left+max(width-0.3, 0.5), top+flameRow-1)
		label := ""
		if fits := int((width - 6) / flameSign); fits >= 3 {
			label = fitted(f.label(c.node), fits)
		}
		l.Text("in", left+4, top+13, 0, cmp.Or(label, " "), "")
		l.End()
	}
	return draw.Picture{Class: "chart flame", Title: f.title, Style: flameStyle, Width: flameW,
		Height: float64(flameHead + flameRow*f.rows + 4), Shapes: l}
}

// headRE matches the change in a label, and the package and receiver of its function.
var headRE = regexp.MustCompile(`^([+-] ?[\d.]+ % |\+ new |- gone )?(\S*\)\.|[\w-]+\.)(.)`)

// fitted shortens a label to n signs: first it loses package and receiver.
func fitted(label string, n int) string {
	if utf8.RuneCountInString(label) > n {
		label = headRE.ReplaceAllString(label, "$1$3")
	}
	return short(label, n)
}

// share6 writes a share with six digits.
func share6(v float64) string { return trim(fixed(v, 6)) }

// flameKeys are the legend.
var flameKeys = []struct{ class, text string }{
	{"up3", "+ more CPU"}, {"down3", "- less CPU"},
	{"same", "no change that this comparison could find"},
}

// flameStyle is the look of the picture that stands alone, beside that of graphs.
const flameStyle = `<style>.same{fill:#dfe3e8}.up1{fill:#fbdcc8}.up2{fill:#f6b07f}.up3{fill:#e98a3f}.down1{fill:#d3e6f5}.down2{fill:#97c7e8}.down3{fill:#5caadb}.found rect{stroke:#222;stroke-width:1.5}</style>` + "\n"

// SVG draws the picture as a complete file, without any outside address but the name of the format.
func (f *Flame) SVG(w io.Writer) error { return f.drawn().SVG(w) }

// PNG draws the picture, 1600 pixels wide.
func (f *Flame) PNG(w io.Writer) error { return f.drawn().PNG(w, 1.6) }

// flameHelp explains the picture.
const flameHelp = "The wider, the more CPU time per operation, in the arm that spends more there; what a " +
	"function calls is below it. A frame marks a function that changed. A click makes a function as " +
	"wide as the picture. With keys: Tab to the picture; arrows move, Enter zooms, Escape shows all, / searches."

// picture returns the name of the file and the title.
func (f *Flame) picture() (file, title string) { return f.File, f.title }

// writeDrawing writes the picture into a page, and its tree as a table.
func (f *Flame) writeDrawing(b *bytes.Buffer, id int) {
	fmt.Fprintf(b, `<figure class="flames" aria-labelledby="t%[1]d"><figcaption><b id="t%[1]d">%[2]s</b><span class="legend">`,
		id, esc(f.title))
	for _, k := range flameKeys {
		fmt.Fprintf(b, `<span class="key is-%s"><i></i>%s</span>`, k.class, esc(k.text))
	}
	b.WriteString("</span></figcaption>\n")
	f.drawn().Write(b, flameHead-2)
	note := flameHelp
	if n := f.why.Dropped; n > 0 {
		note += fmt.Sprintf(" %s narrower than %s %% left out.", count(n, "place", "places"),
			trim(fixed(100*leastCell, 1)))
	}
	fmt.Fprintf(b, `<p class="note">%s</p><details><summary>The picture as a table</summary>`+"\n", esc(note))
	writeHTMLTable(b, f.table(), id)
	b.WriteString("</details></figure>\n")
}

// table is the tree as a table; what a function calls is indented below it.
func (f *Flame) table() *table {
	u := unitOf(max(f.why.Base, f.why.New))
	t := newTable("Function", ">Base "+u.unit, ">New", ">Change")
	for _, c := range f.cells {
		name := cmp.Or(shortFunction(c.node.Function.Name), f.why.Endpoint)
		t.add(strings.Repeat("› ", c.depth)+name, u.text(c.node.Base), u.text(c.node.New),
			nodeChange(c.node))
	}
	return t
}
