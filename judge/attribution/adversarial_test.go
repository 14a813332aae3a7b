package attribution_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/attribution"
)

// plain returns six blocks in which one function costs half as much again.
func plain(seed uint64) (blocks []attribution.BlockProfiles, planted string) {
	r := rand.New(rand.NewPCG(seed, 4))
	s := newService(r, 30)
	planted = s.functions[15].Name
	return s.blocks(r, setting{
		blocks: 6, spread: 0.01, common: 1, duration: 3e5, heavy: -1,
		changed: map[string]float64{planted: 1.6},
	}), planted
}

// TestUnsoundProfiles gives Attribute profiles that no profiler writes.
func TestUnsoundProfiles(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name   string
		change func(blocks []attribution.BlockProfiles) []attribution.BlockProfiles
	}{
		{"no block", func([]attribution.BlockProfiles) []attribution.BlockProfiles { return nil }},
		{"empty blocks", func([]attribution.BlockProfiles) []attribution.BlockProfiles {
			return make([]attribution.BlockProfiles, 6)
		}},
		{"three blocks", func(b []attribution.BlockProfiles) []attribution.BlockProfiles { return b[:3] }},
		{"one empty block", func(b []attribution.BlockProfiles) []attribution.BlockProfiles {
			return append(b, attribution.BlockProfiles{})
		}},
		{"one empty arm", func(b []attribution.BlockProfiles) []attribution.BlockProfiles {
			b[2].New = attribution.CPUProfile{}
			return b
		}},
		{"an arm without samples in all blocks", func(b []attribution.BlockProfiles) []attribution.BlockProfiles {
			for i := range b {
				b[i].New.Stacks = nil
			}
			return b
		}},
		{"no operations", each(func(p *attribution.CPUProfile) { p.Operations = 0 })},
		{"negative operations", each(func(p *attribution.CPUProfile) { p.Operations = -1 })},
		{"operations NaN", each(func(p *attribution.CPUProfile) { p.Operations = nan })},
		{"operations Inf", each(func(p *attribution.CPUProfile) { p.Operations = inf })},
		{"tiny operations", each(func(p *attribution.CPUProfile) { p.Operations = 5e-324 })},
		{"huge operations", each(func(p *attribution.CPUProfile) { p.Operations = 1e308 })},
		{"period 0", each(func(p *attribution.CPUProfile) { p.Period = 0 })},
		{"negative period", each(func(p *attribution.CPUProfile) { p.Period = -1 })},
		{"period NaN", each(func(p *attribution.CPUProfile) { p.Period = nan })},
		{"period Inf", each(func(p *attribution.CPUProfile) { p.Period = inf })},
		{"huge period", each(func(p *attribution.CPUProfile) { p.Period = 1e308 })},
		{"CPU NaN", each(func(p *attribution.CPUProfile) { p.CPU = nan })},
		{"CPU Inf", each(func(p *attribution.CPUProfile) { p.CPU = inf })},
		{"negative CPU", each(func(p *attribution.CPUProfile) { p.CPU = -1 })},
		{"CPU unknown", each(func(p *attribution.CPUProfile) { p.CPU = 0 })},
		{"CPU below the samples", each(func(p *attribution.CPUProfile) { p.CPU /= 10 })},
		{"negative samples", each(func(p *attribution.CPUProfile) { p.Stacks[3].Samples = -1e6 })},
		{"all negative", each(func(p *attribution.CPUProfile) {
			for i := range p.Stacks {
				p.Stacks[i].Samples = -7
			}
		})},
		{"most samples", each(func(p *attribution.CPUProfile) {
			for i := range p.Stacks {
				p.Stacks[i].Samples = math.MaxInt64
			}
		})},
		{"indexes out of range", each(func(p *attribution.CPUProfile) {
			p.Stacks[1].Functions = []int{-1, 1 << 40, 2, len(p.Functions)}
			p.Stacks[2].Functions = []int{math.MinInt, math.MaxInt}
		})},
		{"no functions", each(func(p *attribution.CPUProfile) { p.Functions = nil })},
		{"unknown kinds", each(func(p *attribution.CPUProfile) {
			for i := range p.Functions {
				p.Functions[i].Kind = "else"
			}
		})},
		{"one name for all", each(func(p *attribution.CPUProfile) {
			for i := range p.Functions {
				p.Functions[i].Name = ""
			}
		})},
		{"hostile names", each(func(p *attribution.CPUProfile) {
			for i := range p.Functions {
				p.Functions[i].Name = fmt.Sprint(strings.Repeat("a[(", 10_000), i)
			}
		})},
		{"empty stacks", each(func(p *attribution.CPUProfile) {
			for i := range p.Stacks {
				p.Stacks[i].Functions = nil
			}
		})},
	} {
		for _, arms := range []string{"both", "new"} {
			t.Run(tt.name+" "+arms, func(t *testing.T) {
				sound, _ := plain(1)
				blocks := tt.change(slices.Clone(sound))
				if arms == "new" {
					blocks = slices.Clone(blocks)
					for i := range min(len(blocks), len(sound)) {
						blocks[i].Base = sound[i].Base
					}
				}
				check(t, blocks)
			})
		}
	}
}

