package names

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A family has the closures of one function in both builds.
type family struct {
	base, fresh []int // in the order of their numbers
}

// leastAnchor is the likeness from which closures are one whatever their numbers, and
// mostContradicted that up to which they are none.
const (
	leastAnchor      = 0.5
	mostContradicted = 0.1
)

// closures pairs the closures of functions that are one: those that call the same, and, if number
// is set, those between them that kept their distance.
func (m *matching) closures(number bool) {
	families := m.families()
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		m.anchors(f)
		if number {
			m.numbered(f)
		}
	}
}

// families returns the families by the names of their functions in the new build.
func (m *matching) families() map[string]*family {
	all := map[string]*family{}
	add := func(s *side, list func(f *family) *[]int) {
		parents := s.observed()
		for i, f := range s.forms {
			if !s.closure(i) {
				continue
			}
			name := m.family(s, f, parents)
			if all[name] == nil {
				all[name] = &family{}
			}
			l := list(all[name])
			*l = append(*l, i)
		}
	}
	add(&m.base, func(f *family) *[]int { return &f.base })
	add(&m.fresh, func(f *family) *[]int { return &f.fresh })
	for _, f := range all {
		f.base = m.base.inOrder(f.base)
		f.fresh = m.fresh.inOrder(f.fresh)
	}
	return all
}

// observed returns the functions by name; -1 where several have one.
func (s *side) observed() map[string]int {
	all := map[string]int{}
	for i, f := range s.forms {
		if _, again := all[f.whole]; again {
			i = -1
		}
		all[f.whole] = i
	}
	return all
}

// family returns the name of the function in which closure f is written, as the new build has it.
func (m *matching) family(s *side, f form, parents map[string]int) string {
	name := f.pkg + "." + f.parent
	if s == &m.fresh {
		return name
	}
	if i, ok := parents[name]; ok && i >= 0 && s.partner[i] >= 0 {
		return m.fresh.forms[s.partner[i]].whole
	}
	parent := form{pkg: f.pkg, rest: f.parent}
	parent.parent, parent.kind, parent.number = closure(f.parent)
	return s.expected(parent)
}

// inOrder sorts closures by their numbers.
func (s *side) inOrder(closures []int) []int {
	slices.SortStableFunc(closures, func(i, j int) int {
		return cmp.Compare(s.forms[i].number, s.forms[j].number)
	})
	return closures
}

// anchors pairs the closures of a family that call the same, and are called by the same.
func (m *matching) anchors(f *family) {
	sampled := func(s *side, closures []int) []int {
		return slices.DeleteFunc(slices.Clone(closures), func(i int) bool {
			return s.partner[i] >= 0 || s.samples[i] < leastSamples
		})
	}
	base, fresh := sampled(&m.base, f.base), sampled(&m.fresh, f.fresh)
	alike := func(int, int) float64 { return 1 }
	m.compare(base, fresh, alike, func(i int, c candidate) {
		j := c.function
		score := m.similarity(i, j)
		if min(score, c.score) < leastAnchor || c.traits < 2 && !m.sameInflow(i, j) {
			return
		}
		m.pair(i, j)
	})
}

// A number is the place of a closure among those of its kind in its parent.
type number struct {
	kind string
	n    int
}

func (s *side) place(i int) number { return number{s.forms[i].kind, s.forms[i].number} }

func (s *side) byNumber(closures []int) map[number]int {
	all := map[number]int{}
	for _, i := range closures {
		all[s.place(i)] = i
	}
	return all
}

// numbered pairs the closures of a family of which nothing but numbers is known: those between two
// others that were shifted alike, and those with the same number where none was added or removed.
func (m *matching) numbered(f *family) {
	freshes := m.fresh.byNumber(f.fresh)
	kinds := map[string][]int{}
	for _, i := range f.base {
		kind := m.base.forms[i].kind
		kinds[kind] = append(kinds[kind], i)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		shift, last := 0, 0
		var waiting []int
		for _, i := range kinds[kind] {
			j := m.base.partner[i]
			if j < 0 {
				waiting = append(waiting, i)
				continue
			}
			if m.fresh.forms[j].kind != kind {
				continue
			}
			next := m.fresh.forms[j].number - m.base.forms[i].number
			if next == shift {
				m.shifted(waiting, shift, freshes)
			}
			waiting = nil
			shift = next
			last = m.base.forms[i].number
		}
		if shift == 0 && m.complete(f, kind, last) {
			m.shifted(waiting, 0, freshes)
		}
	}
}

// shifted pairs closures with those whose number is higher by shift.
func (m *matching) shifted(closures []int, shift int, freshes map[number]int) {
	for _, i := range closures {
		place := m.base.place(i)
		place.n += shift
		j, ok := freshes[place]
		if ok && m.fresh.partner[j] < 0 && !m.contradicted(i, j) {
			m.pair(i, j)
		}
	}
}

// complete reports whether no closure with a number above n is certain to be absent from one of the
// builds.
func (m *matching) complete(f *family, kind string, n int) bool {
	bases, freshes := m.base.byNumber(f.base), m.fresh.byNumber(f.fresh)
	absent := func(s *side, closures []int, others map[number]int) bool {
		return slices.ContainsFunc(closures, func(i int) bool {
			_, ok := others[s.place(i)]
			form := s.forms[i]
			return !ok && form.kind == kind && form.number > n &&
				s.samples[i] >= leastSamples
		})
	}
	return !absent(&m.base, f.base, freshes) && !absent(&m.fresh, f.fresh, bases)
}

// contradicted reports whether two closures call nothing in common, and both have enough samples
// to show it. What a closure calls by a function that the other build does not have is in common:
// its work may have become a function of its own.
func (m *matching) contradicted(i, j int) bool {
	if m.base.samples[i] < leastSamples || m.fresh.samples[j] < leastSamples ||
		m.similarity(i, j) >= mostContradicted {
		return false
	}
	a := m.shares(&m.base, m.base.through(i), true)
	b := m.shares(&m.fresh, m.fresh.through(j), true)
	return cosine(a, b, true) < mostContradicted
}

// through returns the callees of a function, and in place of those without a partner what they
// call, in proportion.
func (s *side) through(i int) []Edge {
	var out []Edge
	for _, e := range s.functions[i].Callees {
		if s.known(e) || e.Function < 0 || e.Function >= len(s.functions) || !e.valid() {
			out = append(out, e)
			continue
		}
		next := s.functions[e.Function].Callees
		part := e.Weight / sum(next)
		for _, beyond := range next {
			if beyond.valid() {
				beyond.Weight *= part
				out = append(out, beyond)
			}
		}
	}
	return out
}

// similarity is the cosine of the square roots of the shares of their callees; of their callers if
// neither calls a function that is known; 1 if those are not known either.
func (m *matching) similarity(i, j int) float64 {
	a, b := m.traits(&m.base, i), m.traits(&m.fresh, j)
	callee := len(a) > 0 && a[0].trait.callee || len(b) > 0 && b[0].trait.callee
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	return cosine(a, b, callee)
}

// cosine is that of the square roots of shares, of callees or of callers.
func cosine(a, b []share, callee bool) float64 {
	parts := map[int]float64{}
	for _, x := range a {
		if x.trait.callee == callee {
			parts[x.trait.partner] = x.part
		}
	}
	sum := 0.0
	for _, x := range b {
		if x.trait.callee == callee {
			sum += math.Sqrt(x.part * parts[x.trait.partner])
		}
	}
	return sum
}
