package stats

import (
	"math"
	"slices"
)

// A ridgeProblem is least squares in costs relative to the mean cost: rows and sums are rotated to
// a triangle, and each cost has a penalty on the square of its distance from 1.
type ridgeProblem struct {
	rows    [][]float64
	sums    []float64
	penalty float64
}

// rotate brings rows to a triangle by the reflections of Householder. It changes them, and returns
// as many of them as there are columns.
func rotate(rows [][]float64) [][]float64 {
	columns := len(rows[0])
	for len(rows) < columns {
		rows = append(rows, make([]float64, columns))
	}
	for j := range columns {
		norm := 0.0
		for _, row := range rows[j:] {
			norm = math.Hypot(norm, row[j])
		}
		if norm == 0 {
			continue
		}
		mirror := make([]float64, len(rows))
		for i := j; i < len(rows); i++ {
			mirror[i] = rows[i][j]
		}
		mirror[j] += math.Copysign(norm, mirror[j])
		square := norm * (norm + math.Abs(rows[j][j]))
		products := make([]float64, columns)
		for i := j; i < len(rows); i++ {
			for k := j; k < columns; k++ {
				products[k] += mirror[i] * rows[i][k]
			}
		}
		for i := j; i < len(rows); i++ {
			for k := j; k < columns; k++ {
				rows[i][k] -= products[k] / square * mirror[i]
			}
		}
	}
	return rows[:columns]
}

// free solves a problem in which the costs of some kinds are free and those of the others 0. It
// returns the distances of the free ones from 1 and what is minimized.
func (p ridgeProblem) free(kinds []int) (off []float64, least float64) {
	n := len(kinds)
	var rows [][]float64
	for i, row := range p.rows {
		line := make([]float64, n+1)
		line[n] = p.sums[i]
		for j, k := range kinds {
			line[j] = row[k]
			line[n] -= row[k]
		}
		rows = append(rows, line)
	}
	for j := range kinds {
		line := make([]float64, n+1)
		line[j] = math.Sqrt(p.penalty)
		rows = append(rows, line)
	}
	rows = rotate(rows)
	off = make([]float64, n)
	for j := n - 1; j >= 0; j-- {
		off[j] = rows[j][n]
		for k := j + 1; k < n; k++ {
			off[j] -= rows[j][k] * off[k]
		}
		off[j] /= rows[j][j]
	}
	fixed := float64(len(p.rows[0]) - n)
	return off, rows[n][n]*rows[n][n] + p.penalty*fixed
}

// bySubsets tries every subset of kinds that cost something, that of all first: nothing is better
// than its costs if none of them is below 0.
func (p ridgeProblem) bySubsets(_ []float64) []float64 {
	all := len(p.rows[0])
	best := math.Inf(1)
	var costs []float64
	for set := 1<<all - 1; set >= 0; set-- {
		var kinds []int
		for k := range all {
			if set>>k&1 == 1 {
				kinds = append(kinds, k)
			}
		}
		off, least := p.free(kinds)
		if least >= best || slices.ContainsFunc(off, func(x float64) bool { return x < -1 }) {
			continue
		}
		best = least
		costs = make([]float64, all)
		for j, k := range kinds {
			costs[k] = 1 + off[j]
		}
		if len(kinds) == all {
			break
		}
	}
	return costs
}

// byActiveSet begins with the kinds that cost something in start, and lets in the one with the
// steepest descent until none is left (Lawson and Hanson, Solving Least Squares Problems, 1974,
// chapter 23).
func (p ridgeProblem) byActiveSet(start []float64) []float64 {
	costs := slices.Clone(start)
	var kinds []int
	for k, c := range costs {
		if c > 0 {
			kinds = append(kinds, k)
		}
	}
	enough := 1e-13 * slices.Max(p.slopes(make([]float64, len(costs))))
	for {
		kinds = p.settle(costs, kinds)
		next := -1
		steepest := enough
		for k, slope := range p.slopes(costs) {
			if !slices.Contains(kinds, k) && slope > steepest {
				next, steepest = k, slope
			}
		}
		if next < 0 {
			return costs
		}
		kinds = append(kinds, next)
	}
}

// settle moves costs to the least squares of the free kinds, and takes out those that would fall
// below 0 on the way. It returns the others.
func (p ridgeProblem) settle(costs []float64, kinds []int) []int {
	for {
		off, _ := p.free(kinds)
		step := 1.0
		for j, k := range kinds {
			if off[j] < -1 {
				step = min(step, costs[k]/(costs[k]-1-off[j]))
			}
		}
		for j, k := range kinds {
			costs[k] += step * (1 + off[j] - costs[k])
		}
		if step == 1 {
			return kinds
		}
		kinds = slices.DeleteFunc(kinds, func(k int) bool { return costs[k] <= 1e-14 })
		for k := range costs {
			if !slices.Contains(kinds, k) {
				costs[k] = 0
			}
		}
	}
}

