package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/stats"
)

// countsOf returns values as counts, on the steps of a histogram.
func countsOf(values map[float64]uint32) (c stats.SparseCounts) {
	for ms := 0.5; ms < 1000; ms *= 2 {
		for k := range 128 {
			v := ms * (1 + float64(k)/128)
			if n := values[v]; n > 0 {
				c.Value, c.N = append(c.Value, v), append(c.N, n)
			}
		}
	}
	return c
}

// grid returns the value of a histogram that is next to ms.
func grid(ms float64) float64 {
	octave := math.Exp2(math.Floor(math.Log2(ms)))
	return octave * (1 + math.Round(128*(ms/octave-1))/128)
}

func TestLogShift(t *testing.T) {
	one := func(ms float64) stats.SparseCounts {
		return countsOf(map[float64]uint32{grid(ms): 100})
	}
	hits := func(n uint32, by float64) stats.SparseCounts {
		return countsOf(map[float64]uint32{grid(0.5 * by): n, grid(20 * by): 100 - n})
	}
	for _, tt := range []struct {
		name        string
		base, fresh stats.SparseCounts
		want        float64
	}{
		{"equal", one(10), one(10), 0},
		{"doubled", one(10), one(20), math.Ln2},
		{"hits and misses doubled", hits(60, 1), hits(60, 2), math.Ln2},
		{"a few more misses", hits(52, 1), hits(48, 1), 0},
		{"half of the hits are gone", hits(100, 1), hits(50, 1), math.Log(40) / 2},
	} {
		got, back := stats.LogShift(tt.base, tt.fresh), stats.LogShift(tt.fresh, tt.base)
		if math.Abs(got-tt.want) > 0.003 || math.Abs(got+back) > 1e-5 {
			t.Errorf("%s: %.4f, exchanged %.4f; want %.4f", tt.name, got, back, tt.want)
		}
	}
	if v := stats.LogShift(one(1), stats.SparseCounts{}); !math.IsNaN(v) {
		t.Errorf("against nothing: %v", v)
	}
}

// TestLogShiftResolvesLessThanAStep shifts a distribution by a fifth of a histogram's step.
func TestLogShiftResolvesLessThanAStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := map[float64]uint32{}, map[float64]uint32{}
	for range 100_000 {
		x[grid(10*math.Exp(0.02*rng.NormFloat64()))]++
		y[grid(10*math.Exp(0.0015+0.02*rng.NormFloat64()))]++
	}
	if got := stats.LogShift(countsOf(x), countsOf(y)); math.Abs(got-0.0015) > 0.0005 {
		t.Errorf("%.5f, want 0.0015", got)
	}
}

func TestLogMedian(t *testing.T) {
	if got := countsOf(map[float64]uint32{1: 2, 4: 1, 8: 1}).LogMedian(); got != 0 {
		t.Errorf("%v, want 0", got)
	}
	if got := (stats.SparseCounts{}).LogMedian(); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}
