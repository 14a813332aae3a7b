package attribution

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// falseRate is the rate of false findings over the whole tree, and where nothing has changed, the
	// largest share of comparisons that name something.
	falseRate = 0.05
	// libraryRate is the same for taking a function of a library for a unit, over all of them.
	libraryRate = 0.01
	fits        = 0.05 // the p-value down to which parts change in proportion
	holds       = 0.01 // the p-value from which on the rest of a change is one without its largest part
	mostFound   = 10
	mostNamed   = 3   // callers, and functions within
	leastNamed  = 0.2 // of the difference that a caller or a function within has
)

// A discovery is a change that is found: of one unit, or of a subtree as a whole.
type discovery struct {
	node     *node
	whole    bool
	from     *discovery // what the work left, if it moved
	units    []int
	estimate estimate
	q        float64
}

// discover returns the changes that are found below a node that has been tested. A subtree is one
// change if it changed in proportion; else each function is one.
func (m *model) discover(n *node) []discovery {
	if n.sumQ <= falseRate && m.asWhole(n) {
		return []discovery{{node: n, whole: true, units: n.all, estimate: n.whole, q: n.sumQ}}
	}
	var all []discovery
	if n.selfQ <= falseRate {
		e := m.estimates[n.unit]
		all = append(all, discovery{node: n, units: []int{n.unit}, estimate: e, q: n.selfQ})
	}
	for _, child := range n.children {
		all = append(all, m.discover(child)...)
	}
	return all
}

// asWhole reports whether the functions of a subtree changed in proportion to their cost, as if its
// root were called more often: no single function has the change, and no child with its subtree.
func (m *model) asWhole(n *node) bool {
	var parts []estimate
	lone := n.all[0]
	for _, i := range n.all {
		parts = append(parts, m.estimates[i])
		if math.Abs(m.estimates[i].mean) > math.Abs(m.estimates[lone].mean) {
			lone = i
		}
	}
	if !m.without(n, []int{lone}) || !m.inProportion(parts) {
		return false
	}
	for _, child := range n.children {
		if !m.without(n, child.all) {
			return false
		}
	}
	return true
}

// without reports whether the subtree has changed without some of its units too, in the same
// direction.
func (m *model) without(n *node, units []int) bool {
	rest := slices.DeleteFunc(slices.Clone(n.all), func(i int) bool {
		return slices.Contains(units, i)
	})
	e := m.sum(rest)
	return e.mean*n.whole.mean > 0 && m.test(e) < holds
}

// inProportion reports whether parts may have changed by the same share: the chi-squared test of
// their changes against the common share of the mean of both arms, so that parts that only one arm
// has can be in proportion too. Parts with few samples do not count.
func (m *model) inProportion(parts []estimate) bool {
	parts = slices.DeleteFunc(parts, func(e estimate) bool { return e.samples < leastSamples })
	if len(parts) < 2 {
		return false
	}
	change, cost := 0.0, 0.0
	use := func(e estimate) float64 { return e.fresh - e.mean/2 }
	for _, e := range parts {
		change += e.mean
		cost += use(e)
	}
	x := 0.0
	for _, e := range parts {
		d := (e.mean - change/cost*use(e)) / m.se(e)
		x += d * d
	}
	return distuv.ChiSquared{K: float64(len(parts) - 1)}.Survival(x) >= fits
}

// changedLibraries returns the functions outside of the program that changed in proportion to their
// use by several functions of the program. They are named themselves; where one of several callers
// has the change, that caller is.
func (m *model) changedLibraries() map[int32]bool {
	byEntry := map[int32][]int{}
	for i, c := range m.cells {
		if c.entry >= 0 && m.functions[c.entry].Kind != Unknown {
			byEntry[c.entry] = append(byEntry[c.entry], i)
		}
	}
	changed, tested := map[int32]float64{}, 0.0
	for entry, cells := range byEntry {
		var parts []estimate
		sum, rest := newSamples(m.blocks), newSamples(m.blocks)
		most := -1
		for k, i := range cells {
			parts = append(parts, m.moderated(m.estimate(m.cells[i].samples)))
			if most < 0 || math.Abs(parts[k].mean) > math.Abs(parts[most].mean) {
				most = k
			}
		}
		for k, i := range cells {
			sum.add(m.cells[i].samples)
			if k != most {
				rest.add(m.cells[i].samples)
			}
		}
		e, other := m.moderated(m.estimate(sum)), m.moderated(m.estimate(rest))
		if other.samples < leastSamples {
			continue
		}
		tested++
		if e.mean*other.mean > 0 && m.test(other) < holds && m.inProportion(parts) {
			changed[entry] = m.test(e)
		}
	}
	found := map[int32]bool{}
	for entry, p := range changed {
		if p*tested <= libraryRate {
			found[entry] = true
		}
	}
	return found
}

// joinMoved makes one discovery of two functions under the same caller, or one under the other, of
// which one lost what the other got, within the interval of their sum and up to half of it.
func (m *model) joinMoved(all []discovery, parent map[*node]*node) []discovery {
	related := func(a, b *node) bool {
		return parent[a] == parent[b] || parent[a] == b || parent[b] == a
	}
	gone := make([]bool, len(all))
	for i := range all {
		best, least := -1, 0.5
		for k := range all {
			from, to := all[k].estimate.mean, all[i].estimate.mean
			if gone[k] || gone[i] || from >= 0 || to <= 0 || !related(all[k].node, all[i].node) {
				continue
			}
			off := math.Abs(from+to) / min(-from, to)
			sum := m.cost(m.sum(slices.Concat(all[i].units, all[k].units)))
			if off < least && sum.Low <= 0 && sum.High >= 0 {
				best, least = k, off
			}
		}
		if best < 0 {
			continue
		}
		from := all[best]
		gone[best] = true
		all[i].from = &from
		all[i].q = max(all[i].q, from.q)
		all[i].units = slices.Concat(all[i].units, from.units)
		all[i].estimate = m.sum(all[i].units)
	}
	var kept []discovery
	for i, d := range all {
		if !gone[i] {
			kept = append(kept, d)
		}
	}
	return kept
}

// certain returns how much of a change is certain: the bound of its interval that is nearer to
// zero, or 0.
func certain(i IntervalEstimate) float64 { return max(0, i.Low, -i.High) }

// discoveries returns the changes in the order of their certain part, at most ten, and the number
// of tests.
func (m *model) discoveries() ([]discovery, int) {
	root := m.tree()
	root.test(simes(root.tests))
	parent := map[*node]*node{}
	var visit func(n *node)
	visit = func(n *node) {
		for _, child := range n.children {
			parent[child] = n
			visit(child)
		}
	}
	visit(root)
	all := m.joinMoved(m.discover(root), parent)
	slices.SortStableFunc(all, func(a, b discovery) int {
		return cmp.Compare(certain(m.cost(b.estimate)), certain(m.cost(a.estimate)))
	})
	return all[:min(len(all), mostFound)], len(root.tests)
}
