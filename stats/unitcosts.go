package stats

import (
	"math"
)

// What [UnitCosts] assumes and how often it repeats its two steps.
const (
	// unitSpread is the standard deviation, in mean costs, of the costs of kinds before any data:
	// some kinds cost next to nothing and few cost many times the mean.
	unitSpread = 1
	unitRounds = 5
	unitSweeps = 500
	unitClose  = 1e-9 // of the mean cost
)

// A CostCourse is one run in parts that are equally long: how many things of each kind were done in
// a part, and what all of them cost together. All runs have the same kinds.
type CostCourse struct {
	Done [][]float64 // by part and kind, 0 or more
	Sums []float64   // by part
}

// UnitCosts estimates what a thing of each kind costs in proportion to the others, in runs that do
// different mixes of them: a part of run r costs s_r·Σ n_k·c_k and noise of one size. The level s_r
// of a run is its own, so that no cost of a kind can stand for a difference between runs. Costs are
// at least 0, and drawn to the mean cost as far as the parts leave them open (ridge regression):
// with parts that show nothing, all kinds cost the same. The costs returned have the mean 1 over
// all things of all runs. false without things or costs, or where a number is not finite.
//
// Levels and costs are fitted in turn. Source of the steps: Hoerl and Kennard, Technometrics 12
// (1970), 55, with the variance of Lindley and Smith, J. R. Stat. Soc. B 34 (1972), 1; least
// squares above 0 by coordinates as in Franc, Hlaváč and Navara, CAIP 2005.
func UnitCosts(runs []CostCourse) (each []float64, ok bool) {
	f, ok := newUnitFit(runs)
	if !ok {
		return nil, false
	}
	for range unitRounds {
		f.fitCosts()
		if !f.fitLevels() {
			return nil, false
		}
	}
	sum := 0.0
	for j, c := range f.each {
		sum += c * f.done[j]
	}
	for j := range f.each {
		f.each[j] *= f.all / sum
		ok = ok && f.each[j] >= 0 && !math.IsInf(f.each[j], 1)
	}
	return f.each, ok
}

// A unitFit is the state of [UnitCosts].
type unitFit struct {
	runs  []CostCourse
	level []float64 // by run
	each  []float64 // by kind
	done  []float64 // by kind, of all runs
	all   float64   // the sum of done
	mean  float64   // cost of a thing
	parts int
}

func newUnitFit(runs []CostCourse) (f unitFit, ok bool) {
	f.runs = runs
	cost := 0.0
	for _, r := range runs {
		f.level = append(f.level, 1)
		f.parts += len(r.Sums)
		for i, sum := range r.Sums {
			cost += sum
			if f.done == nil {
				f.done = make([]float64, len(r.Done[i]))
			}
			for j, n := range r.Done[i] {
				f.done[j] += n
				f.all += n
			}
		}
	}
	f.mean = cost / f.all
	if !(f.mean > 0) || math.IsInf(f.mean, 1) || math.IsInf(f.all, 1) {
		return f, false
	}
	f.each = make([]float64, len(f.done))
	for j := range f.each {
		f.each[j] = f.mean
	}
	return f, true
}

// of returns what the things of a part cost at level 1.
func (f *unitFit) of(done []float64) (cost float64) {
	for j, n := range done {
		cost += n * f.each[j]
	}
	return cost
}

// noise is the variance of a part around the fit.
func (f *unitFit) noise() float64 {
	squares := 0.0
	for r, run := range f.runs {
		for i, sum := range run.Sums {
			squares += square(sum - f.level[r]*f.of(run.Done[i]))
		}
	}
	return squares / float64(max(1, f.parts-len(f.each)))
}

// fitLevels sets each run's level to the one at which its parts cost together what they cost.
func (f *unitFit) fitLevels() (ok bool) {
	for r, run := range f.runs {
		sum, fitted := 0.0, 0.0
		for i, s := range run.Sums {
			sum += s
			fitted += f.of(run.Done[i])
		}
		if f.level[r] = sum / fitted; !(f.level[r] > 0) || math.IsInf(f.level[r], 1) {
			return false
		}
	}
	return true
}

// fitCosts sets the costs of the kinds, given the levels.
func (f *unitFit) fitCosts() {
	k := len(f.each)
	// Without noise nothing is drawn to the mean but what no part tells apart.
	weight := max(f.noise(), square(1e-6*f.mean)) / square(unitSpread*f.mean)
	products, sums := make([][]float64, k), make([]float64, k)
	for j := range k {
		products[j] = make([]float64, k)
		products[j][j] = weight
		sums[j] = weight * f.mean
	}
	for r, run := range f.runs {
		l := f.level[r]
		for i, done := range run.Done {
			for j, n := range done {
				if n == 0 {
					continue
				}
				sums[j] += l * n * run.Sums[i]
				for m, o := range done {
					products[j][m] += l * l * n * o
				}
			}
		}
	}
	for range unitSweeps {
		moved := 0.0
		for j := range k {
			rest := sums[j]
			for m, c := range f.each {
				rest -= products[j][m] * c
			}
			to := max(0, f.each[j]+rest/products[j][j])
			moved = max(moved, math.Abs(to-f.each[j]))
			f.each[j] = to
		}
		if moved <= unitClose*f.mean {
			return
		}
	}
}
