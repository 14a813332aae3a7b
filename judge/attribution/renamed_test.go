package attribution_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/attribution"
)

// TestRenamedBuilds compares a build with one of other names: the path of its module, a package
// and one function differ. Nothing may be named that did not change, and what did under its new name.
func TestRenamedBuilds(t *testing.T) {
	const trials = 40
	equal, right := 0, 0
	for seed := range uint64(trials) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newService(r, 40)
		planted := s.functions[20].Name
		c := setting{blocks: 6, spread: 0.01, common: 1.03, duration: 4e5, heavy: -1}
		rename := func(p *attribution.CPUProfile) {
			p.Functions = slices.Clone(p.Functions)
			for i, f := range p.Functions {
				f.Name = strings.Replace(f.Name, "example.com/server/p3.", "example.com/server/q3.", 1)
				f.Name = strings.Replace(f.Name, "example.com/server/", "example.com/chat/v8/server/", 1)
				if i == 25 {
					f.Name = strings.Replace(f.Name, ".F", ".Renamed", 1)
				}
				p.Functions[i] = f
			}
		}
		renamed := func() attribution.Attribution {
			blocks := s.blocks(r, c)
			for i := range blocks {
				rename(&blocks[i].New)
			}
			a := attribution.Attribute("app", blocks)
			sound(t, fmt.Sprintf("seed %d", seed), a)
			return a
		}
		if a := renamed(); len(a.Findings) == 0 {
			equal++
		} else {
			t.Logf("seed %d: equal builds name %s", seed, a.Findings[0].Function.Name)
		}
		c.changed = map[string]float64{planted: 3}
		a := renamed()
		if len(a.Findings) == 0 {
			continue
		}
		f := a.Findings[0]
		if f.Kind == attribution.Changed && f.Renamed && f.From != nil && f.From.Name == planted {
			right++
		} else {
			t.Logf("seed %d: %s %s for %s", seed, f.Kind, f.Function.Name, planted)
		}
	}
	t.Logf("%d of %d equal builds name nothing, %d changed ones the right function",
		equal, trials, right)
	if equal < trials*9/10 || right < trials*9/10 {
		t.Errorf("%d of %d equal builds name nothing, %d changed ones the right function",
			equal, trials, right)
	}
}
