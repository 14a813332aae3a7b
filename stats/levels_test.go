package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLevels separates the inside of blocks from deployments, in the mean over many comparisons.
func TestLevels(t *testing.T) {
	const comparisons, blocks, stretches = 3000, 6, 10
	for _, tt := range []struct{ noise, deployed float64 }{{0.03, 0}, {0.03, 0.01}, {0.01, 0.03}} {
		rng := rand.New(rand.NewPCG(1, uint64(1000*tt.deployed)))
		var within, between, total float64
		for range comparisons {
			var d, w []float64
			for range blocks {
				at := tt.deployed * rng.NormFloat64()
				var inside []float64
				mean := 0.0
				for range stretches {
					v := at + tt.noise*rng.NormFloat64()
					inside, mean = append(inside, v), mean+v/stretches
				}
				d, w = append(d, mean), append(w, StretchVariance(inside))
			}
			l, ok := NewVariances(d, w)
			if !ok || l.Blocks != blocks {
				t.Fatalf("%+v, %v", l, ok)
			}
			within, total = within+l.Within/comparisons, total+l.Total/comparisons
			between += (l.Total - l.Within) / comparisons // without the floor, which lifts the mean
		}
		if want := tt.noise * tt.noise / stretches; math.Abs(within/want-1) > 0.03 {
			t.Errorf("%+v: within %.3g, want %.3g", tt, within, want)
		}
		if want := tt.deployed * tt.deployed; math.Abs(between-want) > 0.05*total {
			t.Errorf("%+v: between %.3g, want %.3g", tt, between, want)
		}
	}
}

// TestLevelsOfANoisyInside attributes nothing to deployments where the inside explains more than
// there is.
func TestLevelsOfANoisyInside(t *testing.T) {
	l, ok := NewVariances([]float64{0.01, 0.02, 0.03}, []float64{1, 1, 1})
	if !ok || l.Within != 1 || l.Between != 0 || math.Abs(l.Total-1e-4) > 1e-12 {
		t.Errorf("%+v, %v", l, ok)
	}
}

func TestLevelsOfFew(t *testing.T) {
	for _, tt := range []struct{ d, w []float64 }{
		{nil, nil}, {[]float64{0.1}, []float64{0.1}}, {[]float64{0.1, 0.2}, []float64{0.1}},
		{[]float64{0.1, 0.2}, []float64{0.1, math.NaN()}}, {[]float64{0.1, math.Inf(1)}, []float64{0.1, 0.1}},
	} {
		if l, ok := NewVariances(tt.d, tt.w); ok {
			t.Errorf("%v: %+v", tt, l)
		}
		if got := ExpectedBetween(tt.d, tt.w); got != PriorBetween*PriorBetween {
			t.Errorf("%v: expected %v, want the prior", tt, got)
		}
	}
	if v := StretchVariance([]float64{1, 2, 3, 4}); !math.IsNaN(v) {
		t.Errorf("four stretches give %v", v)
	}
}

// TestExpectedBetween knows the spread of the differences, and neither their size nor their sign.
func TestExpectedBetween(t *testing.T) {
	d, w := []float64{0.01, -0.02, 0.03, 0}, []float64{1e-5, 1e-5, 2e-5, 0}
	want := ExpectedBetween(d, w)
	l, _ := NewVariances(d, w)
	if got := (3*4e-4 + 3*l.Between) / 6; math.Abs(got-want) > 1e-12 || !(l.Between > 0) {
		t.Errorf("expected %v, want %v", want, got)
	}
	for name, f := range map[string]func(float64) float64{
		"shifted":  func(x float64) float64 { return x + 0.5 },
		"mirrored": func(x float64) float64 { return -x },
	} {
		other := make([]float64, len(d))
		for i, x := range d {
			other[i] = f(x)
		}
		if got := ExpectedBetween(other, w); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v instead of %v", name, got, want)
		}
	}
	got := ExpectedBetween(make([]float64, 7), make([]float64, 7))
	if math.Abs(got-4e-4*3/9) > 1e-12 {
		t.Errorf("seven equal blocks: %v", got)
	}
}

// TestLevelsMDE shows what longer runs bring, and what more blocks do.
func TestLevelsMDE(t *testing.T) {
	l := Variances{Blocks: 6, Total: 4e-4, Within: 3e-4, Between: 1e-4}
	now := l.MDE(6, 1, FixedAlpha)
	if want := MDE(0.02, 6, FixedAlpha); math.Abs(now-want) > 1e-12 {
		t.Errorf("now %v, want %v", now, want)
	}
	if longer := l.MDE(6, 3, FixedAlpha); math.Abs(longer/now-math.Sqrt(0.5)) > 1e-9 {
		t.Errorf("thrice as long %v of %v", longer, now)
	}
	if more := l.MDE(12, 1, FixedAlpha); !(more < now*math.Sqrt(0.5)) {
		t.Errorf("twice the blocks %v of %v", more, now)
	}
}
