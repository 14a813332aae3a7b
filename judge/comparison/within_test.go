package comparison

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/stats"
)

var (
	costEndpoint = plan.Endpoint{Name: "cost(app)", Stat: "cost", Of: "app"}
	p95Endpoint  = plan.Endpoint{Name: "p95(post)", Stat: "p95", Of: "post"}
)

// noisy is the stretches of a run whose cost varies by sd around a level, with a drift that both
// arms share.
func noisy(rng *rand.Rand, n int, level, sd float64) []Portion {
	out := make([]Portion, n)
	for i := range out {
		host := math.Exp(0.5 * math.Sin(float64(i)))
		out[i] = Portion{Sum: 100 * level * host * math.Exp(sd*rng.NormFloat64()), Count: 100}
	}
	return out
}

// TestWithin finds the variance of a block's difference from its inside: noise shrinks with the
// number of stretches, and drift that both arms share is not in it.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const blocks, sd = 2000, 0.02
	var mean, square, variance float64
	for range blocks {
		d, v, ok := Within(costEndpoint, noisy(rng, 40, 2, sd), noisy(rng, 40, 2*1.05, sd))
		if !ok {
			t.Fatal("the inside is not known")
		}
		mean = mean + d/blocks
		square = square + d*d/blocks
		variance = variance + v/blocks
	}
	if math.Abs(mean-math.Log(1.05)) > 0.001 {
		t.Errorf("mean difference %v", mean)
	}
	if real := square - mean*mean; math.Abs(variance/real-1) > 0.15 {
		t.Errorf("variance %.3g, and differences vary by %.3g", variance, real)
	} else if want := 2 * sd * sd / 40; math.Abs(real/want-1) > 0.3 { // of all 40 parts, which the host weights unevenly
		t.Errorf("differences vary by %.3g, want %.3g", real, want)
	}
}

func TestWithinOfQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	times := func(level float64, ops int) []Portion {
		out := make([]Portion, 12)
		for i := range out {
			out[i].Times = new(measure.Histogram)
			for range ops {
				out[i].Times.Record(time.Duration(
					level * math.Exp(0.3*rng.NormFloat64()) * float64(time.Millisecond),
				))
			}
		}
		return out
	}
	d, v, ok := Within(p95Endpoint, times(5, 2000), times(6, 2000))
	if !ok || math.Abs(d-math.Log(1.2)) > 0.03 || !(v > 0 && v < 0.0004) {
		t.Errorf("difference %v, variance %v, %v", d, v, ok)
	}
	few := int(stats.LeastOps(0.95)) / 2
	if _, _, ok := Within(p95Endpoint, times(5, few), times(6, 2000)); ok {
		t.Errorf("stretches of %d operations have a p95", few)
	}
}

func TestWithinIsNotKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	good, gap := noisy(rng, 20, 1, 0.01), noisy(rng, 20, 1, 0.01)
	gap[6], gap[7] = Portion{}, Portion{}
	capacity := plan.Endpoint{Name: "capacity", Stat: "capacity"}
	for name, tt := range map[string]struct {
		e           plan.Endpoint
		base, fresh []Portion
	}{
		"none":                 {costEndpoint, nil, good},
		"too short":            {costEndpoint, good[:4], good},
		"a stretch without":    {costEndpoint, good, gap},
		"no mean, no quantile": {capacity, good, good},
	} {
		if d, v, ok := Within(tt.e, tt.base, tt.fresh); ok {
			t.Errorf("%s: %v, %v", name, d, v)
		}
	}
	if _, _, ok := Within(costEndpoint, good, good[:7]); !ok {
		t.Error("seven parts that both have are too few")
	}
}

// TestLevelsOfAResult come of the stretches of all of its pairs.
func TestLevelsOfAResult(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	e := costEndpoint
	e.Better = plan.Lower
	e.Margin = 0.05
	e.Unit = "ms"
	var both []numbersPair
	var pairs []verdict.Pair
	for b := 1; b <= 6; b++ {
		p := numbersPair{block: b}
		for _, n := range []*Numbers{&p.base, &p.fresh} {
			n.Measured = 20 * time.Second
			n.Portions = map[string][]Portion{e.Name: noisy(rng, 20, 1, 0.05)}
		}
		both = append(both, p)
		pairs = append(pairs, verdict.Pair{
			Block: b,
			Base:  1,
			New:   math.Exp(0.03 * rng.NormFloat64()),
		})
	}
	r := verdict.Judge(e, pairs, verdict.Fixed(6))
	tellLevels(&r, both)
	if l := r.Levels; l == nil || l.Measure != 20 || l.Within < 0.01 || l.Within > 0.025 {
		t.Fatalf("%+v", r.Levels)
	}
	r.Levels, both[2].fresh.Portions = nil, nil
	if tellLevels(&r, both); r.Levels != nil {
		t.Errorf("a run took no turns: %+v", r.Levels)
	}
}
