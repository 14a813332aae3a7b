package report

import (
	"cmp"
	"encoding/json"
	"slices"

	"plimsoll/record"
	"plimsoll/target"
)

// A builder fills a document.
type builder struct {
	*Document
	in     Input
	c      *record.Comparison
	whole  map[int]bool // by block: every run of it counts
	judged []RunData    // the runs that verdicts rest on, by block
}

// has reports whether a judged run carried out the test.
func (b *builder) has(test string) bool {
	return slices.ContainsFunc(b.judged, func(r RunData) bool { return carried(r, test) })
}

// described returns the target's description from a judged run on an engine, or else from any run.
func (b *builder) described(engine, arm string) target.Description {
	for _, r := range slices.Concat(b.judged, b.in.Runs) {
		var d target.Description
		if r.Cell.Engine == engine && (arm == "" || r.Cell.Arm == arm) &&
			len(r.Manifest.Target) > 0 &&
			json.Unmarshal(r.Manifest.Target, &d) == nil {
			return d
		}
	}
	return target.Description{}
}

// version returns the build of an arm as the plan names it, or else as the target reports it.
func (b *builder) version(arm string) string {
	if p := b.in.Plan; p != nil && p.Compare != nil {
		if a, ok := p.Compare.Arm(arm); ok && a.Version != "" {
			return a.Version
		}
	}
	for _, e := range b.c.Engines {
		if v := b.described(e, arm).Version; v != "" {
			return v
		}
	}
	return ""
}

// sortRuns picks the judged runs and orders them.
func (b *builder) sortRuns() {
	judged := b.c.Judged()
	for _, r := range b.in.Runs {
		if judged(r.Cell) {
			b.judged = append(b.judged, r)
		}
	}
	slices.SortStableFunc(b.judged,
		func(x, y RunData) int { return cmp.Compare(x.Cell.Block, y.Cell.Block) })
}

// of returns the judged runs of an arm on an engine, by block.
func (b *builder) of(engine, arm string) []RunData {
	var out []RunData
	for _, r := range b.judged {
		if r.Cell.Engine == engine && r.Cell.Arm == arm {
			out = append(out, r)
		}
	}
	return out
}

// first returns the manifest of the first judged run, or else of any run.
func (b *builder) first() (record.Manifest, bool) {
	for _, r := range slices.Concat(b.judged, b.in.Runs) {
		if r.Manifest.ID != "" {
			return r.Manifest, true
		}
	}
	return record.Manifest{}, false
}
