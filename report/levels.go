package report

// levelTexts describe, for each endpoint of a duet whose runs show it, how much its difference
// varies inside a block and between deployments, and which changes twice the measured time and
// twice the blocks would find.
func (d Document) levelTexts() []string {
	var out prose
	for _, f := range d.Verdicts {
		for _, r := range f.Verdict.Results {
			l := r.Levels
			if l == nil {
				continue
			}
			between := "by " + spreadText(l.Between, false) + " between deployments"
			if l.Between == 0 {
				between = "between deployments by nothing that shows"
			}
			out.add(
				"%s%s: the difference varies by %s (sd) inside a block of %s, and %s. "+
					"%s find %s; with twice the measured time they would find %s, and twice as many blocks %s.",
				prefix(f.Name),
				r.Name,
				spreadText(l.Within, false),
				secondsText(l.Measure),
				between,
				count(l.Blocks, "block", "blocks"),
				size(r.Endpoint, l.MDE),
				size(r.Endpoint, l.Longer),
				size(r.Endpoint, l.More),
			)
		}
	}
	return out
}
