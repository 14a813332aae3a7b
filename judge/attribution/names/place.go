package names

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A trait of a function is a caller or a callee that has a partner.
type trait struct {
	partner int // its index in the new build
	callee  bool
}

// A share is how much of a function's calls belong to a trait: of those to it, or of those that it
// does.
type share struct {
	trait trait
	part  float64 // from 0 to 1
}

// traits returns the shares of a function, callees first.
func (m *matching) traits(s *side, i int) []share {
	f := s.functions[i]
	return append(m.shares(s, f.Callees, true), m.shares(s, f.Callers, false)...)
}

func (m *matching) shares(s *side, edges []Edge, callee bool) []share {
	var all []share
	sum := 0.0
	for _, e := range edges {
		if !s.known(e) {
			continue
		}
		partner := e.Function
		if s == &m.base {
			partner = s.partner[e.Function]
		}
		all = append(all, share{trait{partner, callee}, e.Weight})
		sum += e.Weight
	}
	slices.SortStableFunc(all, func(a, b share) int {
		return cmp.Compare(a.trait.partner, b.trait.partner)
	})
	n := 0
	for _, x := range all {
		x.part /= sum
		if n > 0 && all[n-1].trait == x.trait {
			all[n-1].part += x.part
			continue
		}
		all[n] = x
		n++
	}
	return all[:n]
}

// known reports whether the other end of an edge has a partner.
func (s *side) known(e Edge) bool {
	return e.Function >= 0 && e.Function < len(s.functions) && s.partner[e.Function] >= 0 &&
		e.valid()
}

// A candidate is what a function could be in the other build.
type candidate struct {
	function int     // -1 if there is none
	score    float64 // 0 to 1 by place, times what the names add
	rival    float64 // the score of the second best
	traits   int     // in common
	both     bool    // callers and callees are among them
}

// clear reports whether no rival is nearly as good.
func (c candidate) clear() bool { return c.rival <= rivalShare*c.score }

// A place is a list of functions of one build with what is known of their places.
type place struct {
	functions []int
	shares    [][]share
	norms     []float64
	holders   map[trait][]holder
}

type holder struct {
	index int // into functions
	part  float64
}

func (m *matching) placeOf(s *side, functions []int) *place {
	p := &place{
		functions: functions,
		shares:    make([][]share, len(functions)),
		norms:     make([]float64, len(functions)),
		holders:   map[trait][]holder{},
	}
	for k, i := range functions {
		p.shares[k] = m.traits(s, i)
		for _, x := range p.shares[k] {
			if h := p.holders[x.trait]; len(h) <= mostHolders {
				p.holders[x.trait] = append(h, holder{k, x.part})
			}
		}
	}
	return p
}

// rarity is the weight of a trait: two over the number of those that have it, 0 if they are many.
func rarity(t trait, a, b *place) float64 {
	n, m := len(a.holders[t]), len(b.holders[t])
	if n > mostHolders || m > mostHolders {
		return 0
	}
	return 2 / float64(n+m)
}

// weigh computes the norms of a place against another one.
func (p *place) weigh(other *place) {
	for k, shares := range p.shares {
		sum := 0.0
		for _, x := range shares {
			sum += x.part * rarity(x.trait, p, other)
		}
		p.norms[k] = math.Sqrt(sum)
	}
}

// rank returns for each function of p the best one of other. Their likeness is the cosine of the
// square roots of their shares, weighted by the rarity of traits, times what factor adds for
// their names: by square roots, for a share has the variance of a count.
func (p *place) rank(other *place, factor func(i, j int) float64) []candidate {
	found := make([]candidate, len(p.functions))
	for k := range p.functions {
		found[k] = p.bestOf(k, other, factor)
	}
	return found
}

