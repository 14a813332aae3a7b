package profile

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// share is the part of the stream of the next test that a test has time for: with 1, it takes half
// a minute.
const share = 9

// The stacks of 90 minutes on a CPU that is half busy, with as many different ones as a large
// server has, take 30 MB at most, and every sample is counted.
func TestMemory(t *testing.T) {
	const (
		samples   = 997 * 60 * 90 / 2 / share
		functions = 20_000
		size      = 64 // bytes of a function
		usual     = 0.85
	)
	random := rand.New(rand.NewPCG(1, 2))
	before := heap()
	s := newSampler([]Roots{{Name: "app", PIDs: func() []int { return nil }}})
	folds := 0
	fold := func() {
		folds++
		s.foldBy(func(frame uint32) []uint32 {
			_, offset := s.frames.at(frame)
			f := Symbol{Name: string(rune('a' + offset/size)), Binary: "server", Kind: "own"}
			return []uint32{s.folded.functions.number(f)}
		}, func(uint32) bool { return false })
	}
	for range samples {
		n, function := uint32(0), uint64(0)
		for range 12 + 4*random.IntN(5) {
			call := uint64(0) // of several in each function, of which most go the usual way
			for call < 16 && random.Float64() > usual {
				call++
			}
			n = s.tally.child(n, s.frames.id(firstBinary, size*function+call))
			function = (31*function + 7*call + 1) % functions
		}
		n = s.tally.child(n, s.frames.id(firstBinary, size*function+random.Uint64N(size)))
		s.tally.nodes[n].count++
		if len(s.tally.nodes) > mostNodes {
			fold()
		}
	}
	if took := heap() - before; took > 30e6 || folds == 0 {
		t.Errorf("%d samples take %.1f MB, folded %d times; want 30 at most, and folds",
			samples, float64(took)/1e6, folds)
	} else {
		t.Logf("%.1f MB, folded %d times", float64(took)/1e6, folds)
	}
	fold()
	sum := int64(0)
	for _, st := range s.folded.stored(0).Stacks {
		sum += st.Samples
	}
	if sum != samples {
		t.Errorf("%d samples are counted, want %d", sum, samples)
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
