package comparison

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"plimsoll/stats"
)

// TestMixOfEqualArms shows that the chance of users is taken out of the differences of equal arms,
// and that the intervals hold as often as they say.
func TestMixOfEqualArms(t *testing.T) {
	s := studyMix(t, 70, 81, func(rng *rand.Rand) (mixWorld, float64) {
		return newMixWorld(rng), 0
	})
	s.unbiased(t, 0.001)
	s.covers(t)
	if !(s.sd[1] < 0.6*s.sd[0]) {
		t.Errorf("sd %.4f of a pair, %.4f without the mixes", s.sd[0], s.sd[1])
	}
}

// TestMixOfDearerArm shows that 5 % more CPU time for every operation are found.
func TestMixOfDearerArm(t *testing.T) {
	s := studyMix(t, 30, 82, func(rng *rand.Rand) (mixWorld, float64) {
		w := newMixWorld(rng)
		w.dearer(0.05)
		return w, math.Log(1.05)
	})
	s.unbiased(t, 0.002)
	s.covers(t)
}

// TestMixThatMovesToTheDearestKind shows that 5 % are found beside a tenth of the operations that
// moved from the cheapest to the dearest kind, which the plain costs take for a difference of the
// arms.
func TestMixThatMovesToTheDearestKind(t *testing.T) {
	s := studyMix(t, 40, 83, func(rng *rand.Rand) (mixWorld, float64) {
		w := newMixWorld(rng)
		costs := w.arms[0].costs
		least := slices.Index(costs, slices.Min(costs))
		costs[0], costs[least] = costs[least], costs[0]
		copy(w.arms[1].costs, costs)
		moved := 0.1 * sumOf(w.arms[0].often)
		w.arms[1].often[0] -= moved
		w.arms[1].often[slices.Index(costs, slices.Max(costs))] += moved
		w.dearer(0.05)
		return w, math.Log(1.05)
	})
	s.unbiased(t, 0.005)
	s.coversMostly(t)
	if s.off[0] < 0.05 {
		t.Errorf("the plain costs are off by %+.4f alone", s.off[0])
	}
}

// TestMixThatCouldExplainADifference shows that a difference of the arms is not taken for the cost
// of a kind that one of them does more often in every part, nor such a kind for a difference, and
// that the intervals hold where the mixes of all blocks differ alike.
func TestMixThatCouldExplainADifference(t *testing.T) {
	var offs, byMix, byArm []float64
	held := 0.0
	for i, tt := range []struct {
		name         string
		mostFrequent bool    // the kind is the most frequent, else that with the most CPU time
		more         float64 // operations of the kind in new
		dearer       float64
	}{
		{"less of the costliest, cheaper", false, -0.3, -0.1},
		{"less of the costliest, dearer", false, -0.3, 0.1},
		{"more of the costliest, cheaper", false, 0.3, -0.1},
		{"more of the costliest, dearer", false, 0.3, 0.1},
		{"less of the most frequent, cheaper", true, -0.3, -0.1},
		{"less of the most frequent, dearer", true, -0.3, 0.1},
		{"more of the most frequent, cheaper", true, 0.3, -0.1},
		{"more of the most frequent, dearer", true, 0.3, 0.1},
	} {
		for _, times := range []float64{1, 5} {
			t.Run(fmt.Sprintf("%s, operations times %.0f", tt.name, times), func(t *testing.T) {
				seed := uint64(840 + 10*i + int(times))
				s := studyMix(t, 11, seed, func(rng *rand.Rand) (mixWorld, float64) {
					w := newMixWorld(rng)
					w.hostile(tt.mostFrequent, tt.more, times, tt.dearer)
					return w, math.Log1p(tt.dearer)
				})
				s.unbiased(t, 0.005)
				s.coversMostly(t)
				held += s.held
				for _, x := range s.offs {
					offs = append(offs, x)
					byMix = append(byMix, math.Copysign(x, x*tt.more))
					byArm = append(byArm, math.Copysign(x, x*tt.dearer))
				}
			})
		}
	}
	for name, x := range map[string][]float64{
		"all":                    offs,
		"with the sign of mixes": byMix,
		"with the sign of arms":  byArm,
	} {
		s := mixStudy{n: float64(len(x)), held: held, offs: x}
		s.sumUp()
		t.Logf("%s: %.0f comparisons are off by %+.2f ± %.2f points, %.1f %% of the intervals hold",
			name, s.n, 100*s.off[1], 100*s.errors, 100*s.coverage())
		s.unbiased(t, 0.005)
		s.coversMostly(t)
	}
}

