package compare

import (
	"math/rand/v2"
	"slices"
)

// A cell is one run of a comparison before it runs.
type cell struct {
	block  int // from 1; 0 for a pilot
	order  int // position in the block, from 1
	arm    string
	engine string
	pilot  bool
	start  int  // where the search begins; 0 if nothing is known
	again  bool // its block was void, and is run again
	// index and of count all cells, for a progress line.
	index, of int
	// left is the known number of runs that come after it: of blocks up to the last look, and of
	// void blocks that are repeated.
	left int
}

// order returns the cells of all blocks. In each pair of blocks the second has the arms and the
// databases in the reverse order of the first, so that a steady drift cancels; how a pair begins is
// drawn from the seed, without replacement over the possible rotations.
func order(seed uint64, blocks int, arms, engines []string) [][]cell {
	rng := rand.New(rand.NewPCG(seed, 0x706c696d736f6c6c))
	armRotations := rotations(rng, len(arms), blocks)
	engineRotations := rotations(rng, len(engines), blocks)
	out := make([][]cell, blocks)
	of := blocks * len(arms) * len(engines)
	index := 0
	for b := range blocks {
		as := rotate(arms, armRotations[b/2])
		es := rotate(engines, engineRotations[b/2])
		if b%2 == 1 {
			slices.Reverse(as)
			slices.Reverse(es)
		}
		for _, e := range es {
			for _, a := range as {
				index++
				c := cell{
					block:  b + 1,
					order:  len(out[b]) + 1,
					arm:    a,
					engine: e,
					index:  index,
					of:     of,
				}
				out[b] = append(out[b], c)
			}
		}
	}
	return out
}

// rotations draws one rotation of n things for each pair of blocks: every rotation once before any
// comes again.
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

// repeated returns the cells of a block that is run again.
func repeated(block []cell) []cell {
	out := slices.Clone(block)
	for i := range out {
		out[i].again = true
	}
	return out
}
