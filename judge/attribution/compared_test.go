package attribution_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/judge/attribution"
)

// A service is a program with known costs.
type service struct {
	functions []attribution.Function
	stacks    [][]int
	costs     []float64 // CPU seconds per operation of each stack
	owner     []int     // the own function to whose cost a stack counts, or -1
}

// newService makes a call tree of own functions with library and runtime frames below them.
func newService(r *rand.Rand, own int) *service {
	s := &service{}
	add := func(kind attribution.Kind, name string) int {
		f := attribution.Function{Name: name, File: "x.go", Binary: "server", Kind: kind}
		s.functions = append(s.functions, f)
		return len(s.functions) - 1
	}
	var library []int
	for i := range 6 {
		library = append(library, add(attribution.Library, fmt.Sprintf("encoding/l%d.F", i)))
	}
	malloc := add(attribution.Runtime, "runtime.mallocgc")
	gc := add(attribution.Runtime, "runtime.gcBgMarkWorker")
	kernel := add(attribution.Kernel, "[kernel] write")
	paths := [][]int{{add(attribution.Own, "main.main")}}
	stack := func(path []int, owner int, cost float64, leaf ...int) {
		s.stacks = append(s.stacks, slices.Concat(path, leaf))
		s.costs = append(s.costs, cost)
		s.owner = append(s.owner, owner)
	}
	for i := range own {
		parent := paths[r.IntN(len(paths))]
		f := add(attribution.Own, fmt.Sprintf("example.com/server/p%d.F%d", i%7, i))
		path := slices.Concat(parent, []int{f})
		paths = append(paths, path)
		cost := 1e-5 * math.Exp(r.NormFloat64())
		stack(path, f, cost/2)
		stack(path, f, cost/4, library[r.IntN(len(library))])
		stack(path, f, cost/8, library[r.IntN(len(library))], malloc)
		stack(path, f, cost/8, kernel)
	}
	stack(nil, -1, 1e-4, gc)
	return s
}

// profile samples a service for so many operations; cost changes each stack's.
func (s *service) profile(
	r *rand.Rand,
	operations, period float64,
	cost func(stack int) float64,
) attribution.Profile {
	p := attribution.Profile{Functions: s.functions, Period: period, Operations: operations}
	all := 0.0
	for i, stack := range s.stacks {
		expected := s.costs[i] * cost(i) * operations
		all += expected
		n := poisson(r, expected/period)
		p.Stacks = append(p.Stacks, attribution.Stack{Functions: stack, Samples: n})
	}
	p.CPU = all
	return p
}

func poisson(r *rand.Rand, mean float64) int64 {
	if mean > 500 {
		return int64(math.Round(mean + math.Sqrt(mean)*r.NormFloat64()))
	}
	n := int64(0)
	for sum := r.ExpFloat64(); sum < mean; sum += r.ExpFloat64() {
		n++
	}
	return n
}

// A setting is how blocks are made.
type setting struct {
	blocks   int
	spread   float64            // standard deviation of a function between blocks
	common   float64            // factor of everything in the new arm
	changed  map[string]float64 // factors of functions
	period   [2]float64         // of the arms; 0 is that of 997 Hz
	heavy    int                // a block with 100 times the operations, or -1
	duration float64            // operations of an arm in a block
}

func (s *service) blocks(r *rand.Rand, c setting) []attribution.Block {
	var all []attribution.Block
	for b := range c.blocks {
		operations := c.duration
		if b == c.heavy {
			operations *= 100
		}
		machine := math.Exp(0.1 * r.NormFloat64())
		arm := func(k int) attribution.Profile {
			noise := map[int]float64{}
			period := c.period[k]
			if period == 0 {
				period = 1.0 / 997
			}
			return s.profile(r, operations, period, func(i int) float64 {
				owner := s.owner[i]
				if _, ok := noise[owner]; !ok {
					noise[owner] = math.Exp(c.spread * r.NormFloat64())
				}
				factor := machine * noise[owner]
				if k == 0 {
					return factor
				}
				if change, ok := c.changed[s.nameOf(owner)]; ok {
					factor *= change
				}
				return factor * c.common
			})
		}
		all = append(all, attribution.Block{Base: arm(0), New: arm(1)})
	}
	return all
}

func (s *service) nameOf(owner int) string {
	if owner < 0 {
		return ""
	}
	return s.functions[owner].Name
}

// TestSecondIsCalibrated holds the second reading to the same promise as the first.
func TestSecondIsCalibrated(t *testing.T) {
	const trials = 120
	named := 0
	for seed := range uint64(trials) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newService(r, 40)
		blocks := s.blocks(r, setting{
			blocks: 6, spread: 0.02, common: 1, duration: 1e5, heavy: -1,
		})
		if len(attributeAgain(blocks).found) > 0 {
			named++
		}
	}
	t.Logf("%d of %d A/A comparisons name a function", named, trials)
	if named > trials/10 {
		t.Errorf("%d of %d A/A comparisons name a function, want at most 5 %%", named, trials)
	}
}