// TestMixWithOneDearerKind shows that a kind that became half as dear again counts as often as it
// occurs in both arms together.
func TestMixWithOneDearerKind(t *testing.T) {
	s := studyMix(t, 30, 85, func(rng *rand.Rand) (mixWorld, float64) {
		w := newMixWorld(rng)
		w.arms[1].costs[rng.IntN(5)] *= 1.5
		often := w.arms[0].often
		return w, math.Log(w.arms[1].perOperation(often) / w.arms[0].perOperation(often))
	})
	s.unbiased(t, 0.005)
	s.covers(t)
}

// TestMixBesideOtherWork shows that CPU time that follows no operation, or follows it late, makes
// no difference of equal arms.
func TestMixBesideOtherWork(t *testing.T) {
	for name, beside := range map[string]func(rng *rand.Rand, cpu []float64, mean float64){
		"constant": func(_ *rand.Rand, cpu []float64, mean float64) {
			for i := range cpu {
				cpu[i] += 0.5 * mean
			}
		},
		"sawtooth": func(rng *rand.Rand, cpu []float64, mean float64) {
			age := rng.IntN(7)
			for i := range cpu {
				cpu[i] += 0.1 * mean * float64((i+age)%7)
			}
		},
		"late": func(_ *rand.Rand, cpu []float64, _ float64) {
			for i := len(cpu) - 1; i >= mixBefore; i-- {
				cpu[i] += 0.4 * (cpu[i-mixBefore] - cpu[i])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := studyMix(t, 24, 86, func(rng *rand.Rand) (mixWorld, float64) {
				w := newMixWorld(rng)
				w.beside = beside
				return w, 0
			})
			s.unbiased(t, 0.002)
			s.covers(t)
			if s.sd[1] > s.sd[0] {
				t.Errorf("sd %.4f of a pair, %.4f without the mixes", s.sd[0], s.sd[1])
			}
		})
	}
}

// TestMixOfEqualParts shows that parts with the same operations in all runs leave the differences
// as they are, and that 10 % more are found where each run has its own: runs of one arm tell kinds
// apart.
func TestMixOfEqualParts(t *testing.T) {
	t.Run("all runs", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 87))
		for range 10 {
			w := newMixWorld(rng)
			w.dearer(0.1)
			pairs := w.blocks(rng)
			for _, n := range runsOfPairs(pairs) {
				m := n.Costs[mixCost].Mix
				for k, mean := range w.arms[0].often {
					parts := m.Part[mixNames[k]]
					for i := range parts {
						parts[i] = math.Round(mean)
					}
					m.Done[mixNames[k]] = sumOf(parts)
				}
			}
			after, _ := withMix(pairs)
			for i, d := range lnRatios(after) {
				if want := lnRatios(pairs)[i]; math.Abs(d-want) > 1e-6 {
					t.Fatalf("ln(new/base) %v, want %v", d, want)
				}
			}
		}
	})
	for _, tt := range []struct{ kinds, comparisons int }{{4, 30}, {20, 20}} {
		t.Run(fmt.Sprintf("each run, %d kinds", tt.kinds), func(t *testing.T) {
			s := studyMix(t, tt.comparisons, 87, func(rng *rand.Rand) (mixWorld, float64) {
				w := newMixWorld(rng)
				w.still = true
				for arm := range w.arms {
					w.arms[arm].often = w.arms[arm].often[:tt.kinds]
					w.arms[arm].costs = w.arms[arm].costs[:tt.kinds]
				}
				w.dearer(0.1)
				return w, math.Log(1.1)
			})
			s.unbiased(t, 0.01)
			s.coversMostly(t)
			if tt.kinds < 12 && s.spread > 0.01 { // the number of runs
				t.Errorf("the mean varies by %.2f points, want less than 1", 100*s.spread)
			}
		})
	}
}