// TestSamplesBeyondTheKernelsCount has a sampler whose period is not the one that it gives.
func TestSamplesBeyondTheKernelsCount(t *testing.T) {
	for times, withheld := range map[float64]bool{1.5: false, 3: true} {
		blocks, _ := plain(1)
		blocks = each(func(p *attribution.CPUProfile) { p.Period *= times })(blocks)
		if got := attribution.Attribute("app", blocks).Withheld; (got != "") != withheld {
			t.Errorf("%v times the CPU time: withheld for %q, want %v", times, got, withheld)
		}
	}
}

// TestNothingOwn has programs none of whose functions are their own.
func TestNothingOwn(t *testing.T) {
	for kind, want := range map[attribution.Kind]string{
		attribution.Library: "all are in libraries and its runtime",
		attribution.Unknown: "it has no symbols",
	} {
		blocks, _ := plain(1)
		blocks = each(func(p *attribution.CPUProfile) {
			for i := range p.Functions {
				p.Functions[i].Kind = kind
			}
		})(blocks)
		if got := attribution.Attribute("app", blocks).Withheld; !strings.HasSuffix(got, ": "+want) {
			t.Errorf("all functions of kind %q: withheld for %q, want %q", kind, got, want)
		}
	}
}

// each returns a change of every profile.
func each(change func(p *attribution.CPUProfile)) func([]attribution.BlockProfiles) []attribution.BlockProfiles {
	return func(blocks []attribution.BlockProfiles) []attribution.BlockProfiles {
		for i := range blocks {
			for _, p := range []*attribution.CPUProfile{&blocks[i].Base, &blocks[i].New} {
				p.Functions = slices.Clone(p.Functions)
				p.Stacks = slices.Clone(p.Stacks)
				change(p)
			}
		}
		return blocks
	}
}

func check(t *testing.T, blocks []attribution.BlockProfiles) attribution.Attribution {
	t.Helper()
	a := attribution.Attribute("app", blocks)
	for _, v := range []float64{a.Base, a.New, a.CouldFind} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Errorf("base %v, new %v, could find %v", a.Base, a.New, a.CouldFind)
		}
	}
	if len(blocks) < 4 && a.Withheld == "" {
		t.Errorf("%d blocks are attributed", len(blocks))
	}
	sound(t, t.Name(), a)
	return a
}

// TestOneFunction has a program whose whole cost is one function's: its change cannot be told from
// one of all functions, and is not named.
func TestOneFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	s := &service{
		functions: []attribution.Function{
			{Name: "main.main", Kind: attribution.Own, File: "x.go", Binary: "server"},
		},
		stacks: [][]int{{0}}, costs: []float64{1e-4}, owner: []int{0},
	}
	for _, change := range []float64{1, 1.5} {
		blocks := s.blocks(r, setting{
			blocks: 6, spread: 0.01, common: change, duration: 1e5, heavy: -1,
		})
		a := attribution.Attribute("app", blocks)
		sound(t, "one function", a)
		if len(a.Findings) > 0 {
			t.Errorf("names %s with a common change of %v", a.Findings[0].Function.Name, change)
		}
	}
}

