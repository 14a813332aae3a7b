package comparison

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/stats"
)

// typicalTimes makes TestTypicalStudy print the table of docs/adr/0036-typical.md.
var typicalTimes = flag.Int("typical", 0,
	"simulate so many comparisons for each row of docs/adr/0036-typical.md (300: six minutes)")

// A typicalWorld is a simulated comparison of six blocks.
type typicalWorld struct {
	family     string
	kinds      int
	ops        int     // of a run; their counts by kind follow Zipf's law
	deployment float64 // sd of ln(new/base) between deployments
	mix        float64 // the new arm does the slowest kind e^mix times as often, the fastest e^-mix
	change     func(kind int, ms float64, rng *rand.Rand) float64
}

func latencyFamilies() []string {
	return []string{"lognormal", "cache", "heavy tail", "sawtooth", "few"}
}

// drawTime draws a response time in milliseconds. at is the place in the run, from 0 to 1.
func drawTime(rng *rand.Rand, family string, median, hits, at float64) float64 {
	switch family {
	case "cache": // hits and misses
		if rng.Float64() < hits {
			return 0.5 * math.Exp(0.3*rng.NormFloat64())
		}
		return 20 * math.Exp(0.3*rng.NormFloat64())
	case "heavy tail": // Pareto, without a variance
		return median * math.Pow(1-rng.Float64(), -1/1.2)
	case "sawtooth": // of a garbage collector
		phase := math.Mod(3.3*at, 1)
		ms := median * math.Exp(0.3*rng.NormFloat64()) * (1 + 1.5*phase)
		if phase > 0.95 {
			ms += 80
		}
		return ms
	}
	return median * math.Exp(0.6*rng.NormFloat64())
}

var typicalEndpoint = plan.Endpoint{Name: "typical(op)", Stat: plan.Typical, Of: "op",
	Better: plan.Lower, Margin: 0.0005}

// simulate draws the runs of a comparison.
func (w typicalWorld) simulate(rng *rand.Rand) []numbersPair {
	var zipf float64
	for k := range w.kinds {
		zipf += 1 / float64(k+1)
	}
	ops := make([]float64, w.kinds)
	level := make([]float64, w.kinds)
	hits := make([]float64, w.kinds)
	for k := range w.kinds {
		ops[k] = float64(w.ops) / zipf / float64(k+1)
		if w.family == "few" {
			ops[k] = max(20, 500/float64(k+1))
		}
		level[k], hits[k] = rng.Float64(), 0.3+0.6*rng.Float64()
	}
	run := func(fresh bool) Numbers {
		merged := map[string]*measure.Window{}
		deployed, phase := math.Exp(w.deployment/math.Sqrt2*rng.NormFloat64()), rng.Float64()
		for k := range w.kinds {
			mean := ops[k]
			if fresh {
				mean *= math.Exp(w.mix * (2*level[k] - 1))
			}
			win := measure.NewWindow(fmt.Sprintf("kind%02d", k))
			ratio := hits[k] + 0.02*rng.NormFloat64()
			n := int(max(0, mean+math.Sqrt(mean)*rng.NormFloat64()+0.5))
			for i := range n {
				at := phase + float64(i)/float64(n)
				ms := drawTime(rng, w.family, 5*math.Pow(40, level[k]), ratio, at)
				if fresh && w.change != nil {
					ms = w.change(k, ms, rng)
				}
				win.Response.Record(time.Duration(deployed * ms * float64(time.Millisecond)))
			}
			merged[win.Name] = win
		}
		out := Numbers{Values: map[string]float64{}, Had: map[string]uint64{}}
		out.keepKinds(typicalEndpoint, merged)
		return out
	}
	var both []numbersPair
	for b := range 6 {
		both = append(both, numbersPair{block: b + 1, base: run(false), fresh: run(true)})
	}
	return both
}

// judgeTypical judges the pairs by the shift of each.
func judgeTypical(pairs []numbersPair,
	shift func(p numbersPair) (base, fresh float64)) verdict.Result {
	var out []verdict.Pair
	for _, p := range pairs {
		base, fresh := shift(p)
		out = append(out, verdict.Pair{Block: p.block, Base: base, New: fresh})
	}
	return verdict.Judge(typicalEndpoint, out, verdict.Fixed(6))
}

// TestTypicalHoldsItsLevel compares equal builds of five families of response times, in
// deployments that differ by 5 % and at different mixes: at most 6 % false alarms, within chance,
// and no bias.
func TestTypicalHoldsItsLevel(t *testing.T) {
	const times = 40
	rng := rand.New(rand.NewPCG(3, 4))
	wrong, n := 0, 0
	for _, family := range latencyFamilies() {
		sum := 0.0
		for range times {
			w := typicalWorld{family: family, ops: 1500, deployment: 0.05, mix: 0.7}
			w.kinds = 10 + rng.IntN(31)
			pairs, _ := withTypical(typicalEndpoint, w.simulate(rng))
			r := judgeTypical(pairs, func(p numbersPair) (base, fresh float64) {
				return p.base.Values[typicalEndpoint.Name], p.fresh.Values[typicalEndpoint.Name]
			})
			if r.Kind == verdict.Worse || r.Kind == verdict.Better {
				wrong++
			}
			n++
			sum += math.Log1p(r.Effect)
		}
		if bias := sum / times; math.Abs(bias) > 4*0.06/math.Sqrt(6*times) {
			t.Errorf("%s: %+.1f %% without a change", family, 100*bias)
		}
	}
	if share := float64(wrong) / float64(n); share > 0.06+2*math.Sqrt(0.05*0.95/float64(n)) {
		t.Errorf("%d of %d equal builds differ", wrong, n)
	}
}