// A secondMix is the rule of a mix, computed a second time: of each pair, what is divided out of
// the base run and of the new one, and what that takes out of ln(new/base).
type secondMix struct {
	weights      map[string]float64 // of all pairs
	kinds        int
	base, fresh  []float64
	removed, own []float64
}

// newSecondMix computes a mix of the pairs that have the cost in both arms.
func newSecondMix(t *testing.T, pairs []numbersPair) (m secondMix) {
	t.Helper()
	mixOf := func(n Numbers) *CostMix { return n.Costs[mixCost].Mix }
	done, all := map[string]float64{}, 0.0
	for _, n := range runsOfPairs(pairs) {
		for kind, k := range mixOf(n).Done {
			done[kind] += k
			all += k
		}
	}
	group := map[string]int{}
	kinds := slices.Sorted(maps.Keys(done))
	for _, kind := range kinds {
		if done[kind] >= 0.01*all {
			group[kind] = m.kinds
			m.kinds++
		}
	}
	for _, kind := range kinds {
		if done[kind] < 0.01*all {
			group[kind] = m.kinds // of all others together
		}
	}
	infl := func(n Numbers, weights map[string]float64) float64 {
		sum, ops := 0.0, 0.0
		for kind, k := range mixOf(n).Done {
			sum += k * weights[kind]
			ops += k
		}
		return sum / ops
	}
	lnOf := func(p numbersPair, weights map[string]float64) float64 {
		return math.Log(infl(p.fresh, weights) / infl(p.base, weights))
	}
	m.weights = secondWeights(t, pairs, group)
	total := 0.0
	for _, p := range pairs {
		m.own = append(m.own, lnOf(p, m.weights))
		total += lnOf(p, m.weights)
	}
	for k, p := range pairs {
		removed := m.own[k]
		if len(pairs) >= 3 {
			others := slices.Delete(slices.Clone(pairs), k, k+1)
			weights := secondWeights(t, others, group)
			removed = total
			for _, o := range others {
				removed -= lnOf(o, weights)
			}
		}
		share := math.Exp((removed - m.own[k]) / 2)
		m.removed = append(m.removed, removed)
		m.base = append(m.base, infl(p.base, m.weights)/share)
		m.fresh = append(m.fresh, infl(p.fresh, m.weights)*share)
	}
	return m
}

// secondWeights returns the weights of kinds, which have their own or share one, by their group.
func secondWeights(
	t *testing.T,
	pairs []numbersPair,
	group map[string]int,
) (weights map[string]float64) {
	t.Helper()
	groups := 1 + slices.Max(slices.Collect(maps.Values(group)))
	moments := func(n Numbers) stats.CostMoments {
		m := n.Costs[mixCost].Mix
		var rows [][]float64
		for i := range m.CPU {
			row := make([]float64, groups)
			for kind, parts := range m.Part {
				row[group[kind]] += parts[i]
			}
			rows = append(rows, row)
		}
		return stats.NewCostMoments(rows, m.CPU)
	}
	var base, fresh []stats.CostMoments
	for _, p := range pairs {
		base = append(base, moments(p.base))
		fresh = append(fresh, moments(p.fresh))
	}
	each, ok := stats.UnitCosts(base, fresh)
	if !ok {
		t.Fatal("no costs")
	}
	weights = map[string]float64{}
	for kind, g := range group {
		weights[kind] = each[g]
	}
	return weights
}

// copyMixNumbers returns a deep copy of what withMix could change.
func copyMixNumbers(n Numbers) Numbers {
	n.Values = maps.Clone(n.Values)
	for _, x := range []*map[string]SecondaryValue{&n.Metrics, &n.Costs} {
		*x = maps.Clone(*x)
		for name, v := range *x {
			if v.Mix == nil {
				continue
			}
			m := CostMix{maps.Clone(v.Mix.Done), slices.Clone(v.Mix.CPU), maps.Clone(v.Mix.Part)}
			for kind, parts := range m.Part {
				m.Part[kind] = slices.Clone(parts)
			}
			v.Mix = &m
			(*x)[name] = v
		}
	}
	n.Portions = maps.Clone(n.Portions)
	for name, p := range n.Portions {
		n.Portions[name] = slices.Clone(p)
	}
	return n
}