// TestDeepStacks has recursion of 10,000 calls.
func TestDeepStacks(t *testing.T) {
	for name, function := range map[string]func(i int) int{
		"recursion":           func(int) int { return 1 },
		"mutual recursion":    func(i int) int { return i % 2 },
		"different functions": func(i int) int { return i },
	} {
		t.Run(name, func(t *testing.T) {
			sound, planted := plain(2)
			deep := make([]int, 10_000)
			for i := range deep {
				deep[i] = function(i)
			}
			blocks := each(func(p *attribution.CPUProfile) {
				at := len(p.Functions)
				for i := range deep {
					p.Functions = append(p.Functions, attribution.Function{
						Name: fmt.Sprintf("main.R%d", i), Kind: attribution.Own, File: "x.go",
					})
				}
				stack := make([]int, len(deep))
				for i, f := range deep {
					stack[i] = at + f
				}
				p.Stacks = append(p.Stacks, attribution.CallStack{Functions: stack, Samples: 5000})
				p.Stacks = append(p.Stacks, attribution.CallStack{Functions: stack[:5000], Samples: 50})
			})(sound)
			for i := range blocks {
				blocks[i].Base.CPU, blocks[i].New.CPU = 0, 0
			}
			a := check(t, blocks)
			if len(a.Findings) != 1 || a.Findings[0].Function.Name != planted {
				t.Errorf("findings %v, want %s", a.Findings, planted)
			}
		})
	}
}

// TestRecursionCountsOnce has a function that calls itself: with callees it is counted once.
func TestRecursionCountsOnce(t *testing.T) {
	sound, _ := plain(3)
	blocks := each(func(p *attribution.CPUProfile) {
		for i, s := range p.Stacks {
			if len(s.Functions) > 1 {
				twice := slices.Concat(s.Functions[:1], s.Functions[:1], s.Functions)
				p.Stacks[i].Functions = twice
			}
		}
	})(slices.Clone(sound))
	a, b := attribution.Attribute("app", sound), attribution.Attribute("app", blocks)
	if a.Base != b.Base || len(a.Findings) == 0 || len(a.Findings) != len(b.Findings) {
		t.Fatalf("%d findings without recursion, %d with it", len(a.Findings), len(b.Findings))
	}
	if a.Findings[0].Function != b.Findings[0].Function {
		t.Errorf("first %v without recursion, %v with it",
			a.Findings[0].Function, b.Findings[0].Function)
	}
}

// TestUnequalProfiles has blocks that differ in what should not matter.
func TestUnequalProfiles(t *testing.T) {
	for _, tt := range []struct {
		name string
		setting
	}{
		{"another period", setting{period: [2]float64{1.0 / 997, 1.0 / 250}, heavy: -1}},
		{"a block with 100 times the samples", setting{heavy: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			right, named := 0, 0
			for seed := range uint64(30) {
				r := rand.New(rand.NewPCG(seed, 6))
				s := newService(r, 30)
				planted := s.functions[15].Name
				c := tt.setting
				c.blocks, c.spread, c.common, c.duration = 6, 0.01, 1.05, 1e5
				a := attribution.Attribute("app", s.blocks(r, c))
				sound(t, "equal", a)
				if len(a.Findings) > 0 {
					named++
				}
				c.changed = map[string]float64{planted: 2}
				blocks := s.blocks(r, c)
				a = attribution.Attribute("app", blocks)
				sound(t, "changed", a)
				again := attributeAgain(blocks)
				near(t, seed, "base", a.Base, again.base, 1e-9)
				near(t, seed, "new", a.New, again.fresh, 1e-9)
				f := again.functions[planted]
				if len(a.Findings) > 0 && a.Findings[0].Function.Name == planted {
					right++
					if d := a.Findings[0].Cost.Value - f.mean; math.Abs(d) > again.half(f) {
						t.Errorf("seed %d: cost %v, and %v again", seed, a.Findings[0].Cost, f.mean)
					}
				} else if f.mean/f.se > 8 {
					t.Errorf("seed %d: %s is not named", seed, planted)
				}
			}
			t.Logf("%d of 30 right, %d of 30 equal ones named", right, named)
			if right < 20 || named > 4 {
				t.Errorf("%d of 30 right, %d of 30 equal ones named", right, named)
			}
		})
	}
}
