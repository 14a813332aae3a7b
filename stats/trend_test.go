package stats_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"plimsoll/stats"
)

func TestTrendAgainstReference(t *testing.T) {
	data, err := os.ReadFile("testdata/trend.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref map[string]struct {
		Values                []float64
		Slope, Lo, Hi, Factor float64
		P                     float64
		CorrectedP            float64 `json:"corrected_p"`
	}
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	plain := 0
	for name, want := range ref {
		got := stats.TrendOf(want.Values, 0.95)
		if !near(got.Slope, want.Slope) || !near(got.Inflation, want.Factor) ||
			!near(got.P, want.CorrectedP) {
			t.Errorf(
				"%s: %+v, want slope %v, factor %v, p %v",
				name,
				got,
				want.Slope,
				want.Factor,
				want.CorrectedP,
			)
		}
		if want.Factor == 1 { // scipy does not account for autocorrelation
			plain++
			if !near(got.Lo, want.Lo) || !near(got.Hi, want.Hi) {
				t.Errorf("%s: [%v, %v], scipy [%v, %v]", name, got.Lo, got.Hi, want.Lo, want.Hi)
			}
		} else if got.Lo > want.Lo || got.Hi < want.Hi {
			t.Errorf("%s: [%v, %v] is narrower than without correction", name, got.Lo, got.Hi)
		}
	}
	if plain < 4 || len(ref)-plain < 3 {
		t.Errorf("%d series without and %d with correction", plain, len(ref)-plain)
	}
}

func TestTrendOfLittle(t *testing.T) {
	for _, values := range [][]float64{nil, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, math.NaN()}, {1, 2, 3, 4, 5, 6, 7, math.Inf(1)}} {
		if got := stats.TrendOf(values, 0.95); got.Known() {
			t.Errorf("%v: %+v", values, got)
		}
	}
	if got := stats.TrendOf(make([]float64, 20), 0.95); got.P != 1 || got.Slope != 0 ||
		got.Lo != 0 ||
		got.Hi != 0 {
		t.Errorf("constant: %+v", got)
	}
}

// False alarms in series without a trend at the level of 1 %, and real trends that are found. The
// correction is of large samples: with neighbors that depend strongly the rate stays above the
// level, so the caller also requires an effect that matters.
func TestTrendCalibration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs, n = 400, 96
	for _, tt := range []struct {
		phi, slope  float64
		least, most float64 // rate of p < 0.01
	}{
		{0, 0, 0, 0.02}, {0.3, 0, 0, 0.04}, {0.6, 0, 0, 0.06}, {0, 0.03, 0.95, 1}, {0.6, 0.06, 0.9, 1},
	} {
		found := 0
		for range runs {
			x, v := 0.0, make([]float64, n)
			for i := range v {
				x = tt.phi*x + r.NormFloat64()
				v[i] = tt.slope*float64(i) + x
			}
			if stats.TrendOf(v, 0.95).P < 0.01 {
				found++
			}
		}
		if rate := float64(found) / runs; rate < tt.least || rate > tt.most {
			t.Errorf(
				"phi %v, slope %v: p < 0.01 in %.4f of the series, want %v to %v",
				tt.phi,
				tt.slope,
				rate,
				tt.least,
				tt.most,
			)
		} else {
			t.Logf("phi %v, slope %v: %.4f", tt.phi, tt.slope, rate)
		}
	}
}
