package attribution_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
	"plimsoll/judge/attribution"
)

// A site is a stack of a simulated server and its share of the cost of one function.
type site struct {
	stack []int
	share float64 // of the server's cost
	owner int     // the function of the program that it is the cost of; -1 for none
	entry int     // what the owner calls outside of the program; -1 for itself
}

// A server is a simulated program: a router, handlers, and functions that call each other, with
// functions of libraries and of the runtime below them.
type server struct {
	functions []attribution.Function
	own       int   // functions of the program come first
	parents   []int // of the functions of the program: the first caller
	sites     []site
	collector int       // number of the function of the collector
	marshal   int       // a function of a library
	alloc     int       // the allocator
	branch    int       // a function of the program that calls the five after it, and nobody else does
	noise     []float64 // how much more than others each function varies between runs
}

// newServer returns a server with so many functions of its own. Their costs are Zipf's, or the first
// one has half of the cost.
func newServer(rng *rand.Rand, own int, half bool) *server {
	s := &server{own: own, parents: make([]int, own), noise: make([]float64, own+1)}
	for i := range s.noise {
		s.noise[i] = 1
	}
	add := func(name string, kind attribution.Kind) int {
		f := attribution.Function{Name: name, File: "x.go", Binary: "server", Kind: kind}
		s.functions = append(s.functions, f)
		return len(s.functions) - 1
	}
	for i := range own {
		add(fmt.Sprintf("example.com/server/part%d.f%d", i%17, i), attribution.Own)
	}
	http := add("net/http.(*conn).serve", attribution.Library)
	s.marshal = add("encoding/json.Marshal", attribution.Library)
	inner := add("encoding/json.(*encodeState).reflectValue", attribution.Library)
	s.alloc = add("runtime.newobject", attribution.Runtime)
	malloc := add("runtime.mallocgc", attribution.Runtime)
	write := add("[kernel] write", attribution.Kernel)
	net := add("net.(*conn).Write", attribution.Library)
	s.collector = add("runtime.gcBgMarkWorker", attribution.Runtime)
	drain := add("runtime.gcDrain", attribution.Runtime)
	schedule := add("runtime.schedule", attribution.Runtime)
	var libraries [][]int
	for i := range 30 {
		outer := add(fmt.Sprintf("example.org/library%d.Do", i), attribution.Library)
		libraries = append(libraries, []int{outer, add(fmt.Sprintf("example.org/library%d.do", i),
			attribution.Library)})
	}
	libraries = append(libraries, []int{s.marshal, inner}, []int{s.marshal, inner},
		[]int{s.alloc, malloc}, []int{s.alloc, malloc}, []int{s.alloc, malloc}, []int{net, write})
	paths := make([][]int, own)
	paths[0] = []int{http, 0}
	callers := make([][]int, own)
	s.branch = own - 6
	for i := 1; i < own; i++ {
		s.parents[i] = rng.IntN(min(i, 1+i/3+rng.IntN(3)))
		callers[i] = []int{s.parents[i]}
		if i > s.branch {
			s.parents[i] = s.branch
			callers[i] = []int{s.branch}
		}
		if i < s.branch && rng.IntN(5) == 0 { // called by several
			for range 1 + rng.IntN(5) {
				callers[i] = append(callers[i], rng.IntN(i))
			}
		}
		paths[i] = append(append([]int{}, paths[s.parents[i]]...), i)
	}
	total := 0.0
	rank := rng.Perm(own)
	for i := range own {
		cost := 1 / float64(1+rank[i])
		if half && rank[i] == 0 {
			cost = math.Log(float64(own)) // as much as all others
		}
		if i >= s.branch {
			cost = 0.01 * math.Log(float64(own))
		}
		total += cost
		for _, caller := range callers[i] {
			path := paths[i]
			if caller != s.parents[i] {
				path = append(append([]int{}, paths[caller]...), i)
			}
			share := cost / float64(len(callers[i]))
			s.sites = append(s.sites, site{path, 0.5 * share, i, -1})
			for range 2 {
				below := libraries[rng.IntN(len(libraries))]
				stack := append(append([]int{}, path...), below...)
				s.sites = append(s.sites, site{stack, 0.25 * share, i, below[0]})
			}
		}
		if len(callers[i]) == 0 {
			s.sites = append(s.sites, site{paths[i], cost, i, -1})
		}
	}
	const others = 0.25 // of the cost
	for i := range s.sites {
		s.sites[i].share *= (1 - others) / total
	}
	s.sites = append(s.sites,
		site{[]int{s.collector, drain}, 0.12, -1, -1},
		site{[]int{schedule}, 0.08, -1, -1},
		site{[]int{http, net, write}, 0.05, -1, -1})
	return s
}

