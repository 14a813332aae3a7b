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
) attribution.CPUProfile {
	p := attribution.CPUProfile{Functions: s.functions, Period: period, Operations: operations}
	all := 0.0
	for i, stack := range s.stacks {
		expected := s.costs[i] * cost(i) * operations
		all += expected
		n := poisson(r, expected/period)
		p.Stacks = append(p.Stacks, attribution.CallStack{Functions: stack, Samples: n})
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

func (s *service) blocks(r *rand.Rand, c setting) []attribution.BlockProfiles {
	var all []attribution.BlockProfiles
	for b := range c.blocks {
		operations := c.duration
		if b == c.heavy {
			operations *= 100
		}
		machine := math.Exp(0.1 * r.NormFloat64())
		arm := func(k int) attribution.CPUProfile {
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
		all = append(all, attribution.BlockProfiles{Base: arm(0), New: arm(1)})
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
		blocks := s.blocks(r, setting{blocks: 6, spread: 0.02, common: 1, duration: 1e5, heavy: -1})
		if len(attributeAgain(blocks).found) > 0 {
			named++
		}
	}
	t.Logf("%d of %d A/A comparisons name a function", named, trials)
	if named > trials/10 {
		t.Errorf("%d of %d A/A comparisons name a function, want at most 5 %%", named, trials)
	}
}

// TestTwoReadingsAgree plants a change of one function, on top of a common one, and compares the
// first finding, its cost and its interval.
func TestTwoReadingsAgree(t *testing.T) {
	both := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := newService(r, 40)
		planted := s.functions[9+1+r.IntN(40)].Name
		blocks := s.blocks(r, setting{
			blocks: 4 + r.IntN(6), spread: 0.03 * r.Float64(), duration: 2e5, heavy: -1,
			common: 0.9 + 0.3*r.Float64(), changed: map[string]float64{planted: 0.5 + r.Float64()},
		})
		again, got := attributeAgain(blocks), attribution.Attribute("app", blocks)
		near(t, seed, "base", got.Base, again.base, 1e-9)
		near(t, seed, "new", got.New, again.fresh, 1e-9)
		sound(t, fmt.Sprintf("seed %d", seed), got)
		var first string
		if len(got.Findings) > 0 {
			first = got.Findings[0].Function.Name
		}
		f := again.functions[planted]
		clear := math.Abs(f.mean/f.se) > 8
		if clear && first != planted {
			t.Errorf("seed %d: the first names %q, t of %s is %.1f", seed, first, planted, f.mean/f.se)
		}
		if clear && (len(again.found) == 0 || again.found[0].name != planted) {
			t.Errorf("seed %d: the second names %v", seed, again.found)
		}
		if first != planted {
			continue
		}
		both++
		cost := got.Findings[0].Cost
		half := (cost.High - cost.Low) / 2
		if math.Abs(cost.Value-f.mean) > f.se {
			t.Errorf("seed %d: cost of %s is %.4g, and %.4g ± %.2g again",
				seed, planted, cost.Value, f.mean, f.se)
		}
		wide := again.half(f)
		if half < 0.6*wide || half > 1.7*wide {
			t.Errorf("seed %d: interval of %s ± %.3g, and ± %.3g again", seed, planted, half, wide)
		}
	}
	t.Logf("%d of 60 comparisons name the planted function first", both)
	if both < 40 {
		t.Errorf("only %d of 60 comparisons name the planted function", both)
	}
}

func near(t *testing.T, seed uint64, name string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("seed %d: %s is %v, and %v again", seed, name, got, want)
	}
}

// tolerance is the error of rounding against the costs that are added.
const tolerance = 1e-9

// sound checks what holds for every attribution: parts that add up, and numbers that are finite.
func sound(t *testing.T, name string, a attribution.Attribution) {
	t.Helper()
	if a.Withheld != "" {
		if len(a.Parts)+len(a.Findings) > 0 || a.Tree != nil {
			t.Errorf("%s: withheld, and attributed", name)
		}
		return
	}
	sum := 0.0
	small := tolerance * (math.Abs(a.New) + math.Abs(a.Base))
	for _, p := range a.Parts {
		sum += p.Cost.Value
		ordered(t, name, p.Name, p.Cost, small)
		if math.IsNaN(p.Share) || math.IsInf(p.Share, 0) {
			t.Errorf("%s: share of %s is %v", name, p.Name, p.Share)
		}
		if p.Kind == attribution.PartFunction && (p.Finding < 0 || p.Finding >= len(a.Findings)) {
			t.Errorf("%s: part %s belongs to finding %d", name, p.Name, p.Finding)
		}
	}
	if !(math.Abs(sum-(a.New-a.Base)) <= small) {
		t.Errorf("%s: parts are %v, the difference %v", name, sum, a.New-a.Base)
	}
	ordered(t, name, "change", a.Change, tolerance)
	if len(a.Findings) > 10 {
		t.Errorf("%s: %d findings", name, len(a.Findings))
	}
	for _, f := range a.Findings {
		ordered(t, name, f.Function.Name, f.Cost, small)
		ordered(t, name, f.Function.Name, f.Change, tolerance)
		if !(f.Q >= 0 && f.Q <= 1) || !(f.Base >= 0) || !(f.New >= 0) {
			t.Errorf("%s: %s has q %v, base %v, new %v", name, f.Function.Name, f.Q, f.Base, f.New)
		}
	}
	if !(a.CouldFind >= 0) || math.IsInf(a.CouldFind, 0) {
		t.Errorf("%s: could find %v", name, a.CouldFind)
	}
	if a.Tree != nil {
		balanced(t, name, a.Tree, 0)
	}
}

// balanced checks that a node holds what its children hold.
func balanced(t *testing.T, name string, n *attribution.Node, depth int) {
	t.Helper()
	base, fresh := 0.0, 0.0
	for _, c := range n.Children {
		base += c.Base
		fresh += c.New
	}
	if base > n.Base*(1+tolerance) || fresh > n.New*(1+tolerance) || math.IsNaN(n.Base+n.New) {
		t.Errorf("%s: %s at depth %d has %v and %v, its children %v and %v",
			name, n.Function.Name, depth, n.Base, n.New, base, fresh)
		return
	}
	for _, c := range n.Children {
		balanced(t, name, c, depth+1)
	}
}

func ordered(t *testing.T, name, of string, i attribution.IntervalEstimate, small float64) {
	t.Helper()
	if !(i.Low <= i.Value+small && i.Value <= i.High+small) || math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) {
		t.Errorf("%s: interval of %s is %v [%v, %v]", name, of, i.Value, i.Low, i.High)
	}
}

// TestEqualBuildsNameNothing counts the comparisons of a build with itself that name a function.
func TestEqualBuildsNameNothing(t *testing.T) {
	const trials = 120
	named := 0
	for seed := range uint64(trials) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := newService(r, 20+r.IntN(60))
		blocks := s.blocks(r, setting{
			blocks: 4 + r.IntN(6), spread: 0.06 * r.Float64(), common: 1, duration: 3e4, heavy: -1,
		})
		a := attribution.Attribute("app", blocks)
		sound(t, fmt.Sprintf("seed %d", seed), a)
		if len(a.Findings) > 0 {
			named++
		}
	}
	t.Logf("%d of %d comparisons name a function", named, trials)
	if named > trials/10 {
		t.Errorf("%d of %d comparisons of equal builds name a function", named, trials)
	}
}
