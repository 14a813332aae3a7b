package comparison

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/record"
)

// kindNames are the kinds of operations of the tests below, from fast to slow.
var kindNames = []string{"ping", "read", "list", "search"}

// kindWindows returns the windows of a second: counts of each kind, whose times are spread around
// 5, 17, 58 and 200 ms and changed by change.
func kindWindows(rng *rand.Rand, counts []int, change func(ms float64) float64) []*measure.Window {
	var out []*measure.Window
	for i, n := range counts {
		w := measure.NewWindow(kindNames[i])
		for range n {
			ms := change(5 * math.Pow(40, float64(i)/3) * math.Exp(0.4*rng.NormFloat64()))
			w.Response.Record(time.Duration(ms * float64(time.Millisecond)))
		}
		w.Classes[measure.OK] = uint64(n)
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *measure.Window) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(out, func(w *measure.Window) bool { return w.Count() == 0 })
}

// typicalOf carries out and judges a comparison whose runs have these operations beside posts that
// are alike.
func typicalOf(t *testing.T,
	extra func(rng *rand.Rand, c record.ComparisonRun, second int) []*measure.Window) Judgement {
	t.Helper()
	b := newBench(t)
	b.extra = func(c record.ComparisonRun, s int) []*measure.Window { return extra(b.rng, c, s) }
	c := b.compare(0)
	arms, _ := b.judge(c)
	return arms[0]
}

// TestTypicalIsFreeOfTheMix does the slow kinds of operations four times as often in the new arm:
// no kind has changed.
func TestTypicalIsFreeOfTheMix(t *testing.T) {
	j := typicalOf(t, func(rng *rand.Rand, c record.ComparisonRun, _ int) []*measure.Window {
		counts := []int{400, 200, 50, 50}
		if c.Arm == "new" {
			counts = []int{100, 50, 200, 200}
		}
		return kindWindows(rng, counts, func(ms float64) float64 { return ms })
	})
	r := resultOf(t, j.Verdict, "typical(op)")
	if r.Kind != verdict.Same || math.Abs(r.Effect) > 0.01 || r.N != 6 {
		t.Errorf("%s", r.Sentence)
	}
	if r.Kinds == nil || r.Kinds.Compared != 5 || r.Kinds.Share != 1 {
		t.Errorf("kinds %+v, want all five", r.Kinds)
	}
	ratio := r.New.Mean / r.Base.Mean
	if math.Abs(ratio-1-r.Effect) > 1e-9 || r.Base.Mean < 5 || r.Base.Mean > 60 {
		t.Errorf("base %v, new %v: want the ratio %v", r.Base.Mean, r.New.Mean, 1+r.Effect)
	}
}

// TestTypicalFindsADelayOfEveryRequest adds 20 ms to each request, of kinds that take 5 to 200 ms.
func TestTypicalFindsADelayOfEveryRequest(t *testing.T) {
	j := typicalOf(t, func(rng *rand.Rand, c record.ComparisonRun, _ int) []*measure.Window {
		return kindWindows(rng, []int{8, 8, 8, 8}, func(ms float64) float64 {
			if c.Arm == "new" {
				ms += 20
			}
			return ms
		})
	})
	r := resultOf(t, j.Verdict, "typical(op)")
	if r.Kind != verdict.Worse || j.Verdict.Kind != verdict.Worse || r.Effect < 0.03 {
		t.Errorf("%s", r.Sentence)
	}
	for _, p := range r.Pairs {
		if p.New <= p.Base {
			t.Errorf("block %d: %v and %v", p.Block, p.Base, p.New)
		}
	}
	if !strings.Contains(j.Verdict.Lead, "typical response time of all operations ") {
		t.Errorf("%q", j.Verdict.Lead)
	}
}

