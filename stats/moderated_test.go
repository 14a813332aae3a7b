package stats_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"plimsoll/stats"
)

// limma is testdata/limma.json, written by testdata/limma.R.
type limma struct {
	Sets map[string]struct {
		Values   [][]float64
		Floor    []float64
		D0       float64 `json:"d0"` // -1 is infinite
		S02      float64 `json:"s02"`
		T, DF, P []float64
	}
	BH []struct {
		P, Adjusted []*float64
	}
	TrigammaInverse [][2]float64 `json:"trigamma_inverse"`
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestModeratedTAgainstLimma(t *testing.T) {
	var ref limma
	readJSON(t, "limma.json", &ref)
	if len(ref.Sets) < 7 {
		t.Fatal("testdata/limma.json is not complete")
	}
	finitePriors := 0
	for name, want := range ref.Sets {
		t.Run(name, func(t *testing.T) {
			samples := make([]stats.Sample, len(want.Values))
			for i, v := range want.Values {
				samples[i] = sample(t, v...)
			}
			got, prior := stats.ModeratedT(samples, want.Floor)
			if want.D0 < 0 {
				want.D0 = math.Inf(1)
			} else {
				finitePriors++
			}
			if !close8(prior.DF, want.D0) || !close8(prior.Variance, want.S02) {
				t.Errorf(
					"prior: got %+v, want %v with %v degrees of freedom",
					prior,
					want.S02,
					want.D0,
				)
			}
			for i, g := range got {
				if !close8(g.T, want.T[i]) || !close8(g.DF, want.DF[i]) || !close8(g.P, want.P[i]) {
					t.Errorf(
						"metric %d: got %+v, want t %v, df %v, p %v",
						i,
						g,
						want.T[i],
						want.DF[i],
						want.P[i],
					)
				}
			}
		})
	}
	if finitePriors < 3 {
		t.Errorf("only %d sets have a finite prior: they test little", finitePriors)
	}
	for _, x := range ref.TrigammaInverse {
		if got := stats.TrigammaInverse(x[0]); !close8(got, x[1]) {
			t.Errorf("trigammaInverse(%g): got %.15g, want %.15g", x[0], got, x[1])
		}
	}
}

// close8 reports whether two numbers agree to eight digits, which is where limma stops its
// iteration.
func close8(got, want float64) bool {
	return got == want || math.Abs(got-want) <= max(1e-12, 1e-8*math.Abs(want))
}

func TestBenjaminiHochbergAgainstR(t *testing.T) {
	var ref limma
	readJSON(t, "limma.json", &ref)
	value := func(p *float64) float64 {
		if p == nil {
			return math.NaN()
		}
		return *p
	}
	if len(ref.BH) < 5 {
		t.Fatal("testdata/limma.json is not complete")
	}
	for _, c := range ref.BH {
		p := make([]float64, len(c.P))
		for i := range p {
			p[i] = value(c.P[i])
		}
		for i, got := range stats.BenjaminiHochberg(p) {
			if want := value(c.Adjusted[i]); !near(got, want) &&
				!(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("adjusted p %d of %v: got %v, want %v", i, p, got, want)
			}
		}
	}
	if got := stats.BenjaminiHochberg(nil); len(got) != 0 {
		t.Errorf("no tests: got %v", got)
	}
}

// TestModeratedTOfLittle has families that carry no prior: they fall back to each metric by itself.
func TestModeratedTOfLittle(t *testing.T) {
	one := sample(t, 0.10, 0.12, 0.09, 0.11, 0.08, 0.10)
	got, prior := stats.ModeratedT([]stats.Sample{one}, []float64{0})
	if prior.DF != 0 || !near(got[0].P, stats.TTest(one)) {
		t.Errorf(
			"one metric: got %+v and prior %+v, want the plain t test (p = %v)",
			got[0],
			prior,
			stats.TTest(one),
		)
	}
	two := sample(t, 0.1, 0.2)
	got, _ = stats.ModeratedT([]stats.Sample{one, two, one}, []float64{0, 0, -1})
	if !math.IsNaN(got[1].P) || !math.IsNaN(got[2].P) || math.IsNaN(got[0].P) {
		t.Errorf("two pairs, and a negative floor, have no test: got %+v", got)
	}
	flat := sample(t, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
	zero := sample(t, 0, 0, 0, 0, 0, 0)
	got, prior = stats.ModeratedT([]stats.Sample{flat, zero, flat}, []float64{0.03, 0.03, 0.2})
	if prior.DF != 0 || got[0].P != 0 || got[1].P != 1 || got[2].P != 1 || got[1].T != 0 {
		t.Errorf("metrics without spread: got %+v and prior %+v", got, prior)
	}
	if got, _ := stats.ModeratedT(nil, nil); len(got) != 0 {
		t.Errorf("no metrics: got %v", got)
	}
}