func copyMixPairs(pairs []numbersPair) []numbersPair {
	pairs = slices.Clone(pairs)
	for i, p := range pairs {
		pairs[i].base, pairs[i].fresh = copyMixNumbers(p.base), copyMixNumbers(p.fresh)
	}
	return pairs
}

// runsOfPairs returns the numbers of all runs of both arms.
func runsOfPairs(pairs []numbersPair) (runs []Numbers) {
	for _, p := range pairs {
		runs = append(runs, p.base, p.fresh)
	}
	return runs
}

// TestMixByASecondWay computes values and portions a second time, of two, three and six pairs that
// have the cost in both runs, beside one that does not, and shows that the arguments stay as they
// are.
func TestMixByASecondWay(t *testing.T) {
	const near = 1e-7
	rng := rand.New(rand.NewPCG(1, 88))
	for i, count := range []int{6, 6, 3, 3, 2, 2, 1} {
		w := newMixWorld(rng)
		for range 4 * (i % 2) { // whose share is below a hundredth
			for arm := range w.arms {
				w.arms[arm].often = append(w.arms[arm].often, 0.004*sumOf(w.arms[arm].often))
				w.arms[arm].costs = append(w.arms[arm].costs, 3)
			}
		}
		w.arms[1].often[2] *= 1.3
		pairs := w.blocks(rng)[:count]
		last := pairs[count-1].fresh.Costs[mixCost].Mix
		delete(last.Part, mixNames[19]) // never done in a run
		delete(last.Done, mixNames[19])
		want := newSecondMix(t, pairs)
		half := w.blocks(rng)[0]
		half.fresh = Numbers{}
		pairs = append(pairs, half)
		before := copyMixPairs(pairs)
		after, mixes := withMix(pairs)
		if !reflect.DeepEqual(pairs, before) {
			t.Fatal("the arguments were changed")
		}
		if got := mixes[mixCost].Kinds; got != want.kinds {
			t.Errorf("%d kinds, want %d", got, want.kinds)
		}
		if len(after) != len(pairs) || !reflect.DeepEqual(after[count].fresh, half.fresh) {
			t.Fatalf("%d pairs after %d, or the half pair changed", len(after), len(pairs))
		}
		for k, by := range want.base {
			checkWeighed(t, pairs[k].base, after[k].base, by, want.weights, near)
			checkWeighed(t, pairs[k].fresh, after[k].fresh, want.fresh[k], want.weights, near)
			d := lnRatios(pairs[k : k+1])[0] - lnRatios(after[k : k+1])[0]
			if math.Abs(d-want.removed[k]) > near {
				t.Errorf("%v removed of pair %d, want %v", d, k, want.removed[k])
			}
		}
		if got := mixes[mixCost].Removed; math.Abs(got-meanOf(want.removed)) > near {
			t.Errorf("%v removed, want %v", got, meanOf(want.removed))
		}
	}
}

// checkWeighed compares the numbers of a run with the plain ones divided by what is given, and its
// portions with those of weighted operations.
func checkWeighed(
	t *testing.T,
	was, got Numbers,
	by float64,
	weights map[string]float64,
	near float64,
) {
	t.Helper()
	m := was.Costs[mixCost].Mix
	want := was.Values[mixCost] / by
	for from, v := range map[string]float64{"Values": got.Values[mixCost],
		"Costs": got.Costs[mixCost].Value, "Metrics": got.Metrics[mixCost].Value} {
		if !(math.Abs(v/want-1) <= near) {
			t.Errorf("%s: %v, want %v", from, v, want)
		}
	}
	n := len(got.Portions[mixCost])
	if n != len(was.Portions[mixCost]) || n == 0 {
		t.Fatalf("%d portions, want %d", n, len(was.Portions[mixCost]))
	}
	for k, p := range got.Portions[mixCost] {
		sum, count := 0.0, 0.0
		for i := k * len(m.CPU) / n; i < (k+1)*len(m.CPU)/n; i++ {
			sum += m.CPU[i]
			for kind, parts := range m.Part {
				count += parts[i] * weights[kind]
			}
		}
		if !(math.Abs(p.Sum/sum-1) <= near && math.Abs(p.Count/count-1) <= near) {
			t.Fatalf("portion %d: %v of %v, want %v of %v", k, p.Sum, p.Count, sum, count)
		}
	}
}