// TestTheNarrowerRangeIsSaid has kinds whose changes are alike in milliseconds and as ratios.
func TestTheNarrowerRangeIsSaid(t *testing.T) {
	weights, changed := map[string]float64{}, []verdict.KindShift{}
	same, other := map[string][]float64{}, map[string][]float64{}
	for i, kind := range []string{"a", "b", "c"} {
		weights[kind] = 1.0 / 3
		changed = append(changed, verdict.KindShift{Kind: kind})
		same[kind] = []float64{math.Log(1.5)}
		other[kind] = []float64{math.Log(1.5) + 0.02*float64(i)}
	}
	if got := alikeKinds(weights, same, other, changed); got == nil || got.Unit != "" {
		t.Errorf("%+v, want the ratios", got)
	}
	if got := alikeKinds(weights, other, same, changed); got == nil || got.Unit != "ms" {
		t.Errorf("%+v, want the milliseconds", got)
	}
}

// TestWhatKindsOfOperationsHaveInCommon: nine in ten operations take as many milliseconds longer, or
// as many times as long, or have nothing in common.
func TestWhatKindsOfOperationsHaveInCommon(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(name string, ms float64) float64
		want   *verdict.AlikeKinds
	}{
		{"nothing", func(_ string, ms float64) float64 { return ms }, nil},
		{"20 ms", func(_ string, ms float64) float64 { return ms + 20 },
			&verdict.AlikeKinds{Kinds: 4, Least: 20, Most: 20, Unit: "ms"}},
		{"a rare kind twice", func(name string, ms float64) float64 {
			if name == "search" {
				return ms + 40
			}
			return ms + 20
		}, &verdict.AlikeKinds{Kinds: 3, Least: 20, Most: 20, Unit: "ms"}},
		{"half as long", func(_ string, ms float64) float64 { return ms / 2 },
			&verdict.AlikeKinds{Kinds: 4, Least: -0.5, Most: -0.5}},
		{"one kind", func(name string, ms float64) float64 {
			if name == "read" {
				return ms + 20
			}
			return ms
		}, nil},
		{"three kinds with two thirds of the operations", func(name string, ms float64) float64 {
			if name == "read" {
				return ms
			}
			return ms + 20
		}, nil},
	} {
		j := typicalOf(t, func(rng *rand.Rand, run record.ComparisonRun, _ int) []*measure.Window {
			var out []*measure.Window
			for i, n := range []int{1400, 1400, 1400, 80} {
				counts := make([]int, len(kindNames))
				counts[i] = n
				out = append(out, kindWindows(rng, counts, func(ms float64) float64 {
					if run.Arm == "new" {
						return c.change(kindNames[i], ms)
					}
					return ms
				})...)
			}
			return out
		})
		k := resultOf(t, j.Verdict, "typical(op)").Kinds
		switch got := k.Alike; {
		case (got == nil) != (c.want == nil):
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		case got == nil:
		case got.Kinds != c.want.Kinds || got.Unit != c.want.Unit || got.Most-got.Least < 0 ||
			math.Abs(got.Least/c.want.Least-1) > 0.2 || math.Abs(got.Most/c.want.Most-1) > 0.2:
			t.Errorf("%s: %+v, want about %+v", c.name, *got, *c.want)
		}
	}
}

// TestTypicalLeavesOutKindsInAllBlocks: a kind that one arm alone has, and one that is too rare in
// a single run, count in no block.
func TestTypicalLeavesOutKindsInAllBlocks(t *testing.T) {
	slow := func(c record.ComparisonRun) float64 {
		if c.Arm == "new" {
			return 3
		}
		return 1
	}
	j := typicalOf(t, func(rng *rand.Rand, c record.ComparisonRun, s int) []*measure.Window {
		counts := []int{100, 0, 4, 0} // 24 lists in a run
		if c.Arm == "new" {
			counts[1] = 300
		}
		if c.Block == 4 && c.Arm == "base" && s > 0 {
			counts[2] = 1 // 9 in this one
		}
		all := kindWindows(rng, counts, func(ms float64) float64 { return ms })
		for _, w := range all {
			if w.Name == "list" { // which would make the arm worse
				w.Response.Reset()
				ms := time.Duration(50*slow(c)) * time.Millisecond
				w.Response.RecordN(ms, uint32(w.Count()))
			}
		}
		return all
	})
	r := resultOf(t, j.Verdict, "typical(op)")
	if r.Kind != verdict.Same {
		t.Errorf("%s", r.Sentence)
	}
	left := []string{"list", "read"}
	k := r.Kinds
	if k == nil || k.Compared != 2 || !slices.Equal(k.Left, left) || k.Share < 0.7 ||
		k.Share > 0.75 {
		t.Errorf("kinds %+v", k)
	}
	text := fmt.Sprint(r.Warnings)
	if !strings.Contains(text, "left out, with fewer than 10") {
		t.Errorf("warnings %q", text)
	}
}

