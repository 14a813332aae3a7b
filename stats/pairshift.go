package stats

import "math"

// halfStep is half the largest step of a histogram, as a logarithm: values lie anywhere within it.
const halfStep = 1.0 / 256

// LogShift returns the Hodges-Lehmann shift of two samples: the median of ln(y/x) over all pairs
// of an x of base and a y of fresh. The values ascend and are above zero, and each spreads over
// the step of a histogram around it. The shift is NaN where a sample is empty; exchanging the
// samples changes its sign.
//
// Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 4.2.
func LogShift(base, fresh SparseCounts) float64 {
	x, y := logarithms(base), logarithms(fresh)
	if len(x) == 0 || len(y) == 0 {
		return math.NaN()
	}
	half := base.Total() * fresh.Total() / 2
	// pairs counts those whose difference is at most d. Positions in y only grow with x.
	pairs := func(d float64) float64 {
		n := 0.0
		below := 0.0
		j := 0
		for i, at := range x {
			at += d
			for ; j < len(y) && y[j] <= at-halfStep; j++ {
				below += float64(fresh.N[j])
			}
			part := below
			for k := j; k < len(y) && y[k] < at+halfStep; k++ {
				part += float64(fresh.N[k]) * ((at-y[k])/(2*halfStep) + 0.5)
			}
			n += float64(base.N[i]) * part
		}
		return n
	}
	from, to := y[0]-x[len(x)-1]-halfStep, y[len(y)-1]-x[0]+halfStep
	end := func(below func(n float64) bool) float64 {
		lo, hi := from, to
		for hi-lo > 1e-7 {
			if mid := lo + (hi-lo)/2; below(pairs(mid)) {
				lo = mid
			} else {
				hi = mid
			}
		}
		return lo + (hi-lo)/2
	}
	// Between two modes the count may be half of all over an interval: its middle is the median.
	first := end(func(n float64) bool { return n < half*(1-1e-9) })
	last := end(func(n float64) bool { return n <= half*(1+1e-9) })
	return first + (last-first)/2
}

func logarithms(c SparseCounts) []float64 {
	out := make([]float64, len(c.Value))
	for i, v := range c.Value {
		out[i] = math.Log(v)
	}
	return out
}

// Total returns the number of operations.
func (c SparseCounts) Total() (n float64) {
	for _, k := range c.N {
		n += float64(k)
	}
	return n
}

// LogMedian returns the logarithm of the median, NaN for no values: the smallest value that half
// of all do not exceed.
func (c SparseCounts) LogMedian() float64 {
	half, seen := c.Total()/2, 0.0
	for i, n := range c.N {
		if seen += float64(n); seen >= half {
			return math.Log(c.Value[i])
		}
	}
	return math.NaN()
}