func (p *place) bestOf(k int, other *place, factor func(i, j int) float64) candidate {
	type match struct {
		dot              float64
		callers, callees int
	}
	matches := map[int]*match{}
	for _, x := range p.shares[k] {
		rare := rarity(x.trait, p, other)
		if rare == 0 {
			continue
		}
		for _, h := range other.holders[x.trait] {
			c := matches[h.index]
			if c == nil {
				c = &match{}
				matches[h.index] = c
			}
			c.dot += rare * math.Sqrt(x.part*h.part)
			if x.trait.callee {
				c.callees++
			} else {
				c.callers++
			}
		}
	}
	best := candidate{function: -1}
	for h, c := range matches {
		j := other.functions[h]
		score := c.dot / (p.norms[k] * other.norms[h]) * factor(p.functions[k], j)
		switch {
		case score > best.score || score == best.score && j < best.function:
			best.rival = best.score
			best.function = j
			best.score = score
			best.traits = c.callers + c.callees
			best.both = c.callers > 0 && c.callees > 0
		case score > best.rival:
			best.rival = score
		}
	}
	return best
}

// compare ranks the functions of both builds against each other, and calls f for those that are
// each other's best without a rival.
func (m *matching) compare(
	base, fresh []int,
	factor func(i, j int) float64,
	f func(i int, c candidate),
) {
	if len(base) == 0 || len(fresh) == 0 {
		return
	}
	p, q := m.placeOf(&m.base, base), m.placeOf(&m.fresh, fresh)
	p.weigh(q)
	q.weigh(p)
	back := map[int]candidate{}
	for k, c := range q.rank(p, func(j, i int) float64 { return factor(i, j) }) {
		back[fresh[k]] = c
	}
	for k, c := range p.rank(q, factor) {
		if c.function < 0 || !c.clear() {
			continue
		}
		if b := back[c.function]; b.function == base[k] && b.clear() {
			f(base[k], c)
		}
	}
}

// Limits of what makes two places in the call tree one.
const (
	leastScore = 0.7
	highScore  = 0.8
	topScore   = 0.9
	mostInflow = 2 // how many times as much of its callers' samples one may have
)

// byPlace pairs functions with other names by their callers and callees.
func (m *matching) byPlace() {
	sampled := func(s *side) []int {
		return s.free(func(i int) bool {
			return s.written(i) && !s.closure(i) && s.samples[i] >= leastSamples
		})
	}
	factor := func(i, j int) float64 { return 1 + m.likeness(i, j)/2 }
	m.compare(sampled(&m.base), sampled(&m.fresh), factor, func(i int, c candidate) {
		if m.placed(i, c) {
			m.pair(i, c.function)
		}
	})
}

// placed reports whether the places of function i and its candidate have enough in common. The less
// alike their names are, the more it takes.
func (m *matching) placed(i int, c candidate) bool {
	like := m.likeness(i, c.function)
	score := c.score / (1 + like/2)
	inflow := m.sameInflow(i, c.function)
	switch like {
	case 1:
		return score >= leastScore && (c.traits >= 2 || inflow)
	case 0:
		return score >= highScore && c.traits >= 4 && c.both && inflow
	}
	return inflow && (score >= leastScore && c.traits >= 3 || score >= topScore && c.both)
}

// likeness returns 1 for functions whose names differ in the package or the receiver alone, 1/2
// for those that have package and receiver in common or most of their names, and 0 for others.
func (m *matching) likeness(i, j int) float64 {
	f, g := m.base.forms[i], m.fresh.forms[j]
	if f.rest == g.rest {
		return 1
	}
	_, typ, after := f.receiver()
	_, typ2, after2 := g.receiver()
	samePackage := m.base.pathOf(f) == g.pkg
	switch {
	case samePackage && typ != "" && typ2 != "" && Last(after) == Last(after2):
		return 1
	case samePackage && typ == typ2:
		return 0.5
	case Last(f.rest) == Last(g.rest):
		return 0.5
	}
	return 0
}

// Last returns what follows the last dot of a name: a method, or a function without its package.
func Last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// sameInflow reports whether two functions have about the same share of the samples of those of
// their callers that have partners.
func (m *matching) sameInflow(i, j int) bool {
	a, b := m.base.inflow(i), m.fresh.inflow(j)
	return a > 0 && b > 0 && a <= mostInflow*b && b <= mostInflow*a
}

func (s *side) inflow(i int) float64 {
	in, all := 0.0, 0.0
	for _, e := range s.functions[i].Callers {
		if s.known(e) {
			in += e.Weight
			all += s.samples[e.Function]
		}
	}
	return in / all
}
