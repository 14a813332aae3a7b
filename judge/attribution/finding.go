package attribution

import (
	"cmp"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
	"plimsoll/judge/attribution/names"
	"plimsoll/stats"
)

// finding returns what is to be said of a discovery.
func (m *model) finding(d discovery) FunctionChange {
	e := d.estimate
	f := m.units[d.node.unit].function
	s := newSamples(m.blocks)
	for _, i := range d.units {
		s.add(m.units[i].samples)
	}
	out := FunctionChange{
		Kind:     Changed,
		Function: m.functions[f],
		Whole:    d.whole,
		Callers:  m.callers(d),
		Within:   m.within(d),
		Also:     m.also(d),
		Base:     e.base,
		New:      e.fresh,
		Cost:     m.cost(e),
		Change:   m.share(e, s),
		Q:        d.q,
	}
	switch {
	case d.from != nil:
		from := m.functions[m.units[d.from.node.unit].function]
		out.Kind, out.From = Moved, &from
		out.Moved = -d.from.estimate.mean
	case e.base == 0:
		out.Kind = Added
	case e.fresh == 0:
		out.Kind = Removed
	}
	if m.renamed[f] && d.from == nil {
		old := m.old[f]
		out.From, out.Renamed = &old, true
	}
	return out
}

// largest returns the functions with most of a change, those of at least a fifth of it. The
// parts have the costs of both arms by function.
func (m *model) largest(parts map[int32]*[2]float64, change float64) []Function {
	common := stats.Mean(m.common)
	var all []weighted
	for f, c := range parts {
		d := (c[1] - common*c[0]) / change
		if f >= 0 && d >= leastNamed {
			all = append(all, weighted{float64(f), d})
		}
	}
	slices.SortFunc(all, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.value, b.value))
	})
	var out []Function
	for _, w := range all[:min(len(all), mostNamed)] {
		out = append(out, m.functions[int(w.value)])
	}
	return out
}

// costs returns the mean costs of samples in both arms.
func (m *model) costs(s samples) *[2]float64 {
	c := new([2]float64)
	for a := range s {
		for b, n := range s[a] {
			c[a] += n * m.scale[a][b] / float64(m.blocks)
		}
	}
	return c
}

// mostLayers is how many callers in a row may only hand a call on.
const mostLayers = 8

// through returns callers without those that have the method of the same name, as the layers around
// a store do: with their own callers in their place.
func (m *model) through(parts map[int32]*[2]float64, method string) map[int32]*[2]float64 {
	for range mostLayers {
		out := map[int32]*[2]float64{}
		add := func(f int32, cost *[2]float64) {
			if out[f] == nil {
				out[f] = new([2]float64)
			}
			out[f][0] += cost[0]
			out[f][1] += cost[1]
		}
		handed := false
		for _, f := range slices.Sorted(maps.Keys(parts)) { // sums of floats depend on their order
			if f < 0 || names.Last(m.functions[f].Name) != method {
				add(f, parts[f])
				continue
			}
			for call, cost := range m.calls.all {
				if call[1] == f && call[0] != f {
					handed = true
					add(call[0], cost)
				}
			}
		}
		if !handed {
			break
		}
		parts = out
	}
	return parts
}

// callers returns the functions of the program itself that call the one of a discovery and have
// most of its change.
func (m *model) callers(d discovery) []Function {
	u := m.units[d.node.unit]
	parts := map[int32]*[2]float64{}
	calls := m.innermost
	if d.whole {
		calls = m.calls
	}
	for c, cost := range calls.all {
		if c[1] == u.function {
			parts[c[0]] = cost
		}
	}
	if m.functions[u.function].Kind != Own {
		for _, i := range u.cells {
			parts[m.cells[i].owner] = m.costs(m.cells[i].samples)
		}
	} else {
		parts = m.through(parts, names.Last(m.functions[u.function].Name))
	}
	return m.largest(parts, m.gained(d))
}

// gained returns the change of a discovery; of one that moved, what its new place got.
func (m *model) gained(d discovery) float64 {
	if d.from != nil {
		return m.estimates[d.node.unit].mean
	}
	return d.estimate.mean
}

// within returns the functions that the one of a discovery calls and that have most of its change:
// those outside of the program, or of a whole subtree, those of the program.
func (m *model) within(d discovery) []Function {
	parts := map[int32]*[2]float64{}
	if d.whole {
		for _, child := range d.node.children {
			s := newSamples(m.blocks)
			for _, i := range child.all {
				s.add(m.units[i].samples)
			}
			parts[m.units[child.unit].function] = m.costs(s)
		}
	}
	u := m.units[d.node.unit]
	if !d.whole && m.functions[u.function].Kind == Own {
		for _, i := range u.cells {
			parts[m.cells[i].entry] = m.costs(m.cells[i].samples)
		}
	}
	return m.largest(parts, m.gained(d))
}

// also returns the groups that changed beside a discovery and depend on it: the collector, where the
// function allocates more, or less.
func (m *model) also(d discovery) []string {
	allocated := newSamples(m.blocks)
	for _, i := range d.units {
		for _, k := range m.units[i].cells {
			c := m.cells[k]
			if c.entry >= 0 && groupOf(m.functions[c.entry], ofRuntime) == groupAllocator {
				allocated.add(c.samples)
			}
		}
	}
	allocation := m.cost(m.moderated(m.estimate(allocated)))
	for i, u := range m.units {
		if u.group != groupCollector {
			continue
		}
		c := m.cost(m.estimates[i])
		if certain(allocation) > 0 && certain(c) > 0 && allocation.Value*c.Value > 0 {
			return []string{groupCollector}
		}
	}
	return nil
}

// couldFind returns the smallest added cost of one function, as a share of the base's cost, that is
// found in four of five cases: the mean of the power over the functions with enough samples to be
// tested, each as likely to change as the next, at the level of the first finding among so many
// tests.
//
// Source of the power at t(1-α/2) standard errors: as [stats.MDE].
func (m *model) couldFind(base float64, tests int) float64 {
	var tested []estimate
	for i, e := range m.estimates {
		if m.units[i].function >= 0 && e.samples >= leastSamples {
			tested = append(tested, e)
		}
	}
	if len(tested) == 0 || base <= 0 {
		return 0
	}
	scale := 0.0 // the variance of a block for each unit of cost
	for b, g := range m.common {
		scale += g * m.scale[0][b] / float64(m.blocks)
	}
	critical := map[float64]float64{}
	power := func(added float64) float64 {
		sum := 0.0
		for _, e := range tested {
			limit, ok := critical[e.df]
			if !ok {
				limit = stats.TQuantile(1-falseRate/wholeTree/float64(tests)/2, e.df)
				critical[e.df] = limit
			}
			e.null += scale * added
			e.use += added * (2*e.fresh + added)
			missed := distuv.StudentsT{Sigma: 1, Nu: e.df}.CDF(limit - added/m.standardError(e, e.null))
			sum += 1 - missed
		}
		return sum / float64(len(tested))
	}
	low, high := 0.0, base
	for range 25 {
		if middle := (low + high) / 2; power(middle) < 0.8 {
			low = middle
		} else {
			high = middle
		}
	}
	return high / base
}
