package stats_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"plimsoll/stats"
)

// reference is testdata/golden.json, written by testdata/golden.py with scipy and statsmodels.
type reference struct {
	Samples map[string]struct {
		Values   []float64
		Mean     float64
		SD       float64
		Median   float64
		TP       float64 `json:"t_p"`
		CI       map[string][2]float64
		Flip     float64
		Rank     map[string]struct{ HL, Lo, Hi, Exact *float64 }
		Outliers []int
	}
	Quantiles [][3]float64
	MDE       [][4]float64
	Sign      [][3]float64
	Holm      []struct{ P, Adjusted []float64 }
}

func readReference(t *testing.T) (ref reference) {
	t.Helper()
	readJSON(t, "golden.json", &ref)
	if len(ref.Samples) < 10 || len(ref.Quantiles) < 90 || len(ref.MDE) < 10 || len(ref.Sign) < 9 ||
		len(ref.Holm) < 5 {
		t.Fatal("testdata/golden.json is not complete")
	}
	return ref
}

// near reports whether two numbers agree to 1e-9 of their size, or 1e-12.
func near(got, want float64) bool {
	return math.Abs(got-want) <= max(1e-12, 1e-9*math.Abs(want))
}

func level(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sample(t testing.TB, values ...float64) stats.Sample {
	t.Helper()
	s, err := stats.NewSample(values...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSamplesAgainstScipy(t *testing.T) {
	for name, want := range readReference(t).Samples {
		t.Run(name, func(t *testing.T) {
			s := sample(t, want.Values...)
			flip, smallest := stats.SignFlip(s)
			for _, c := range []struct {
				what      string
				got, want float64
			}{
				{"mean", s.Mean(), want.Mean},
				{"sd", s.SD(), want.SD},
				{"median", s.Median(), want.Median},
				{"t test", stats.TTest(s), want.TP},
				{"sign flip", flip, want.Flip},
				{"smallest p of the sign flip", smallest, math.Pow(0.5, float64(len(want.Values)-1))},
			} {
				if !near(c.got, c.want) {
					t.Errorf("%s: got %.15g, want %.15g", c.what, c.got, c.want)
				}
			}
			for text, ends := range want.CI {
				ci := stats.TInterval(s, level(t, text))
				if !near(ci.Lo, ends[0]) || !near(ci.Hi, ends[1]) {
					t.Errorf("interval at %s: got %v, want %v", text, ci, ends)
				}
			}
			for text, rank := range want.Rank {
				got := stats.HodgesLehmann(s, level(t, text))
				if !near(got.Estimate, *rank.HL) {
					t.Errorf("Hodges-Lehmann: got %v, want %v", got.Estimate, *rank.HL)
				}
				if known := rank.Lo != nil; got.Interval.Known() != known {
					t.Errorf("rank interval at %s: got %v, want one: %v", text, got.Interval, known)
				} else if known && (!near(got.Interval.Lo, *rank.Lo) || !near(got.Interval.Hi, *rank.Hi) || !near(got.Exact, *rank.Exact)) {
					t.Errorf("rank interval at %s: got %v, want [%v, %v] at %v", text, got, *rank.Lo, *rank.Hi, *rank.Exact)
				}
			}
			if got := stats.Outliers(s); !slices.Equal(got, want.Outliers) {
				t.Errorf("outliers: got %v, want %v", got, want.Outliers)
			}
		})
	}
}

func TestTablesAgainstScipy(t *testing.T) {
	ref := readReference(t)
	for _, q := range ref.Quantiles {
		if got := stats.TQuantile(q[0], q[1]); !near(got, q[2]) {
			t.Errorf(
				"t quantile of %v with %v degrees of freedom: got %.15g, want %.15g",
				q[0],
				q[1],
				got,
				q[2],
			)
		}
	}
	for _, m := range ref.MDE {
		if got := stats.MDE(m[0], int(m[1]), m[2]); !near(got, m[3]) {
			t.Errorf("MDE%v: got %.15g, want %.15g", m[:3], got, m[3])
		}
	}
	for _, c := range ref.Sign {
		if got := stats.SignTest(int(c[0]), int(c[1])); !near(got, c[2]) {
			t.Errorf("sign test of %v against %v: got %.15g, want %.15g", c[0], c[1], got, c[2])
		}
	}
	for _, h := range ref.Holm {
		got := stats.Holm(h.P)
		for i := range got {
			if !near(got[i], h.Adjusted[i]) {
				t.Errorf("Holm%v: got %v, want %v", h.P, got, h.Adjusted)
				break
			}
		}
	}
}
