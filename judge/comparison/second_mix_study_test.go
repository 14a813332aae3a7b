package comparison

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const mixCost = "cost(app)"

// A mixArm is what the runs of an arm do: by kind, the mean number of operations in a part, and
// the CPU milliseconds that one costs.
type mixArm struct {
	often, costs []float64
}

// perOperation returns the CPU milliseconds of an operation of the arm in a mix.
func (a mixArm) perOperation(often []float64) float64 {
	cpu, ops := 0.0, 0.0
	for k, n := range often {
		cpu += n * a.costs[k]
		ops += n
	}
	return cpu / ops
}

// A mixWorld is a comparison with known costs.
type mixWorld struct {
	arms  [2]mixArm
	parts int
	still bool // all parts of a run have the operations of its first
	// noise is the standard deviation of ln of the CPU time of a part, and level that of a run.
	noise, level float64
	// beside changes the CPU time of the parts of a run; the first two are before its phase. mean
	// is their mean.
	beside func(rng *rand.Rand, cpu []float64, mean float64)
}

// mixBefore is the number of parts of a simulation before the phase.
const mixBefore = 2

// newMixWorld draws a comparison of equal arms: 20 kinds with shares like 1, 1/2, 1/3 and so on,
// and hundreds of operations in each of 20 to 60 parts.
func newMixWorld(rng *rand.Rand) mixWorld {
	const kinds = 20
	w := mixWorld{parts: 20 + rng.IntN(41), noise: 0.02, level: 0.003}
	ops := 300 + 600*rng.Float64()
	total := 0.0
	for k := range kinds {
		total += 1 / float64(k+1)
	}
	for k := range kinds {
		w.arms[0].often = append(w.arms[0].often, ops/total/float64(k+1))
		w.arms[0].costs = append(w.arms[0].costs, math.Exp(1.2*rng.NormFloat64()))
	}
	w.arms[1] = mixArm{slices.Clone(w.arms[0].often), slices.Clone(w.arms[0].costs)}
	return w
}

// dearer makes all operations of the new arm dearer.
func (w *mixWorld) dearer(by float64) {
	for k := range w.arms[1].costs {
		w.arms[1].costs[k] *= 1 + by
	}
}

// hostile gives the new arm another number of operations of one kind, the most frequent or that
// with the most CPU time, multiplies all operations, and makes the new arm dearer.
func (w *mixWorld) hostile(mostFrequent bool, more, times, dearer float64) {
	kind := 0
	often, costs := w.arms[0].often, w.arms[0].costs
	for k, n := range often {
		if !mostFrequent && n*costs[k] > often[kind]*costs[kind] {
			kind = k
		}
	}
	w.arms[1].often[kind] *= 1 + more
	for arm := range w.arms {
		for k := range w.arms[arm].often {
			w.arms[arm].often[k] *= times
		}
	}
	w.dearer(dearer)
}

// poissonTable returns the distribution function of the counts of a Poisson distribution.
func poissonTable(mean float64) []float64 {
	p := math.Exp(-mean)
	sum := p
	out := []float64{sum}
	for n := 1.0; n < mean || p > 1e-12; n++ {
		p *= mean / n
		sum += p
		out = append(out, sum)
	}
	return out
}

// mixTables are the distributions of the counts of an arm's kinds: together they are multinomial.
func mixTables(a mixArm) [][]float64 {
	var out [][]float64
	for _, mean := range a.often {
		out = append(out, poissonTable(mean))
	}
	return out
}

// mixNames are the names of kinds.
var mixNames = func() (names []string) {
	for k := range 30 {
		names = append(names, fmt.Sprintf("op%02d", k))
	}
	return names
}()

