package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// thirdLost are six searches of a build that lost 36 % of its capacity, as a demo found them.
func thirdLost() []verdict.Pair {
	return []verdict.Pair{
		{
			Block: 1,
			Base:  1500,
			New:   962,
		}, {Block: 2, Base: 1521, New: 955}, {Block: 3, Base: 1488, New: 940},
		{
			Block: 4,
			Base:  1510,
			New:   981,
		}, {Block: 5, Base: 1475, New: 966}, {Block: 6, Base: 1530, New: 977},
	}
}

// TestABoundThatAgreesDoesNotLoseTheVerdict checks that one, two or three ">=" in front of the
// base's number, which can only make the loss larger, leave a loss of 36 % in six of six pairs
// worse: by itself, and among two endpoints.
func TestABoundThatAgreesDoesNotLoseTheVerdict(t *testing.T) {
	for bounds := range 4 {
		pairs := thirdLost()
		for i := range bounds {
			pairs[2*i].BaseCensored = true
		}
		r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
		if r.Kind != verdict.Worse || !r.HasEffect() || !r.HasInterval() {
			t.Errorf("%d bounds: %s", bounds, r.Sentence)
		}
		if !(r.Lo < r.Effect && r.Effect < r.Hi && r.Hi < -0.25) || math.Abs(r.Effect+0.36) > 0.01 {
			t.Errorf("%d bounds: %.3f [%.3f, %.3f]", bounds, r.Effect, r.Lo, r.Hi)
		}
		if most := []float64{1e-4, 2e-4, 2e-3, 2e-2}[bounds]; !(r.P < most) {
			t.Errorf("%d bounds: p = %v, want below %v", bounds, r.P, most)
		}
		errors := verdict.Judge(failures(), func() (out []verdict.Pair) {
			for i := range 6 {
				out = append(out, verdict.Pair{
					Block:   i + 1,
					Base:    0.01,
					New:     0.012,
					BaseOps: 50_000,
					NewOps:  50_000,
				})
			}
			return out
		}(), verdict.Fixed(6))
		v := verdict.Combine("", []verdict.Result{r, errors})
		if v.Kind != verdict.Worse {
			t.Errorf("%d bounds among two endpoints: %s", bounds, v.Lead)
		}
		if bounds > 0 && !strings.Contains(r.Sentence, "of them only ") {
			t.Errorf("%d bounds: the sentence does not name them: %s", bounds, r.Sentence)
		}
	}
}

// TestABoundThatHidesTheOrderDoesNotLoseTheVerdict has a search of the base that stopped at 60 % of
// its number, below the new arm's.
func TestABoundThatHidesTheOrderDoesNotLoseTheVerdict(t *testing.T) {
	pairs := thirdLost()
	pairs[3].Base, pairs[3].BaseCensored = 900, true
	if r := verdict.Judge(capacity(), pairs, verdict.Fixed(6)); r.Kind != verdict.Worse {
		t.Errorf("%s", r.Sentence)
	}
	pairs = thirdLost()
	// it may have been as good as the base, or better
	pairs[3].New, pairs[3].NewCensored = 900, true
	if r := verdict.Judge(capacity(), pairs, verdict.Fixed(6)); r.Kind != verdict.Worse {
		t.Errorf("%s", r.Sentence)
	}
}

// TestBoundsAreNeverTheSame checks that equal numbers with a bound among them are not called the
// same, nor worse for a small shift.
func TestBoundsAreNeverTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 40))
	for range 500 {
		n := 6 + rng.IntN(7)
		pairs := world{sd: 0.001 + 0.01*rng.Float64(), blind: true}.session(rng, n)[0]
		shift := 0.05 * (rng.Float64() - 0.5)
		for i := range pairs {
			pairs[i].New *= 1 + shift
		}
		for i := range 1 + rng.IntN(n) {
			pairs[i].BaseCensored = rng.IntN(2) == 0
			pairs[i].NewCensored = !pairs[i].BaseCensored || rng.IntN(4) == 0
		}
		r := verdict.Judge(capacity(), pairs, verdict.Fixed(n))
		if r.Kind == verdict.Same {
			t.Fatalf("%s", r.Sentence)
		}
		if s := stats.TInterval(completed(pairs), 0.90); (r.Kind == verdict.Worse || r.Kind == verdict.Better) &&
			s.Inside(-math.Log(1.05), math.Log(1.05)) {
			t.Fatalf("with the bounds as numbers it is the same: %s", r.Sentence)
		}
	}
}

// completed takes bounds for numbers.
func completed(pairs []verdict.Pair) stats.Sample {
	var base, fresh []float64
	for _, p := range pairs {
		base, fresh = append(base, p.Base), append(fresh, p.New)
	}
	s, err := stats.LogRatios(base, fresh)
	if err != nil {
		panic(err)
	}
	return s
}

// TestMostlyBoundsLeaveTheOrder holds the sign test and its one end, and that a hidden order counts
// against.
func TestMostlyBoundsLeaveTheOrder(t *testing.T) {
	pairs := thirdLost()
	for i := range 5 {
		pairs[i].BaseCensored = true
	}
	r := verdict.Judge(capacity(), pairs, verdict.Fixed(6))
	if r.Kind != verdict.Worse || r.HasEffect() || r.HasInterval() ||
		!strings.Contains(r.Sentence, "a change of at most -34.51 %") {
		t.Errorf("%s", r.Sentence)
	}
	pairs[0].Base = 900
	if r := verdict.Judge(capacity(), pairs, verdict.Fixed(6)); r.Kind != verdict.Inconclusive ||
		!strings.Contains(fmt.Sprint(r.Warnings), "1 pair does not show which arm is the higher") {
		t.Errorf("%s %q", r.Sentence, r.Warnings)
	}
}
