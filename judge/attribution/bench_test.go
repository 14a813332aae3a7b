package attribution_test

import (
	"math/rand/v2"
	"testing"

	"plimsoll/judge/attribution"
)

// BenchmarkAttribute attributes six blocks of a server with 1,000 functions of its own.
func BenchmarkAttribute(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newServer(rng, 1000, false)
	blocks := usual.compare(rng, s, s.plant(300, -1, 0.02))
	for b.Loop() {
		attribution.Attribute("app", blocks)
	}
}
