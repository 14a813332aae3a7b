package plan

// Located returns problems that other checks than [Parse] found as one error, each at its place in
// the source of the plan, or at the place of the nearest key around it. Without a source they have
// no place.
func Located(src []byte, problems []Problem) *Error {
	d := newDecoder("")
	if root := d.document(src); root != nil {
		d.decode("", root, new(Plan), sub(planKeys))
	}
	out := make([]Problem, len(problems))
	for i, p := range problems {
		if n := d.place(p.Path); n != nil && p.Path != "" {
			p.Line = n.Line
			p.Col = n.Column
		}
		out[i] = p
	}
	return newError(out, 0)
}
