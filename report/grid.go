package report

import (
	"math"
	"slices"

	"plimsoll/stats"
)

// gridStep returns the step of a grid for lines: the coarsest line's, or one with which the longest
// has GridPoints; 0 without any.
func gridStep(lines []Line) (step float64) {
	end := 0.0
	for _, l := range lines {
		if n := len(l.T); n > 0 {
			end = max(end, l.T[n-1])
			step = max(step, (l.T[n-1]-l.T[0])/float64(max(n-1, 1)))
		}
	}
	return max(step, end/GridPoints)
}

// usable returns the points that can be drawn: finite, not before the start, not before one
// another.
func (l Line) usable() Line {
	n := min(len(l.T), len(l.V))
	fine := len(l.T) == len(l.V)
	for i := range n {
		fine = fine && known(l.T[i]) && known(l.V[i]) && l.T[i] >= 0 &&
			(i == 0 || l.T[i] >= l.T[i-1])
	}
	if fine {
		return l
	}
	var out Line
	for i := range n {
		t, v := l.T[i], l.V[i]
		if known(t) && known(v) && t >= 0 && (len(out.T) == 0 || t >= out.T[len(out.T)-1]) {
			out.T, out.V = append(out.T, t), append(out.V, v)
		}
	}
	return out
}

// A cell sums up the samples of one run in one step of the grid; a mean of NaN stands for no data.
type cell struct{ mean, lo, hi float64 }

// overlay puts the runs of one arm on a grid of width step: the median over the runs of their means
// in each step, and the lowest and the highest of all samples in it, so that no peak is lost. A
// point of the grid is kept where at least half of the runs have data, so that a single long run
// does not bend the end of the curve.
func overlay(lines []Line, step float64) ArmLine {
	out := ArmLine{N: len(lines), Step: tidy(step)}
	grids := make([][]cell, len(lines))
	size := 0
	for i, l := range lines {
		grids[i] = resample(l, step)
		size = max(size, len(grids[i]))
	}
	means := make([]float64, 0, len(lines))
	wide := false
	for k := range size {
		lo, hi := math.Inf(1), math.Inf(-1)
		means = means[:0]
		for _, g := range grids {
			if k < len(g) && !math.IsNaN(g[k].mean) {
				lo, hi, means = min(lo, g[k].lo), max(hi, g[k].hi), append(means, g[k].mean)
			}
		}
		if 2*len(means) < len(lines) || len(means) == 0 {
			continue
		}
		out.T = append(out.T, tidy(float64(k)*step))
		out.Median = append(out.Median, tidy(stats.Median(means)))
		out.Lo, out.Hi = append(out.Lo, tidy(lo)), append(out.Hi, tidy(hi))
		wide = wide || hi > lo
	}
	if !wide && len(lines) == 1 {
		out.Lo, out.Hi = nil, nil // the line is all there is
	}
	if len(lines) > 1 && len(lines) <= fewRuns {
		for _, g := range grids {
			var l Line
			for k, c := range g {
				if !math.IsNaN(c.mean) {
					l.T, l.V = append(l.T, tidy(float64(k)*step)), append(l.V, tidy(c.mean))
				}
			}
			out.Each = append(out.Each, l)
		}
	}
	return out
}

// onGrid puts the lines of each arm on one grid; arms without any are left out.
func onGrid(arms []ArmLine, lines [][]Line) []ArmLine {
	out := []ArmLine{}
	step := gridStep(slices.Concat(lines...))
	for i, a := range arms {
		if len(lines[i]) > 0 && step > 0 {
			l := overlay(lines[i], step)
			l.Arm, l.Index, l.Of = a.Arm, a.Index, a.Of
			out = append(out, l)
		}
	}
	return out
}

// bridged is the largest number of empty grid points that a straight line may cross.
const bridged = 3

// resample sums a line up around the points of the grid 0, step, 2 step….
func resample(l Line, step float64) []cell {
	out := make([]cell, int(math.Round(l.T[len(l.T)-1]/step))+1)
	counts := make([]int, len(out))
	for i, t := range l.T {
		k := int(math.Round(t / step))
		if k < 0 || k >= len(out) {
			continue
		}
		v, c := l.V[i], &out[k]
		if counts[k] == 0 {
			c.lo, c.hi = v, v
		}
		c.mean += v
		c.lo = min(c.lo, v)
		c.hi = max(c.hi, v)
		counts[k]++
	}
	prev := -1
	for k := range out {
		if counts[k] == 0 {
			out[k].mean = math.NaN()
			continue
		}
		out[k].mean /= float64(counts[k])
		if gap := k - prev; prev >= 0 && gap > 1 && gap <= bridged+1 {
			for j := prev + 1; j < k; j++ {
				v := out[prev].mean + (out[k].mean-out[prev].mean)*float64(j-prev)/float64(gap)
				out[j] = cell{v, v, v}
			}
		}
		prev = k
	}
	return out
}

// tidy rounds to five significant digits: more are noise, and make files long.
func tidy(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) || scale == 0 {
		return v
	}
	return math.Round(v*scale) / scale
}
