package draw

// An Element is a piece of a drawing. Kind is line, rect, disc, diamond, text, curve, band, open or
// close; a line goes from X, Y to X2, Y2, a rect likewise. Class names its look: see the styles of
// SVG and lookOf.
type Element struct {
	Kind, Class  string
	X, Y, X2, Y2 float64
	R            float64 // of a disc or diamond; the size of a text, 0 for the size of its class
	Text         string  // of a text; the markup of a group
	Anchor       string  // of a text: "", middle or end
	Turn         float64 // of a text around X, Y, in degrees
	// of a curve: x, y, x, y; of a band the upper side, then the lower one backward
	Points     []float64
	Tail, Look string // more text behind it, and its class
}

// A List is the shapes of a drawing, the lowest first.
type List []Element

// Text adds a text. Its size is that of its class if it is 0. Anchor is "", middle or end. The shape
// may be changed until the next one is added.
func (l *List) Text(class string, x, y, size float64, text, anchor string) *Element {
	return l.add(
		Element{Kind: "text", Class: class, X: x, Y: y, R: size, Text: text, Anchor: anchor})
}

func (l *List) add(e Element) *Element {
	*l = append(*l, e)
	return &(*l)[len(*l)-1]
}

// Line adds a straight line.
func (l *List) Line(class string, x, y, x2, y2 float64) {
	l.add(Element{Kind: "line", Class: class, X: x, Y: y, X2: x2, Y2: y2})
}

// Rect adds a rectangle between two corners.
func (l *List) Rect(class string, x, y, x2, y2 float64) {
	l.add(Element{Kind: "rect", Class: class, X: x, Y: y, X2: x2, Y2: y2})
}

// Disc adds a disc of radius r.
func (l *List) Disc(class string, x, y, r float64) {
	l.add(Element{Kind: "disc", Class: class, X: x, Y: y, R: r})
}

// Diamond adds a diamond of radius r.
func (l *List) Diamond(class string, x, y, r float64) {
	l.add(Element{Kind: "diamond", Class: class, X: x, Y: y, R: r})
}

// Group begins a group with more attributes. End ends it.
func (l *List) Group(class, attributes string) {
	l.Open(class, 0, 0, `<g class="`+class+`"`+attributes+">")
}

// End ends a group.
func (l *List) End() { l.Close("</g>") }

// Open begins a group whose origin is at x, y. Markup begins it in an SVG.
func (l *List) Open(class string, x, y float64, markup string) {
	l.add(Element{Kind: "open", Class: class, X: x, Y: y, Text: markup})
}

// Close ends what Open began. Markup ends it in an SVG.
func (l *List) Close(markup string) { l.add(Element{Kind: "close", Text: markup}) }
