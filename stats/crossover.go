package stats

import (
	"math"
)

// An Estimate is the mean of a population estimated from a sample: Mean with its standard error and
// the degrees of freedom of that.
type Estimate struct{ Mean, SE, DF float64 }

// Estimate returns the mean with its error, which is NaN below [MinInterval] values.
func (s Sample) Estimate() Estimate {
	n := float64(s.N())
	if s.N() < MinInterval {
		return Estimate{Mean: s.Mean(), SE: math.NaN(), DF: math.NaN()}
	}
	return Estimate{Mean: s.Mean(), SE: s.SD() / math.Sqrt(n), DF: n - 1}
}

// Interval returns the two-sided t interval of the given confidence; unknown where the error is.
func (e Estimate) Interval(level float64) Interval {
	if math.IsNaN(e.SE) || !(level > 0 && level < 1) {
		return unknownInterval(level)
	}
	half := TQuantile(1-(1-level)/2, e.DF) * e.SE
	return Interval{Lo: e.Mean - half, Hi: e.Mean + half, Level: level}
}

// Test returns the two-sided p-value of the hypothesis that the population mean is zero; NaN where
// the error is.
func (e Estimate) Test() float64 {
	if math.IsNaN(e.SE) {
		return math.NaN()
	}
	return min(1, 2*tailOf(math.Abs(e.Mean), e.SE, e.DF))
}

// MDE returns the smallest effect that an experiment with this error finds in four of five cases,
// as the function [MDE].
func (e Estimate) MDE(alpha float64) float64 {
	if math.IsNaN(e.SE) || !(alpha > 0 && alpha < 1) {
		return math.NaN()
	}
	return (TQuantile(1-alpha/2, e.DF) + TQuantile(0.80, e.DF)) * e.SE
}

// A Crossover is a sample of differences from pairs of runs of which one came first: base and new
// (+1) or new and base (-1). The difference of a pair is the effect of the arm, plus or minus that
// of coming second.
//
// Source: Jones and Kenward, Design and Analysis of Cross-Over Trials, 3rd ed. (2014), 2.3, without
// a carry-over effect: a run starts from a reset state. No test decides whether the order is
// allowed for (Senn, Cross-over Trials in Clinical Research, 2nd ed., 3.16, has why).
type Crossover struct {
	// Estimate is of the effect of the arm, Order that of coming second: the mean of both orders,
	// and half their difference.
	Estimate, Order Estimate
	// SD is the standard deviation of the differences with the order allowed for.
	SD float64
	// Adjusted are the differences without the effect of the order as it was estimated; their mean
	// is Estimate.Mean.
	Adjusted Sample
}

// NewCrossover separates the effect of the order from that of the arm; order has +1 or -1 for each
// difference. It reports false where there are too few of one order: fewer than two, or than a
// third of all; and where the differences do not vary within either order and those differ, which
// would leave an error of zero beside a difference that is there. The number of degrees of freedom
// is n-2.
func NewCrossover(s Sample, order []int) (Crossover, bool) {
	var n, sum [2]float64
	of := func(i int) int { return (1 - order[i]) / 2 }
	if len(order) != s.N() {
		return Crossover{}, false
	}
	for i, v := range s.Values {
		if order[i] != 1 && order[i] != -1 {
			return Crossover{}, false
		}
		n[of(i)]++
		sum[of(i)] += v
	}
	if least := min(n[0], n[1]); least < 2 || 3*least < n[0]+n[1] {
		return Crossover{}, false
	}
	mean := [2]float64{sum[0] / n[0], sum[1] / n[1]}
	squares, constant := 0.0, [2]bool{true, true}
	first := [2]float64{math.NaN(), math.NaN()}
	for i, v := range s.Values {
		k := of(i)
		squares += square(v - mean[k])
		if math.IsNaN(first[k]) {
			first[k] = v
		}
		constant[k] = constant[k] && v == first[k]
	}
	if constant[0] && constant[1] { // not by rounding
		squares, mean = 0, first
	}
	if squares == 0 && mean[0] != mean[1] {
		return Crossover{}, false
	}
	df := n[0] + n[1] - 2
	c := Crossover{SD: math.Sqrt(squares / df)}
	se := c.SD / 2 * math.Sqrt(1/n[0]+1/n[1])
	c.Estimate = Estimate{Mean: mean[0] + (mean[1]-mean[0])/2, SE: se, DF: df}
	c.Order = Estimate{Mean: (mean[0] - mean[1]) / 2, SE: se, DF: df}
	values := make([]float64, s.N())
	for i, v := range s.Values {
		values[i] = v - float64(order[i])*c.Order.Mean
	}
	adjusted, err := NewSample(values...)
	if err != nil {
		panic("stats: " + err.Error()) // differences of finite numbers
	}
	adjusted.Warnings = s.Warnings
	c.Adjusted = adjusted
	return c, true
}