// trimmed returns the mean of the logarithms without the share cut on each side.
func trimmed(c stats.SparseCounts, cut float64) float64 {
	from, to := cut*c.Total(), (1-cut)*c.Total()
	sum, seen := 0.0, 0.0
	for i, n := range c.N {
		if part := min(seen+float64(n), to) - max(seen, from); part > 0 {
			sum += part * math.Log(c.Value[i])
		}
		seen += float64(n)
	}
	return sum / (to - from)
}

// pooledMedian returns the logarithm of the median of all kinds together.
func pooledMedian(n Numbers) float64 {
	count := map[float64]uint32{}
	for _, c := range n.Kinds {
		for i, v := range c.Value {
			count[v] += c.N[i]
		}
	}
	var all stats.SparseCounts
	for v := range count {
		all.Value = append(all.Value, v)
	}
	slices.Sort(all.Value)
	for _, v := range all.Value {
		all.N = append(all.N, count[v])
	}
	return all.LogMedian()
}

// typicalCandidates are the statistics that were compared; all but the first are of each kind
// against itself.
func typicalCandidates(weights map[string]float64) (names []string,
	shifts []func(p numbersPair) (base, fresh float64)) {
	add := func(name string, location func(Numbers) float64) {
		names = append(names, name)
		shifts = append(shifts, func(p numbersPair) (base, fresh float64) {
			return math.Exp(location(p.base)), math.Exp(location(p.fresh))
		})
	}
	each := func(location func(stats.SparseCounts) float64) func(Numbers) float64 {
		return func(n Numbers) (sum float64) {
			for kind, w := range weights {
				sum += w * location(n.Kinds[kind])
			}
			return sum
		}
	}
	add("p50(op)", pooledMedian)
	add("median", each(stats.SparseCounts.LogMedian))
	add("trimmed 25 %", each(func(c stats.SparseCounts) float64 { return trimmed(c, 0.25) }))
	add("trimmed 10 %", each(func(c stats.SparseCounts) float64 { return trimmed(c, 0.1) }))
	add("mean of logs", each(func(c stats.SparseCounts) float64 { return trimmed(c, 0) }))
	names = append(names, "Hodges-Lehmann")
	shifts = append(shifts, func(p numbersPair) (base, fresh float64) {
		return p.typical(weights, map[string][]float64{}, map[string][]float64{})
	})
	return names, shifts
}

// TestTypicalStudy prints the table of the record, of -typical comparisons a row.
func TestTypicalStudy(t *testing.T) {
	if *typicalTimes == 0 {
		t.Skip("a study: -typical=400 -v")
	}
	type change func(kind int, ms float64, rng *rand.Rand) float64
	slower := func(_ int, ms float64, _ *rand.Rand) float64 { return 1.05 * ms }
	delayed := func(_ int, ms float64, _ *rand.Rand) float64 { return ms + 20 }
	doubled := func(kind int, ms float64, _ *rand.Rand) float64 {
		if kind == 4 {
			ms *= 2
		}
		return ms
	}
	tail := func(_ int, ms float64, rng *rand.Rand) float64 {
		if rng.Float64() < 0.05 {
			ms *= 4
		}
		return ms
	}
	changes := []struct {
		name        string
		mix         float64
		deployments []float64
		change      change
	}{
		{"none", 0, []float64{0.02, 0.07}, nil},
		{"none, other mix", 0.7, []float64{0.02}, nil},
		{"all +5 %", 0, []float64{0.02, 0.05}, slower},
		{"all +20 ms", 0, []float64{0.07}, delayed},
		{"one kind doubled", 0, []float64{0.02}, doubled},
		{"one in 20 four times as long", 0, []float64{0.02}, tail},
	}
	var b strings.Builder
	for _, c := range changes {
		for _, deployment := range c.deployments {
			for _, family := range latencyFamilies() {
				w := typicalWorld{family: family, ops: 6000, deployment: deployment, mix: c.mix}
				w.change = c.change
				fmt.Fprintf(&b, "| %s | %.0f %% | %s |%s\n", c.name, 100*deployment, family,
					w.studied(*typicalTimes))
			}
		}
	}
	names, _ := typicalCandidates(nil)
	t.Logf("\n| change | sd | times | %s |\n%s", strings.Join(names, " | "), b.String())
}

// studied returns the cells of one row: how often each statistic finds a difference, its sd
// between blocks and its mean.
func (w typicalWorld) studied(times int) string {
	rng := rand.New(rand.NewPCG(5, 6))
	var found, mean, variance [6]float64
	for range times {
		w.kinds = 10 + rng.IntN(31)
		pairs := w.simulate(rng)
		weights, _ := typicalKinds(typicalEndpoint, pairs)
		_, shifts := typicalCandidates(weights)
		for i, shift := range shifts {
			r := judgeTypical(pairs, shift)
			if r.Kind == verdict.Worse || r.Kind == verdict.Better {
				found[i]++
			}
			mean[i] += math.Log1p(r.Effect)
			variance[i] += r.SD * r.SD
		}
	}
	out, n := "", float64(times)
	for i := range found {
		out += fmt.Sprintf(" %.0f %% (%+.1f %%, sd %.1f) |", 100*found[i]/n,
			100*math.Expm1(mean[i]/n), 100*math.Sqrt(variance[i]/n))
	}
	return out
}
