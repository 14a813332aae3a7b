package statements

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/watch/query"
)

// mostSteps bounds the steps that are named of a plan that changed.
const mostSteps = 3

// plan returns what became of the plan of a statement; nil unless the plans of the arms differ in
// most of the blocks that have both. The plans are those of the first such block.
func (c *candidate) plan() *PlanChange {
	var out PlanChange
	for i := range c.base {
		base, fresh := c.base[i].Plan, c.fresh[i].Plan
		if base == nil || fresh == nil {
			continue
		}
		out.Of++
		was, is := strings.Join(base.Lines(), "\n"), strings.Join(fresh.Lines(), "\n")
		if was == is {
			continue
		}
		if out.Differ++; out.Differ == 1 {
			out.Base, out.New = was, is
			out.From, out.To = steps(base, fresh)
		}
	}
	if 2*out.Differ <= out.Of {
		return nil
	}
	return &out
}

// A placed is a step in its place: the scan of a relation that it is a part of.
type placed struct {
	text, scan string
	leaf       bool
}

// steps returns the steps that one of two plans has more often than the other; all that name a
// relation or an index, if the plans differ in their order alone.
func steps(base, fresh *query.PlanStep) (from, to string) {
	a, b := inPlace(base, ""), inPlace(fresh, "")
	onlyA, onlyB := without(a, b), without(b, a)
	switch {
	case len(onlyA)+len(onlyB) == 0:
		onlyA, onlyB = scans(a), scans(b)
	case len(onlyB) == 0:
		onlyB = left(b, onlyA)
	case len(onlyA) == 0:
		onlyA = left(a, onlyB)
	}
	return cmp.Or(named(onlyA), Nothing), cmp.Or(named(onlyB), Gone)
}

// inPlace returns the steps of a plan, in the order of its lines.
func inPlace(n *query.PlanStep, scan string) []placed {
	if n.Relation != "" {
		scan = n.String()
	}
	out := []placed{{n.String(), scan, len(n.Children) == 0}}
	for i := range n.Children {
		out = append(out, inPlace(&n.Children[i], scan)...)
	}
	return out
}

// without returns the steps of a list that another does not have as often.
func without(list, other []placed) (out []placed) {
	rest := slices.Clone(other)
	for _, s := range list {
		i := slices.IndexFunc(rest, func(o placed) bool { return o.text == s.text })
		if i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		out = append(out, s)
	}
	return out
}

// left returns the ends of a plan in the scans that steps of another are a part of.
func left(list, of []placed) (out []placed) {
	for _, s := range list {
		if s.leaf && s.scan != "" &&
			slices.ContainsFunc(of, func(o placed) bool { return o.scan == s.scan }) {
			out = append(out, s)
		}
	}
	return out
}

func scans(list []placed) (out []placed) {
	for _, s := range list {
		if strings.Contains(s.text, " on ") || strings.Contains(s.text, " using ") {
			out = append(out, s)
		}
	}
	return out
}

// named joins steps, those that name a relation or an index if there are any.
func named(list []placed) string {
	if s := scans(list); len(s) > 0 {
		list = s
	}
	var texts []string
	for _, s := range list {
		texts = append(texts, s.text)
	}
	if len(texts) > mostSteps {
		texts = append(texts[:mostSteps], "...")
	}
	return strings.Join(texts, ", ")
}