// share returns the share of the server's cost of the sites that are chosen.
func (s *server) share(chosen func(site) bool) float64 {
	sum := 0.0
	for _, k := range s.sites {
		if chosen(k) {
			sum += k.share
		}
	}
	return sum
}

// A change is what the new arm costs at a site, against what the base does.
type change func(site) float64

// none changes nothing.
func none(k site) float64 { return k.share }

// times multiplies the cost of the sites that are chosen.
func times(factor float64, chosen func(site) bool) change {
	return func(k site) float64 {
		if chosen(k) {
			return factor * k.share
		}
		return k.share
	}
}

// plant adds a share of the server's cost to what one function of the program spends in an entry,
// at its sites in proportion.
func (s *server) plant(f, entry int, added float64) change {
	here := func(k site) bool { return k.owner == f && k.entry == entry }
	return times(1+added/s.share(here), here)
}

// of chooses the sites of a function of the program.
func of(f int) func(site) bool { return func(k site) bool { return k.owner == f } }

// A world is how a comparison of a server is simulated.
type world struct {
	blocks  int
	samples float64 // of each arm in all blocks
	common  float64 // sd of the cost of a run
	between float64 // sd of the cost of a function in a run
	shared  float64 // sd of the cost of both arms of a block
}

// usual is six blocks with 60,000 samples per arm.
var usual = world{blocks: 6, samples: 60_000, common: 0.02, between: 0.03}

const (
	period     = 1.0 / 997
	operations = 10_000.0
)

// cost returns the CPU seconds per operation that the base has on the average.
func (w world) cost() float64 { return w.samples / float64(w.blocks) * period / operations }

// compare simulates the blocks of a comparison.
func (w world) compare(rng *rand.Rand, s *server, fresh change) []attribution.BlockProfiles {
	blocks := make([]attribution.BlockProfiles, w.blocks)
	for b := range blocks {
		shared := math.Exp(w.shared * rng.NormFloat64())
		blocks[b].Base = w.profile(rng, s, none, shared)
		blocks[b].New = w.profile(rng, s, fresh, shared)
	}
	return blocks
}

func (w world) profile(
	rng *rand.Rand,
	s *server,
	cost change,
	shared float64,
) attribution.CPUProfile {
	p := attribution.CPUProfile{Functions: s.functions, Period: period, Operations: operations}
	factor := shared * math.Exp(w.common*rng.NormFloat64())
	noise := make([]float64, s.own+1)
	for i := range noise {
		noise[i] = factor * math.Exp(w.between*s.noise[i]*rng.NormFloat64())
	}
	seconds := 0.0
	for _, k := range s.sites {
		at := k.owner
		if at < 0 {
			at = s.own
		}
		expected := cost(k) * noise[at] * w.samples / float64(w.blocks)
		seconds += expected * period
		if expected <= 0 {
			continue
		}
		n := distuv.Poisson{Lambda: expected, Src: rng}.Rand()
		if n > 0 {
			p.Stacks = append(p.Stacks, attribution.CallStack{Functions: k.stack, Samples: int64(n)})
		}
	}
	p.CPU = 1.01 * seconds // a hundredth is not sampled
	return p
}

// caller returns a function of the program that calls an entry.
func (s *server) caller(rng *rand.Rand, entry int) int {
	for {
		if k := s.sites[rng.IntN(len(s.sites))]; k.owner >= 0 && k.entry == entry {
			return k.owner
		}
	}
}

// largest returns the function of the program with most of the cost.
func (s *server) largest() int {
	best := 0
	for f := range s.own {
		if s.share(of(f)) > s.share(of(best)) {
			best = f
		}
	}
	return best
}

// siblings returns two functions with the same first caller, of which the first has so much of the
// cost, and neither has more than a tenth.
func (s *server) siblings(rng *rand.Rand, least float64) (f, g int, ok bool) {
	shares := make([]float64, s.own)
	for _, k := range s.sites {
		if k.owner >= 0 {
			shares[k.owner] += k.share
		}
	}
	for range 20_000 {
		f, g := 1+rng.IntN(s.own-1), 1+rng.IntN(s.own-1)
		if f != g && s.parents[f] == s.parents[g] && shares[f] >= least && shares[f] < 0.1 &&
			shares[g] < 0.1 && s.alone(f) && s.alone(g) {
			return f, g, true
		}
	}
	return 0, 0, false
}

// alone reports whether a function has one caller.
func (s *server) alone(f int) bool {
	caller := -1
	for _, k := range s.sites {
		if k.owner != f {
			continue
		}
		c := k.stack[slices.Index(k.stack, f)-1]
		if caller >= 0 && c != caller {
			return false
		}
		caller = c
	}
	return true
}
