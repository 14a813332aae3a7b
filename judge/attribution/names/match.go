package names

import (
	"math"
	"strings"
)

// A Routine is a function of a build, and where it stands in the call tree.
type Routine struct {
	Name   string // as the language writes it, with package and receiver
	File   string // of its source; empty if unknown
	Binary string // base name of the program or library that holds it
	// Fixed is set for functions that have no other name in another build: those of the kernel and
	// of the runtime, and addresses without a symbol. They are matched by their names alone.
	Fixed   bool
	Own     float64 // samples in the function itself
	Callers []Edge
	Callees []Edge
}

// An Edge is a caller or a callee of a function.
type Edge struct {
	Function int     // index into the functions of the same build
	Weight   float64 // samples of the call, above 0
}

// A Counterpart is one function in two builds.
type Counterpart struct {
	Base    int  // index into the functions of the base
	Fresh   int  // index into the functions of the new build
	Renamed bool // the names differ: the pair was found by other means
}

// leastSamples is the number of samples from which a function that has none in the other build is
// not there: by chance that happens to one in 20,000. A function with fewer is paired by its name,
// never by its place in the call tree.
const leastSamples = 10

// Match returns the pairs of functions of two builds, in the order of the base. A function is in
// one pair at most. Functions without a certain counterpart are in none.
//
// Instances of a generic function, and the parts into which a C compiler splits one, should be
// merged before, by [Whole].
func Match(base, fresh []Routine) []Counterpart {
	m := &matching{base: newSide(base), fresh: newSide(fresh)}
	m.byName()
	m.movedPackages()
	m.movedTypes()
	m.byForm()
	for _, number := range []bool{false, true} {
		for range mostRounds {
			before := m.count
			m.closures(number)
			m.byPlace()
			if m.count == before {
				break
			}
		}
	}
	return m.pairs()
}

// mostRounds is how often what was paired may help to pair its neighbors.
const mostRounds = 5

// A matching is a set of pairs in the making.
type matching struct {
	base, fresh side
	count       int // of pairs
}

// A side is one build.
type side struct {
	functions []Routine
	forms     []form
	samples   []float64         // with each function on their stack, as far as its edges show
	partner   []int             // the index in the other build, or -1
	packages  map[string]string // paths in the new build of packages that moved; nil in the new build
	types     map[string]string // likewise of receivers, with their packages
}

func newSide(functions []Routine) side {
	s := side{
		functions: functions,
		forms:     make([]form, len(functions)),
		samples:   make([]float64, len(functions)),
		partner:   make([]int, len(functions)),
	}
	for i, f := range functions {
		s.samples[i] = max(sum(f.Callers), sum(f.Callees)+f.Own)
		s.forms[i] = parse(f.Name, f.File)
		s.partner[i] = -1
	}
	return s
}

// sum adds the weights of edges.
func sum(edges []Edge) float64 {
	n := 0.0
	for _, e := range edges {
		if e.valid() {
			n += e.Weight
		}
	}
	return n
}

// valid reports whether an edge has a weight.
func (e Edge) valid() bool { return e.Weight > 0 && !math.IsInf(e.Weight, 0) }

// pair makes base function i and fresh function j one.
func (m *matching) pair(i, j int) {
	m.base.partner[i] = j
	m.fresh.partner[j] = i
	m.count++
}

// closure reports whether a function is a closure that may have another number in another build.
func (s *side) closure(i int) bool { return s.forms[i].kind != "" && !s.functions[i].Fixed }

// written reports whether a function may be in another build under another name: the kernel's, the
// runtime's and those that the compiler makes are not.
func (s *side) written(i int) bool {
	return !s.functions[i].Fixed && !strings.HasPrefix(s.forms[i].rest, generated)
}

// free returns the functions that have no partner and satisfy keep.
func (s *side) free(keep func(i int) bool) []int {
	var free []int
	for i, p := range s.partner {
		if p < 0 && keep(i) {
			free = append(free, i)
		}
	}
	return free
}

func (m *matching) pairs() []Counterpart {
	var pairs []Counterpart
	for i, j := range m.base.partner {
		if j >= 0 {
			renamed := m.base.forms[i].whole != m.fresh.forms[j].whole
			pairs = append(pairs, Counterpart{i, j, renamed})
		}
	}
	return pairs
}

// A key is what two functions of different builds have in common. Functions whose key has no name
// take no part.
type key struct{ name, binary, file string }

// unique pairs the free functions, but no closures, whose key no other free function of their build
// has.
func (m *matching) unique(of func(s *side, i int) key) {
	base := single(&m.base, of)
	for k, j := range single(&m.fresh, of) {
		if i, ok := base[k]; ok && i >= 0 && j >= 0 {
			m.pair(i, j)
		}
	}
}

// single returns the free function of each key, or -1 where there are several.
func single(s *side, of func(s *side, i int) key) map[key]int {
	found := map[key]int{}
	for _, i := range s.free(func(i int) bool { return !s.closure(i) }) {
		k := of(s, i)
		if k.name == "" {
			continue
		}
		if _, again := found[k]; again {
			i = -1
		}
		found[k] = i
	}
	return found
}

// byName pairs functions with the same name.
func (m *matching) byName() {
	for _, of := range []func(f Routine, form string) key{
		func(f Routine, _ string) key { return key{f.Name, f.Binary, f.File} },
		func(f Routine, _ string) key { return key{name: f.Name, binary: f.Binary} },
		func(f Routine, _ string) key { return key{name: f.Name, file: f.File} },
		func(f Routine, form string) key { return key{name: form, binary: f.Binary} },
		func(_ Routine, form string) key { return key{name: form} },
	} {
		m.unique(func(s *side, i int) key { return of(s.functions[i], s.forms[i].whole) })
	}
}

// byForm pairs functions whose names differ in packages or receivers that moved as a whole, or in
// a pointer.
func (m *matching) byForm() {
	m.unique(func(s *side, i int) key {
		if !s.written(i) {
			return key{}
		}
		return key{name: s.expected(s.forms[i])}
	})
	m.unique(func(s *side, i int) key {
		if !s.written(i) {
			return key{}
		}
		return key{name: pointerless(s.expected(s.forms[i]))}
	})
}

// pathOf returns the path that the package of a function has in the new build.
func (s *side) pathOf(f form) string {
	if to, ok := s.packages[f.pkg]; ok {
		return to
	}
	return f.pkg
}

// expected returns the name that a function has in the new build if nothing but its package or its
// receiver was renamed.
func (s *side) expected(f form) string {
	pkg := s.pathOf(f)
	before, typ, after := f.receiver()
	if to, ok := s.types[pkg+"."+typ]; ok && typ != "" {
		typ = to[len(pkg)+1:]
	}
	return pkg + "." + before + typ + after
}