// TestTypicalOfTooFewOperations has nothing to compare by: deliveries of which no run has ten, and
// deliveries that one arm has lost.
func TestTypicalOfTooFewOperations(t *testing.T) {
	deliveries := func(n int) []*measure.Window {
		return []*measure.Window{opsOf("delivery", 5*time.Millisecond, n)}
	}
	j := typicalOf(t, func(_ *rand.Rand, _ record.ComparisonRun, _ int) []*measure.Window {
		return deliveries(1)
	})
	why := j.Skipped["typical(delivery)"]
	if !strings.Contains(why, "10 response times in every run") {
		t.Errorf("skipped: %v", j.Skipped)
	}
	j = typicalOf(t, func(_ *rand.Rand, c record.ComparisonRun, _ int) []*measure.Window {
		if c.Arm == "new" {
			return nil
		}
		return deliveries(50)
	})
	r := resultOf(t, j.Verdict, "typical(delivery)")
	lost := warned(r, "one arm has lost them")
	if r.Kind != verdict.Invalid || !lost {
		t.Errorf("%+v", r)
	}
}

// TestTypicalNamesTheOperation makes one kind of operations half as slow again: it is named with
// its own change, and with nearly all of the endpoint's.
func TestTypicalNamesTheOperation(t *testing.T) {
	j := typicalOf(t, func(rng *rand.Rand, c record.ComparisonRun, _ int) []*measure.Window {
		factor := 1.0
		if c.Arm == "new" {
			factor = 1.5
		}
		return append(
			kindWindows(rng, []int{60, 60, 0, 60}, func(ms float64) float64 { return ms }),
			kindWindows(rng, []int{0, 0, 60, 0}, func(ms float64) float64 { return factor * ms })...)
	})
	r := resultOf(t, j.Verdict, "typical(op)")
	if r.Kind != verdict.Worse || r.Kinds == nil || len(r.Kinds.Changed) == 0 {
		t.Fatalf("%s: %+v", r.Sentence, r.Kinds)
	}
	if k := r.Kinds.Changed[0]; k.Kind != "list" || math.Abs(k.Effect-0.5) > 0.05 ||
		k.Lo > 0.5 || k.Hi < 0.5 || math.Abs(k.Share-1) > 0.1 {
		t.Errorf("first of those that changed: %+v", k)
	}
}

// TestNoOperationIsNamedByChance names kinds of equal builds in one of twenty comparisons: 20 kinds
// of different noise, 6 blocks, 2,000 comparisons.
func TestNoOperationIsNamedByChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const comparisons = 2000
	named := 0
	for range comparisons {
		weights, shifts := map[string]float64{}, map[string][]float64{}
		for k := range 20 {
			kind := fmt.Sprint("kind ", k)
			weights[kind] = 1.0 / 20
			for range 6 {
				shifts[kind] = append(shifts[kind], 0.01*float64(1+k)*rng.NormFloat64())
			}
		}
		if len(changedKinds(weights, shifts)) > 0 {
			named++
		}
	}
	if share := float64(named) / comparisons; share > 0.065 || share < 0.035 {
		t.Errorf("kinds are named in %.1f %% of the comparisons, want 5", 100*share)
	}
}
