package draw

// An Area is the place of curves: the range of its axes, from 0 to End and from Lo to Hi, and its
// size.
type Area struct{ End, Lo, Hi, Width, Height float64 }

// X returns the place of an instant.
func (a Area) X(t float64) float64 { return t / a.End * a.Width }

// Y returns the place of a value.
func (a Area) Y(v float64) float64 { return a.Height - (v-a.Lo)/(a.Hi-a.Lo)*a.Height }

// Span adds a stretch of time as high as the area.
func (a Area) Span(l *List, class string, from, to float64) {
	left, right := max(a.X(from), 0), min(a.X(to), a.Width)
	if right > left {
		l.Rect(class, left, 0, left+max(right-left, 1), a.Height)
	}
}

// Band adds the stretches of a band that can be seen: between its gaps, and where it is wider than
// a unit somewhere. Without lo there is none.
func (a Area) Band(l *List, t, lo, hi []float64, step float64) {
	if len(lo) == 0 {
		return
	}
	fine := (a.Hi - a.Lo) / a.Height
	for _, s := range pieces(t, step) {
		seen := false
		for i := s.from; i < s.to; i++ {
			seen = seen || hi[i]-lo[i] > fine
		}
		if !seen || s.to-s.from == 1 {
			continue
		}
		xy := make([]float64, 0, 4*(s.to-s.from))
		for i := s.from; i < s.to; i++ {
			xy = append(xy, a.X(t[i]), a.Y(hi[i]))
		}
		for i := s.to - 1; i >= s.from; i-- {
			xy = append(xy, a.X(t[i]), a.Y(lo[i]))
		}
		l.add(Element{Kind: "band", Class: "band", Points: xy})
	}
}

// Curve adds a curve through the values v at the instants t, broken at its gaps.
func (a Area) Curve(l *List, class string, t, v []float64, step float64) {
	for _, s := range pieces(t, step) {
		xy := make([]float64, 0, 2*(s.to-s.from)+2)
		for i := s.from; i < s.to; i++ {
			xy = append(xy, a.X(t[i]), a.Y(v[i]))
		}
		if len(xy) == 2 { // a point by itself would not be seen
			xy = append(xy, xy[0]+1.5, xy[1])
		}
		l.add(Element{Kind: "curve", Class: class, Points: xy})
	}
}

// A piece is a stretch of a curve without a gap: indexes from (included) to (excluded).
type piece struct{ from, to int }

// pieces splits the instants of a curve where they jump by more than one and a half steps of the
// grid.
func pieces(t []float64, step float64) []piece {
	var out []piece
	from := 0
	for i := 1; i <= len(t); i++ {
		if i == len(t) || t[i]-t[i-1] > 1.5*step {
			out = append(out, piece{from, i})
			from = i
		}
	}
	if len(t) == 0 {
		return nil
	}
	return out
}
