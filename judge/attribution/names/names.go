package names

// Observed is a function of a build, and where it stands in the call tree.
type Observed struct {
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

// A Pair is one function in two builds.
type Pair struct {
	Base    int  // index into the functions of the base
	Fresh   int  // index into the functions of the new build
	Renamed bool // the names differ: the pair was found by other means
}

// Match returns the pairs of functions of two builds, in the order of the base. A function is in
// one pair at most. Functions without a certain counterpart are in none.
//
// Instances of a generic function, and the parts into which a C compiler splits one, should be
// merged before, by [Whole].
func Match(base, fresh []Observed) []Pair {
	m := newMatching(base, fresh)
	m.byName()
	m.byForm()
	return m.pairs()
}

// A matching is a bipartite matching in the making.
type matching struct {
	base, fresh side
}

// A side is one build.
type side struct {
	functions []Observed
	forms     []form
	partner   []int // the index in the other build, or -1
}

func newMatching(base, fresh []Observed) *matching {
	return &matching{newSide(base), newSide(fresh)}
}

func newSide(functions []Observed) side {
	s := side{functions, make([]form, len(functions)), make([]int, len(functions))}
	for i, f := range functions {
		s.forms[i] = parse(f.Name, f.File)
		s.partner[i] = -1
	}
	return s
}

// pair makes base function i and fresh function j one.
func (m *matching) pair(i, j int) {
	m.base.partner[i] = j
	m.fresh.partner[j] = i
}

// free calls f for each function that has no partner.
func (s *side) free(f func(i int)) {
	for i, p := range s.partner {
		if p < 0 {
			f(i)
		}
	}
}

func (m *matching) pairs() []Pair {
	var pairs []Pair
	for i, j := range m.base.partner {
		if j >= 0 {
			renamed := m.base.forms[i].whole != m.fresh.forms[j].whole
			pairs = append(pairs, Pair{i, j, renamed})
		}
	}
	return pairs
}

// A key is what two functions of different builds have in common. Functions whose key has no name
// take no part.
type key struct{ name, binary, file string }

// unique pairs the free functions whose key no other free function of their build has. Keys of
// the two builds may be made differently.
func (m *matching) unique(ofBase, ofFresh func(s *side, i int) key) {
	base := single(&m.base, ofBase)
	for k, j := range single(&m.fresh, ofFresh) {
		if i, ok := base[k]; ok && i >= 0 && j >= 0 {
			m.pair(i, j)
		}
	}
}

// single returns the free function of each key, or -1 where there are several.
func single(s *side, of func(s *side, i int) key) map[key]int {
	found := map[key]int{}
	s.free(func(i int) {
		k := of(s, i)
		if k.name == "" {
			return
		}
		if _, again := found[k]; again {
			i = -1
		}
		found[k] = i
	})
	return found
}

// byName pairs functions with the same name.
func (m *matching) byName() {
	for _, of := range []func(s *side, i int) key{
		func(s *side, i int) key {
			f := s.functions[i]
			return key{f.Name, f.Binary, f.File}
		},
		func(s *side, i int) key { return key{name: s.functions[i].Name, binary: s.functions[i].Binary} },
		func(s *side, i int) key { return key{name: s.forms[i].whole, binary: s.functions[i].Binary} },
		func(s *side, i int) key { return key{name: s.forms[i].whole} },
	} {
		m.unique(of, of)
	}
}

// byForm pairs functions whose names differ in versions, in packages or receivers that moved as a
// whole, or in a pointer.
func (m *matching) byForm() {
	versionless := func(s *side, i int) key { return s.key(i, unversioned(s.forms[i].pkg)) }
	m.unique(versionless, versionless)
	moved := m.movedPackages()
	m.unique(func(s *side, i int) key {
		to, ok := moved[s.forms[i].pkg]
		if !ok {
			return key{}
		}
		return s.key(i, to)
	}, func(s *side, j int) key { return s.key(j, s.forms[j].pkg) })
	pointerless := func(s *side, i int) key {
		k := versionless(s, i)
		if to, ok := moved[s.forms[i].pkg]; ok && s == &m.base {
			k = s.key(i, unversioned(to))
		}
		k.name = pointerless(k.name)
		return k
	}
	m.unique(pointerless, pointerless)
}

// key returns the key of a function as if it were in package pkg.
func (s *side) key(i int, pkg string) key {
	if s.functions[i].Fixed {
		return key{}
	}
	return key{name: pkg + "." + s.forms[i].rest}
}