// TestMixStaysWithoutEvidence shows that a cost of which a run has no parts, whose operations
// are of one kind, or whose fit fails stays as it is, beside another cost that does not.
func TestMixStaysWithoutEvidence(t *testing.T) {
	const other = "cost(db)"
	for name, change := range map[string]func(run int, m *CostMix) *CostMix{
		"a run without parts": func(run int, m *CostMix) *CostMix {
			if run == 5 {
				m.CPU, m.Part = nil, nil
			}
			return m
		},
		"a run without a mix": func(run int, m *CostMix) *CostMix {
			if run == 0 {
				return nil
			}
			return m
		},
		"a fit that fails": func(run int, m *CostMix) *CostMix {
			if run == 3 {
				m.CPU[0] = math.NaN()
			}
			return m
		},
		"one kind": func(_ int, m *CostMix) *CostMix {
			for k, kind := range mixNames[1:20] {
				m.Done[kind] = 0.005 * m.Done[mixNames[0]] / float64(k+1)
			}
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 89))
			w := newMixWorld(rng)
			pairs := w.blocks(rng)
			for i, n := range runsOfPairs(pairs) {
				v := n.Costs[mixCost]
				m := *copyMixNumbers(n).Costs[mixCost].Mix
				more := numbersOfMix(other, &m)
				maps.Copy(n.Values, more.Values)
				maps.Copy(n.Metrics, more.Metrics)
				maps.Copy(n.Costs, more.Costs)
				maps.Copy(n.Portions, more.Portions)
				v.Mix = change(i, v.Mix)
				n.Metrics[mixCost], n.Costs[mixCost] = v, v
			}
			after, mixes := withMix(pairs)
			if mixes[mixCost] != nil || mixes[other] == nil {
				t.Errorf("mixes %v, want that of %s alone", mixes, other)
			}
			was := runsOfPairs(pairs)
			for i, n := range runsOfPairs(after) {
				if n.Values[mixCost] != was[i].Values[mixCost] ||
					n.Costs[mixCost].Value != was[i].Costs[mixCost].Value ||
					!reflect.DeepEqual(n.Portions[mixCost], was[i].Portions[mixCost]) {
					t.Fatalf("run %d changed", i)
				}
				if n.Values[other] == was[i].Values[other] {
					t.Errorf("run %d: the other cost did not change", i)
				}
			}
		})
	}
}

// TestMixOfNoRuns shows that nothing, runs without costs and pairs of which one run has a mix are
// left as they are.
func TestMixOfNoRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 90))
	half := newMixWorld(rng).blocks(rng)[:2]
	for i, n := range []*Numbers{&half[0].base, &half[1].fresh} {
		v := n.Costs[mixCost]
		v.Mix = nil
		n.Costs[mixCost], n.Metrics[mixCost] = v, v
		half[i].block = i + 1
	}
	for name, pairs := range map[string][]numbersPair{
		"no pairs":      nil,
		"half of pairs": half,
		"empty numbers": {{block: 1}, {block: 2}},
		"empty mix": {{block: 1, base: numbersOfMix(mixCost, &CostMix{CPU: []float64{}}),
			fresh: numbersOfMix(mixCost, &CostMix{CPU: []float64{}})}},
		"no operations": {{block: 1, base: numbersOfMix(mixCost, &CostMix{CPU: []float64{1, 2}}),
			fresh: numbersOfMix(mixCost, &CostMix{CPU: []float64{1, 2}})}},
	} {
		after, mixes := withMix(pairs)
		if len(mixes) != 0 || len(after) != len(pairs) {
			t.Errorf("%s: %d pairs, mixes %v", name, len(after), mixes)
		}
	}
}
