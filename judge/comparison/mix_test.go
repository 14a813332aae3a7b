package comparison

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// TestMixDoesNotDecide compares a build with itself whose new arm does 40 % more lookups, which
// cost a tenth of a post, in every block: CPU time for each operation is 11 % lower, and no
// operation costs less. The report says what the mix makes.
func TestMixDoesNotDecide(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	arms, _ := b.judge(c, func(r *record.Run) ([]SecondaryValue, error) {
		h := fnv.New64()
		_, _ = h.Write([]byte(r.Manifest.ID))
		rng := rand.New(rand.NewPCG(46, h.Sum64()))
		lookups := 60.0
		for _, run := range c.Runs {
			if run.Run == r.Manifest.ID && run.Arm == "new" {
				lookups *= 1.4
			}
		}
		m := CostMix{Done: map[string]float64{}, Part: map[string][]float64{}}
		ops, cpu := 0.0, 0.0
		for range 20 {
			sum := rng.NormFloat64()
			for _, k := range []struct {
				kind    string
				n, cost float64
			}{{"post", 100, 2}, {"lookup", lookups, 0.2}, {"search", 20, 4}} {
				n := math.Round(k.n + math.Sqrt(k.n)*rng.NormFloat64())
				m.Done[k.kind] += n
				m.Part[k.kind] = append(m.Part[k.kind], n)
				ops += n
				sum += n * k.cost
			}
			m.CPU = append(m.CPU, sum)
			cpu += sum
		}
		return []SecondaryValue{{Name: "cost(app)", Unit: "ms", Better: plan.Lower,
			Value: cpu / ops, Alone: true, Mix: &m}}, nil
	})
	for _, j := range arms {
		r := resultOf(t, j.Verdict, "cost(app)")
		if r.Kind != verdict.Same || math.Abs(r.Effect) > 0.01 {
			t.Errorf("cost(app) is %s by %+.3f", r.Kind, r.Effect)
		}
		if r.Mix == nil || r.Mix.Kinds != 3 || math.Abs(r.Mix.Removed+0.11) > 0.02 {
			t.Errorf("mix %+v", r.Mix)
		}
	}
}
