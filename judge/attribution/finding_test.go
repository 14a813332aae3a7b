package attribution_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/attribution"
)

// attributed simulates a comparison of a server of 400 functions.
func attributed(seed uint64, fresh func(s *server) change) (*server, attribution.Attribution) {
	rng := rand.New(rand.NewPCG(seed, 38))
	s := newServer(rng, 400, false)
	return s, attribution.Attribute("app", usual.compare(rng, s, fresh(s)))
}

// two carries out two changes of different sites.
func two(a, b change) change {
	return func(k site) float64 { return a(k) + b(k) - k.share }
}

// TestPartsAddUp adds the parts of differences of each kind. Shares are said of a difference that is
// told from zero alone.
func TestPartsAddUp(t *testing.T) {
	for name, fresh := range map[string]func(s *server) change{
		"nothing":   func(*server) change { return none },
		"function":  func(s *server) change { return s.plant(7, -1, 0.3) },
		"less":      func(s *server) change { return times(0.7, of(s.largest())) },
		"all":       func(*server) change { return times(1.2, func(site) bool { return true }) },
		"collector": func(s *server) change { return times(3, func(k site) bool { return k.stack[0] == s.collector }) },
	} {
		_, a := attributed(1, func(s *server) change {
			for i, f := range s.functions { // libraries by themselves
				if f.Kind == attribution.Library {
					s.sites = append(s.sites, site{[]int{i}, 0.002, -1, -1})
				}
			}
			return fresh(s)
		})
		cost, share := 0.0, 0.0
		for _, p := range a.Parts {
			cost += p.Cost.Value
			share += p.Share
		}
		if d := cost - (a.New - a.Base); math.Abs(d) > 1e-13*a.Base {
			t.Errorf("%s: the parts add up to %g, the difference is %g", name, cost, a.New-a.Base)
		}
		want := 0.0
		if a.Change.Low > 0 || a.Change.High < 0 {
			want = 1
		}
		if math.Abs(share-want) > 1e-9 {
			t.Errorf("%s: shares of %+v add up to %g, want %g", name, a.Change, share, want)
		}
	}
}

// TestAllocation has a function that allocates more, and a collector that works more. The collector
// is a part of its own, which the finding points to.
func TestAllocation(t *testing.T) {
	var f int
	s, a := attributed(1, func(s *server) change {
		f = s.caller(rand.New(rand.NewPCG(2, 2)), s.alloc)
		more := times(1.3, func(k site) bool { return k.stack[0] == s.collector })
		return two(s.plant(f, s.alloc, 0.03), more)
	})
	if len(a.Findings) != 1 || a.Findings[0].Function != s.functions[f] {
		t.Fatalf("findings are %+v, want %s alone", a.Findings, s.functions[f].Name)
	}
	found := a.Findings[0]
	if !slices.Contains(found.Within, s.functions[s.alloc]) {
		t.Errorf("within %+v, want the allocator", found.Within)
	}
	if !slices.Equal(found.Also, []string{"garbage collector"}) {
		t.Errorf("also %q, want the collector", found.Also)
	}
	if !covers(found.Cost, 0.03) {
		t.Errorf("cost %+v, want 3 %% of %g", found.Cost, usual.cost())
	}
	if group := part(a, attribution.PartGroup, "garbage collector"); !covers(group.Cost, 0.036) {
		t.Errorf("the collector's part is %+v, want 3.6 %% of %g", group.Cost, usual.cost())
	}
}

