package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/stats"
)

// TestBudgetLevels simulates the levels again: t tests of equal builds at the looks spend what they
// may at each, and another level of any look would not.
func TestBudgetLevels(t *testing.T) {
	const times = 300_000
	looks := stats.BudgetLooks()
	last := looks[len(looks)-1].Pairs
	if len(looks) != 9 || looks[0].Pairs != stats.MinPairs || last != 30 {
		t.Fatalf("looks %+v", looks)
	}
	limits := make([]float64, len(looks))
	for k, l := range looks {
		limits[k] = stats.TQuantile(1-l.Alpha/2, float64(l.Pairs-1))
	}
	rng := rand.New(rand.NewPCG(107, 1))
	crossed := make([]int, len(looks)) // at this look and at none before
	for range times {
		n := 0.0
		sum := 0.0
		squares := 0.0
		for k, l := range looks {
			for ; int(n) < l.Pairs; n++ {
				v := rng.NormFloat64()
				sum, squares = sum+v, squares+v*v
			}
			if se := math.Sqrt((squares - sum*sum/n) / (n - 1) / n); math.Abs(
				sum/n,
			) > limits[k]*se {
				crossed[k]++
				break
			}
		}
	}
	spent, all := 0.0, 0
	for k, l := range looks {
		may := stats.FixedAlpha * math.Log(1+(math.E-1)*float64(l.Pairs)/float64(last))
		got, want := float64(crossed[k])/times, may-spent
		if d := got - want; math.Abs(d) > 4*math.Sqrt(want/times) {
			t.Errorf(
				"look %d, after %d pairs, at %.5f: %.3f %% cross there first, want %.3f %%",
				k+1,
				l.Pairs,
				l.Alpha,
				100*got,
				100*want,
			)
		}
		spent, all = may, all+crossed[k]
	}
	if d := float64(all)/times - stats.FixedAlpha; math.Abs(d) > 4*math.Sqrt(
		stats.FixedAlpha/times,
	) {
		t.Errorf("all looks together: %.3f %%", 100*float64(all)/times)
	}
}

// TestBudgetLooks compares a build with itself at all looks.
func TestBudgetLooks(t *testing.T) {
	rng := rand.New(rand.NewPCG(106, 1))
	looks := stats.BudgetLooks()
	var found int
	for range 5 * comparisons {
		all := pairs(t, rng, 30, 0.03, 0).Values
		for _, look := range looks {
			if stats.TTest(sample(t, all[:look.Pairs]...)) <= look.Alpha {
				found++
				break
			}
		}
	}
	within(t, "nine looks", found, 5*comparisons, 0.044, 0.056)
}