// slopes returns how fast half of what is minimized falls with each cost.
func (p ridgeProblem) slopes(costs []float64) []float64 {
	out := make([]float64, len(costs))
	for k, c := range costs {
		out[k] = p.penalty * (1 - c)
	}
	for i, row := range p.rows {
		left := p.sums[i]
		for k, c := range costs {
			left -= row[k] * c
		}
		for k := range costs {
			out[k] += row[k] * left
		}
	}
	return out
}

// squares returns the sum of squares that costs leave in the rows.
func (p ridgeProblem) squares(costs []float64) (sum float64) {
	for i, row := range p.rows {
		left := p.sums[i]
		for k, c := range costs {
			left -= row[k] * c
		}
		sum += left * left
	}
	return sum
}

// minimized returns the squares with the penalty.
func (p ridgeProblem) minimized(costs []float64) float64 {
	sum := p.squares(costs)
	for _, c := range costs {
		sum += p.penalty * (c - 1) * (c - 1)
	}
	return sum
}

// A course is a run: its things by part and kind, and what they cost by part.
type course struct {
	done [][]float64
	sums []float64
}

// An armFit is an arm: as a triangle for costs relative to the mean cost, and its sums.
type armFit struct {
	triangle [][]float64
	level    float64   // of least squares where all kinds cost 1
	of       []float64 // things by kind
	counts   float64   // sum of squared counts
	parts    int
}

func newArmFit(runs []course, mean float64) armFit {
	kinds := len(runs[0].done[0])
	a := armFit{of: make([]float64, kinds)}
	var rows [][]float64
	above, below := 0.0, 0.0
	for _, r := range runs {
		for i, row := range r.done {
			all := 0.0
			for k, n := range row {
				a.of[k] += n
				a.counts += n * n
				all += n
			}
			sum := r.sums[i] / mean
			above += sum * all
			below += all * all
			rows = append(rows, append(slices.Clone(row), sum))
		}
	}
	a.parts = len(rows)
	a.level = above / below
	a.triangle = rotate(rows)
	return a
}

// problemAt returns the least squares of both arms at a level of the second.
func problemAt(base, fresh armFit, level, penalty float64) ridgeProblem {
	p := ridgeProblem{penalty: penalty}
	kinds := len(base.of)
	for _, row := range base.triangle {
		p.rows = append(p.rows, row[:kinds])
		p.sums = append(p.sums, row[kinds])
	}
	for _, row := range fresh.triangle {
		line := make([]float64, kinds)
		for k := range line {
			line[k] = level * row[k]
		}
		p.rows = append(p.rows, line)
		p.sums = append(p.sums, row[kinds])
	}
	return p
}

// goldenSection returns where f is least between lo and hi, if that is not at one of them. A grid
// finds the valley.
func goldenSection(lo, hi float64, f func(float64) float64) (x float64, ok bool) {
	const grid = 16
	ratio := (math.Sqrt(5) - 1) / 2
	least := math.Inf(1)
	for i := range grid + 1 {
		at := lo + (hi-lo)*float64(i)/grid
		if y := f(at); y < least {
			least, x = y, at
		}
	}
	a, b := max(lo, x-(hi-lo)/grid), min(hi, x+(hi-lo)/grid)
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	yc, yd := f(c), f(d)
	for b-a > 1e-10 {
		if yc < yd {
			b, d, yd = d, c, yc
			c = b - ratio*(b-a)
			yc = f(c)
			continue
		}
		a, c, yc = c, d, yd
		d = a + ratio*(b-a)
		yd = f(d)
	}
	x = (a + b) / 2
	return x, x-lo > 1e-6 && hi-x > 1e-6
}

// A ridgeSolver solves a problem from costs that are near.
type ridgeSolver func(p ridgeProblem, start []float64) []float64

// secondUnitCosts is a second implementation of UnitCosts: it looks for the least of what solve
// leaves over the level of the second arm.
func secondUnitCosts(arms [2][]course, solve ridgeSolver) (costs []float64, ok bool) {
	things, total := 0.0, 0.0
	for _, runs := range arms {
		for _, r := range runs {
			for i, row := range r.done {
				total += r.sums[i]
				for _, n := range row {
					things += n
				}
			}
		}
	}
	base, fresh := newArmFit(arms[0], total/things), newArmFit(arms[1], total/things)
	kinds := len(base.of)
	freedom := max(1, float64(base.parts+fresh.parts-kinds))
	floor := 1e-9 * (base.counts + fresh.counts) / float64(kinds)
	costs = slices.Repeat([]float64{1}, kinds)
	level := fresh.level / base.level
	for range 4 {
		noise := problemAt(base, fresh, level, 0).squares(costs) / freedom
		penalty := max(noise, floor)
		x, inside := goldenSection(math.Log(level/10), math.Log(level*10), func(x float64) float64 {
			p := problemAt(base, fresh, math.Exp(x), penalty)
			costs = solve(p, costs)
			return p.minimized(costs)
		})
		if !inside {
			return nil, false
		}
		level = math.Exp(x)
		costs = solve(problemAt(base, fresh, level, penalty), costs)
	}
	weighed := 0.0
	for k, c := range costs {
		weighed += c * (base.of[k] + fresh.of[k]) / things
	}
	for k := range costs {
		costs[k] /= weighed
	}
	return costs, true
}
