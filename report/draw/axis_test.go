package draw

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTicks checks that any range is covered, in few steps of one size, with labels that differ.
func TestTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ranges := [][2]float64{
		{0, 1},
		{0.994, 1.013},
		{99.97, 100.04},
		{12340, 12349},
		{1_234_560, 1_234_600},
		{999_990, 1_000_020},
		{-3, 3},
	}
	for range 5000 {
		hi := math.Pow(10, 14*rng.Float64()-5)
		lo := 0.0
		if rng.IntN(4) == 0 {
			lo = -hi * rng.Float64()
		}
		ranges = append(ranges, [2]float64{lo, hi})
	}
	for _, r := range ranges {
		lo, hi := r[0], r[1]
		ts := Ticks(lo, hi, 5)
		if ts[0].At > lo || ts[len(ts)-1].At < hi*(1-1e-9) || len(ts) < 3 || len(ts) > 9 {
			t.Fatalf("%v to %v: %v", lo, hi, ts)
		}
		seen := map[string]bool{}
		for i, k := range ts {
			if seen[k.Label] || len(k.Label) > 9 {
				t.Fatalf("%v to %v: label %q in %v", lo, hi, k.Label, ts)
			}
			seen[k.Label] = true
			if i > 1 && math.Abs((k.At-ts[i-1].At)/(ts[1].At-ts[0].At)-1) > 1e-6 {
				t.Fatalf("%v to %v: uneven %v", lo, hi, ts)
			}
		}
	}
	for range 2000 {
		end := math.Pow(10, 7*rng.Float64()-1)
		ts, unit := Clock(end)
		if len(ts) < 3 || len(ts) > 52 || ts[0].At != 0 || ts[len(ts)-1].At > end*(1+1e-9) {
			t.Fatalf("%v s: %v %s", end, ts, unit)
		}
	}
	if ts, unit := Clock(5400); unit != "min" || ts[len(ts)-1].Label != "90" {
		t.Errorf("90 minutes: %v %s", ts, unit)
	}
}

// TestPieces breaks a curve where it has no data.
func TestPieces(t *testing.T) {
	got := pieces([]float64{0, 1, 2, 3, 20, 21}, 1)
	if want := []piece{{0, 4}, {4, 6}}; !slices.Equal(got, want) {
		t.Errorf("the pieces are %v, want %v", got, want)
	}
}