// run makes the numbers of one run of an arm.
func (w mixWorld) run(rng *rand.Rand, arm int, tables [][]float64) Numbers {
	a := w.arms[arm]
	cpu := make([]float64, mixBefore+w.parts)
	counts := make([][]float64, len(tables))
	for k := range tables {
		counts[k] = make([]float64, len(cpu))
		for i := range cpu {
			n, _ := slices.BinarySearch(tables[k], rng.Float64())
			counts[k][i] = float64(n)
			if w.still {
				counts[k][i] = counts[k][0]
			}
			cpu[i] += counts[k][i] * a.costs[k]
		}
	}
	if w.beside != nil {
		mean := 0.0
		for k, n := range a.often {
			mean += n * a.costs[k]
		}
		w.beside(rng, cpu, mean)
	}
	level := math.Exp(w.level * rng.NormFloat64())
	for i := range cpu {
		cpu[i] *= level * math.Exp(w.noise*rng.NormFloat64())
	}
	m := &CostMix{CPU: cpu[mixBefore:], Done: map[string]float64{}, Part: map[string][]float64{}}
	for k, n := range counts {
		m.Part[mixNames[k]] = n[mixBefore:]
		m.Done[mixNames[k]] = sumOf(n[mixBefore:])
	}
	return numbersOfMix(mixCost, m)
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// numbersOfMix returns the numbers of a run with one cost.
func numbersOfMix(name string, m *CostMix) Numbers {
	ops := 0.0
	for _, n := range m.Done {
		ops += n
	}
	v := SecondaryValue{Name: name, Unit: "ms", Value: sumOf(m.CPU) / ops, Alone: true, Mix: m}
	return Numbers{
		Values:   map[string]float64{name: v.Value},
		Metrics:  map[string]SecondaryValue{name: v},
		Costs:    map[string]SecondaryValue{name: v},
		Portions: map[string][]Portion{name: m.portions(nil)},
	}
}

// blocks makes the pairs of a comparison.
func (w mixWorld) blocks(rng *rand.Rand) (pairs []numbersPair) {
	const blocks = 6
	tables := [2][][]float64{mixTables(w.arms[0]), mixTables(w.arms[1])}
	for b := range blocks {
		pairs = append(pairs, numbersPair{block: b + 1,
			base: w.run(rng, 0, tables[0]), fresh: w.run(rng, 1, tables[1])})
	}
	return pairs
}

// lnRatios returns ln(new/base) of the cost in each pair.
func lnRatios(pairs []numbersPair) (d []float64) {
	for _, p := range pairs {
		d = append(d, math.Log(p.fresh.Values[mixCost]/p.base.Values[mixCost]))
	}
	return d
}

// A mixStudy sums up simulated comparisons.
type mixStudy struct {
	n, held float64
	offs    []float64 // what the mean of a comparison is off after withMix
	// Of plain costs and of those after withMix: the mean of what they are off, and the standard
	// deviation of that of a pair.
	off, sd [2]float64
	errors  float64 // standard error of what they are off after withMix
	spread  float64 // standard deviation of the mean of a comparison after withMix
	claimed float64 // its standard error by the pairs
}

// coverage returns the share of intervals that held the truth.
func (s mixStudy) coverage() float64 { return s.held / s.n }

// slack is how far the share may be off by chance.
func (s mixStudy) slack() float64 { return 3 * math.Sqrt(0.95*0.05/s.n) }

// studyMix simulates comparisons. each draws one and returns its true ln(new/base).
func studyMix(
	t *testing.T,
	comparisons int,
	seed uint64,
	each func(rng *rand.Rand) (mixWorld, float64),
) mixStudy {
	t.Helper()
	s := mixStudy{n: float64(comparisons)}
	for i := range comparisons {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		w, truth := each(rng)
		pairs := w.blocks(rng)
		after, mixes := withMix(pairs)
		if mixes[mixCost] == nil {
			t.Fatal("the costs stayed as they were")
		}
		plain, now := sampleOf(t, lnRatios(pairs)), sampleOf(t, lnRatios(after))
		if got, want := mixes[mixCost].Removed, plain.Mean()-now.Mean(); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v removed, want %v", got, want)
		}
		s.off[0] += (plain.Mean() - truth) / s.n
		s.offs = append(s.offs, now.Mean()-truth)
		if in := now.Estimate().Interval(0.95); in.Lo <= truth && truth <= in.Hi {
			s.held++
		}
		for j, d := range [][]float64{lnRatios(pairs), lnRatios(after)} {
			for _, x := range d {
				s.sd[j] += (x - meanOf(d)) * (x - meanOf(d)) / float64(len(d)-1) / s.n
			}
		}
	}
	s.sd = [2]float64{math.Sqrt(s.sd[0]), math.Sqrt(s.sd[1])}
	s.claimed = s.sd[1] / math.Sqrt(6)
	s.sumUp()
	t.Logf("plain costs are off by %+.2f points with sd %.2f of a pair; "+
		"of the common mix by %+.2f ± %.2f with sd %.2f; "+
		"the mean of six varies by %.3f and claims %.3f; 95 %% intervals hold %.1f %%",
		100*s.off[0], 100*s.sd[0], 100*s.off[1], 100*s.errors, 100*s.sd[1],
		100*s.spread, 100*s.claimed, 100*s.coverage())
	return s
}

// sumUp computes what follows from what comparisons are off.
func (s *mixStudy) sumUp() {
	s.off[1] = meanOf(s.offs)
	squares := 0.0
	for _, x := range s.offs {
		squares += (x - s.off[1]) * (x - s.off[1]) / (s.n - 1)
	}
	s.spread = math.Sqrt(squares)
	s.errors = s.spread / math.Sqrt(s.n)
}

func meanOf(x []float64) float64 { return sumOf(x) / float64(len(x)) }

// unbiased reports a bias beyond a limit, in parts of 1, or beyond three standard errors of the
// simulation if these are more.
func (s mixStudy) unbiased(t *testing.T, limit float64) {
	t.Helper()
	limit = max(limit, 3*s.errors)
	if !(math.Abs(s.off[1]) < limit) {
		t.Errorf("off by %+.2f points, want less than %.2f", 100*s.off[1], 100*limit)
	}
}

// covers reports intervals that hold the truth too rarely or too often.
func (s mixStudy) covers(t *testing.T) {
	t.Helper()
	if math.Abs(s.coverage()-0.95) > s.slack() {
		t.Errorf("%.1f %% of the intervals hold the truth, want 95 ± %.1f",
			100*s.coverage(), 100*s.slack())
	}
}

// coversMostly reports intervals of which less than 90 % hold the truth, by more than chance.
func (s mixStudy) coversMostly(t *testing.T) {
	t.Helper()
	if least := 0.9 - 3*math.Sqrt(0.9*0.1/s.n); s.coverage() < least {
		t.Errorf("%.1f %% of the intervals hold the truth, want 90 %%, less than %.1f by chance",
			100*s.coverage(), 100*least)
	}
}
