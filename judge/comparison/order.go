package comparison

import (
	"math/rand/v2"
	"slices"
)

// A Cell is one run of a comparison before it runs.
type Cell struct {
	Block  int // from 1; 0 for a pilot
	Order  int // position in the block, from 1
	Arm    string
	Engine string
	Pilot  bool
	// Start is where the search begins, 0 if nothing is known.
	Start int
	// Index and Of count all cells, for a progress line.
	Index, Of int
	// Left is how many runs come after it as far as is known: of blocks up to the last look, and of voided ones that
	// are run again.
	Left int
	// Again is true if its block was voided and is run again.
	Again bool
}

// Order returns the cells of all blocks. In each pair of blocks the second has the arms and the databases in the
// reverse order of the first, so that a steady drift cancels; how a pair begins is drawn from the seed, without
// replacement over the possible rotations.
func Order(seed uint64, blocks int, arms, engines []string) [][]Cell {
	rng := rand.New(rand.NewPCG(seed, 0x706c696d736f6c6c))
	armRot, engRot := rotations(rng, len(arms), blocks), rotations(rng, len(engines), blocks)
	out := make([][]Cell, blocks)
	of := blocks * len(arms) * len(engines)
	index := 0
	for b := range blocks {
		as, es := rotate(arms, armRot[b/2]), rotate(engines, engRot[b/2])
		if b%2 == 1 {
			slices.Reverse(as)
			slices.Reverse(es)
		}
		for _, e := range es {
			for _, a := range as {
				index++
				out[b] = append(out[b], Cell{Block: b + 1, Order: len(out[b]) + 1, Arm: a, Engine: e, Index: index, Of: of})
			}
		}
	}
	return out
}

// rotations draws one rotation of n things for each pair of blocks: every rotation once before any comes again.
func rotations(rng *rand.Rand, n, blocks int) []int {
	var out []int
	for len(out) <= blocks/2 {
		out = append(out, rng.Perm(max(n, 1))...)
	}
	return out
}

func rotate(s []string, k int) []string {
	if len(s) == 0 {
		return nil
	}
	k %= len(s)
	return slices.Concat(s[k:], s[:k])
}