// TestOneArmAlone has functions that only one arm has: one that is new, one that is gone, and one
// that is inlined into its caller.
func TestOneArmAlone(t *testing.T) {
	s, added := attributed(3, func(s *server) change { return none })
	f := s.branch + 1
	share := s.share(of(f))
	_, removed := attributed(3, func(s *server) change { return times(0, of(f)) })
	_, inlined := attributed(3, func(s *server) change {
		return two(times(0, of(f)), s.plant(s.branch, -1, share))
	})
	if len(added.Findings) != 0 {
		t.Errorf("nothing changed, found are %+v", added.Findings)
	}
	if x := removed.Findings; len(x) == 0 || x[0].Kind != attribution.Removed ||
		x[0].Function != s.functions[f] || x[0].Change.Value != -1 {
		t.Errorf("found are %+v, want %s removed", x, s.functions[f].Name)
	}
	if x := inlined.Findings; len(x) != 1 || x[0].Kind != attribution.Moved ||
		x[0].Function != s.functions[s.branch] || *x[0].From != s.functions[f] {
		t.Errorf("found are %+v, want %s moved to its caller", x, s.functions[f].Name)
	}

	rng := rand.New(rand.NewPCG(4, 4))
	blocks := usual.compare(rng, s, none)
	for i := range blocks {
		blocks[i].Base.Stacks = slices.DeleteFunc(blocks[i].Base.Stacks,
			func(k attribution.CallStack) bool { return slices.Contains(k.Functions, f) })
		blocks[i].Base.CPU -= share * usual.samples / 6 * period
	}
	a := attribution.Attribute("app", blocks)
	if x := a.Findings; len(x) == 0 || x[0].Kind != attribution.Added ||
		x[0].Function != s.functions[f] || x[0].Change != (attribution.IntervalEstimate{}) {
		t.Errorf("found are %+v, want %s added", x, s.functions[f].Name)
	}
	if callers := a.Findings[0].Callers; !slices.Equal(
		callers,
		[]attribution.Function{s.functions[s.branch]},
	) {
		t.Errorf("its callers are %+v, want %s", callers, s.functions[s.branch].Name)
	}

	// The caller becomes a layer, with the method of the same name: its own callers are named.
	name := s.functions[f].Name
	layer := "example.com/layer.(*Layer)." + name[strings.LastIndexByte(name, '.')+1:]
	above := map[string]bool{}
	for i := range blocks {
		for _, p := range []*attribution.CPUProfile{&blocks[i].Base, &blocks[i].New} {
			p.Functions = slices.Clone(p.Functions)
			p.Functions[s.branch].Name = layer
			for _, k := range p.Stacks {
				if at := slices.Index(k.Functions, s.branch); at > 0 {
					above[p.Functions[k.Functions[at-1]].Name] = true
				}
			}
		}
	}
	a = attribution.Attribute("app", blocks)
	if len(a.Findings) == 0 || len(a.Findings[0].Callers) == 0 {
		t.Fatalf("found are %+v, want %s and its callers", a.Findings, name)
	}
	for _, c := range a.Findings[0].Callers {
		if c.Name == layer || !above[c.Name] {
			t.Errorf("its callers are %+v, want one of %v", c, above)
		}
	}
}

// TestCompensatingChanges has two functions below one that does not change as a whole, of which one
// saves part of what the other adds: both are seen.
func TestCompensatingChanges(t *testing.T) {
	s, a := attributed(5, func(s *server) change {
		saved := 0.7 * s.share(of(s.branch+2))
		return two(times(0.3, of(s.branch+2)), s.plant(s.branch+4, -1, 3*saved))
	})
	named := map[attribution.Function]bool{}
	for _, f := range a.Findings {
		named[f.Function] = true
	}
	for _, f := range []int{s.branch + 2, s.branch + 4} {
		if !named[s.functions[f]] {
			t.Errorf("found are %+v, want %s too", a.Findings, s.functions[f].Name)
		}
	}
}

// TestTreeMarksFindings looks for a finding in the drawing, whose root has the cost of the arm.
func TestTreeMarksFindings(t *testing.T) {
	s, a := attributed(6, func(s *server) change { return s.plant(20, -1, 0.05) })
	marked := map[string]bool{}
	var visit func(n *attribution.Node)
	visit = func(n *attribution.Node) {
		sum := [2]float64{}
		for _, c := range n.Children {
			sum[0] += c.Base
			sum[1] += c.New
			visit(c)
		}
		if sum[0] > n.Base*(1+1e-9) || sum[1] > n.New*(1+1e-9) {
			t.Errorf("the callees of %q cost more than it: %v", n.Function.Name, sum)
		}
		if n.Finding == 0 {
			marked[n.Function.Name] = true
		}
	}
	visit(a.Tree)
	root := a.Tree
	if math.Abs(root.Base-a.Base) > 1e-9*a.Base || math.Abs(root.New-a.New) > 1e-9*a.New {
		t.Errorf("the root costs %g and %g, the arms %g and %g", root.Base, root.New, a.Base, a.New)
	}
	if len(marked) != 1 || !marked[s.functions[20].Name] {
		t.Errorf("marked are %v, want %s", marked, s.functions[20].Name)
	}
}
