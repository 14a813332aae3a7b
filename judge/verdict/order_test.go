package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
)

// inOrder makes n pairs of equal builds whose second run is changed by the given effect on the log
// scale.
func inOrder(rng *rand.Rand, n int, sd, effect float64) []verdict.Pair {
	var out []verdict.Pair
	for i := range n {
		p := verdict.Pair{Block: i + 1, First: verdict.FirstBase}
		base, fresh := sd*rng.NormFloat64(), sd*rng.NormFloat64()
		if i%2 == 0 {
			fresh += effect
		} else {
			p.First = verdict.FirstNew
			base += effect
		}
		p.Base, p.New = 16000*math.Exp(base), 16000*math.Exp(fresh)
		out = append(out, p)
	}
	return out
}

// TestOrderEffectIsNoNoise checks that runs that are 4 % lower when they come second leave equal
// builds the same as often as without the effect, that the effect is reported with its size, and
// that it costs half of the verdicts if the order is unknown.
func TestOrderEffectIsNoNoise(t *testing.T) {
	const times = 300
	rng := rand.New(rand.NewPCG(16, 10))
	var same, blind, told int
	for range times {
		pairs := inOrder(rng, 6, 0.02, math.Log(0.96))
		r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
		if r.Kind == verdict.Same {
			same++
		}
		if r.Order == nil || math.Abs(r.Order.Effect+0.04) > 0.06 {
			t.Fatalf("order effect %v", r.Order)
		}
		if strings.Contains(fmt.Sprint(r.Warnings), "came second in its pair was ") {
			told++
		}
		for i := range pairs {
			pairs[i].First = ""
		}
		if verdict.Judge(capacity(), pairs, verdict.Fixed(6)).Kind == verdict.Same {
			blind++
		}
	}
	t.Logf("same in %d, without the order in %d, told in %d of %d", same, blind, told, times)
	if same < times*85/100 || blind > times*65/100 || told < times/4 {
		t.Errorf("same in %d, without the order in %d, told in %d of %d", same, blind, told, times)
	}
}

// TestOrderNeverMovesTheMiddle checks that a balanced comparison has the same effect with the order
// as without, and fewer degrees of freedom.
func TestOrderNeverMovesTheMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 11))
	for range 50 {
		pairs := inOrder(rng, 8, 0.02, 0.03)
		with := verdict.Judge(capacity(), pairs, verdict.Fixed(8))
		for i := range pairs {
			pairs[i].First = ""
		}
		without := verdict.Judge(capacity(), pairs, verdict.Fixed(8))
		if math.Abs(with.Effect-without.Effect) > 1e-12 || without.Order != nil {
			t.Fatalf("%v with, %v without", with.Effect, without.Effect)
		}
	}
}

// TestUnbalancedOrderIsTold holds the fallback: one block of one order gives no order effect.
func TestUnbalancedOrderIsTold(t *testing.T) {
	pairs := inOrder(rand.New(rand.NewPCG(16, 12)), 6, 0.01, 0)
	for i := range pairs {
		pairs[i].First = verdict.FirstBase
	}
	pairs[2].First = verdict.FirstNew
	r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
	if want := "base came first in 5 of 6 pairs: the effect of coming second cannot be told from that of the arm"; r.Order != nil ||
		!strings.Contains(fmt.Sprint(r.Warnings), want) {
		t.Errorf("order %v, warnings %q", r.Order, r.Warnings)
	}
	pairs[0].First = "neither"
	if r := verdict.Judge(capacity(), pairs, verdict.Fixed(6)); r.Kind != verdict.Invalid {
		t.Errorf("%s", r.Sentence)
	}
}

// TestAnArmThatVariesMoreIsTold holds the finding on run-to-run variance: an arm four times as
// restless is named, as a warning that leaves the verdict alone.
func TestAnArmThatVariesMoreIsTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 13))
	told, among := 0, 0
	for range 100 {
		var pairs []verdict.Pair
		for i := range 12 {
			pairs = append(pairs, verdict.Pair{
				Block: i + 1,
				Base:  16000 * math.Exp(0.01*rng.NormFloat64()),
				New:   16000 * math.Exp(0.04*rng.NormFloat64()),
			})
		}
		r := verdict.Judge(capacity(), pairs, verdict.Fixed(12))
		if strings.Contains(
			fmt.Sprint(r.Warnings),
			"runs of new vary more than runs of base: sd ",
		) != r.Spread.Found {
			t.Fatalf("%+v %q", r.Spread, r.Warnings)
		}
		if r.Spread.Found {
			told++
		}
		// Among twenty endpoints the same p-value is not a finding.
		if r.Spread.Found && r.Spread.P > 0.003 {
			among++
			results := []verdict.Result{r}
			for range 19 {
				results = append(results, verdict.Judge(failures(), nil, verdict.Options{}))
			}
			v := verdict.Combine("", results)
			if v.Results[0].Spread.Found || len(v.Results[0].Warnings) >= len(r.Warnings) ||
				!r.Spread.Found {
				t.Fatalf("among 20: %+v %q", v.Results[0].Spread, v.Results[0].Warnings)
			}
		}
	}
	if told < 75 || among < 3 {
		t.Errorf("told in %d of 100, %d of them not among twenty", told, among)
	}
}
