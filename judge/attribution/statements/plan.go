package statements

import (
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

// steps returns the steps that one of two plans has more often than the other; all that name a
// relation or an index, if the plans differ in their order alone.
func steps(base, fresh *query.PlanStep) (from, to string) {
	a, b := base.Steps(), fresh.Steps()
	onlyA, onlyB := without(a, b), without(b, a)
	if len(onlyA)+len(onlyB) == 0 {
		onlyA, onlyB = scans(a), scans(b)
	}
	return named(onlyA), named(onlyB)
}

// without returns the texts of a list that another does not have as often.
func without(list, other []string) (out []string) {
	left := slices.Clone(other)
	for _, s := range list {
		if i := slices.Index(left, s); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		out = append(out, s)
	}
	return out
}

func scans(list []string) (out []string) {
	for _, s := range list {
		if strings.Contains(s, " on ") || strings.Contains(s, " using ") {
			out = append(out, s)
		}
	}
	return out
}

// named joins steps, those that name a relation or an index if there are any.
func named(list []string) string {
	if s := scans(list); len(s) > 0 {
		list = s
	}
	if len(list) > mostSteps {
		list = append(slices.Clone(list[:mostSteps]), "...")
	}
	return strings.Join(list, ", ")
}
