package attribution_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/judge/attribution"
)

// BenchmarkAttribute attributes six blocks of profiles with 50,000 stacks each, of 30 calls on the
// average. Nine of ten stacks are in all profiles.
func BenchmarkAttribute(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newServer(rng, 1000, false)
	blocks := usual.compare(rng, s, none)
	short := blocks[0].Base.Stacks
	for i := range blocks {
		for _, p := range []*attribution.CPUProfile{&blocks[i].Base, &blocks[i].New} {
			p.CPU = 0
			p.Stacks = nil
			same := rand.New(rand.NewPCG(3, 4))
			for k := range 50_000 {
				stack := short[k%len(short)]
				stack.Functions = slices.Clone(stack.Functions)
				from := same
				if k%10 == 0 {
					from = rng
				}
				for range 10 { // functions of libraries come last
					n := len(stack.Functions)
					stack.Functions = slices.Insert(stack.Functions, 0, len(s.functions)-1-n)
					stack.Functions = append(stack.Functions, len(s.functions)-1-from.IntN(50))
				}
				p.Stacks = append(p.Stacks, stack)
			}
		}
	}
	for b.Loop() {
		attribution.Attribute("app", blocks)
	}
}
