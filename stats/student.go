package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval. Level is its requested confidence, between 0 and 1. Lo and Hi
// are NaN when the sample does not carry an interval.
type Interval struct {
	Lo, Hi, Level float64
}

// Known reports whether the interval exists.
func (i Interval) Known() bool { return !math.IsNaN(i.Lo) && !math.IsNaN(i.Hi) }

// Inside reports whether the whole interval lies strictly between lo and hi. An unknown interval is
// inside nothing.
func (i Interval) Inside(lo, hi float64) bool { return i.Lo > lo && i.Hi < hi }

// Below reports whether the whole interval lies below x.
func (i Interval) Below(x float64) bool { return i.Known() && i.Hi < x }

// Above reports whether the whole interval lies above x.
func (i Interval) Above(x float64) bool { return i.Known() && i.Lo > x }

func unknownInterval(level float64) Interval {
	return Interval{Lo: math.NaN(), Hi: math.NaN(), Level: level}
}

// TQuantile returns the p-quantile of Student's t with df degrees of freedom; p in (0,1), df >= 1.
// It is NaN for anything else.
//
// It takes the expansion about the normal quantile (Abramowitz and Stegun 26.7.5) and improves it
// by Newton's method on the logarithm of the tail: the same 14 digits as the quantile of distuv in
// a fifth of the time, and quantiles take most of the time of a judgment.
func TQuantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1) || !(df >= 1):
		return math.NaN()
	case p == 0.5:
		return 0
	case p > 0.5: // the lower tail keeps its digits, and the distribution is symmetric
		return -TQuantile(1-p, df)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
	z := normalQuantile(p)
	zz := z * z
	x := z + z*((zz+1)/4+((5*zz+16)*zz+3)/(96*df)+(((3*zz+19)*zz+17)*zz-15)/(384*df*df))/df
	for range 20 {
		tail := t.CDF(x)
		step := math.Log(tail/p) * tail / t.Prob(x)
		x -= step
		if math.Abs(step) <= 1e-8*math.Abs(x) { // the next step would be its square
			return x
		}
	}
	return t.Quantile(p)
}

// TInterval returns the two-sided interval mean ± t(1-(1-level)/2, n-1)·sd/√n for the mean of the
// population. It is unknown below [MinInterval] values or when level is not in (0,1). A sample
// without spread gives an interval of width zero (and carries [ErrConstant]).
func TInterval(s Sample, level float64) Interval {
	n := s.N()
	if n < MinInterval || !(level > 0 && level < 1) {
		return unknownInterval(level)
	}
	mean := s.Mean()
	half := TQuantile(1-(1-level)/2, float64(n-1)) * s.SD() / math.Sqrt(float64(n))
	return Interval{Lo: mean - half, Hi: mean + half, Level: level}
}

// TTest returns the two-sided p-value of the hypothesis that the population mean is zero; NaN below
// [MinInterval] values. A sample without spread gives 1 when it is zero throughout and 0 when it is
// not.
func TTest(s Sample) float64 {
	if s.N() < MinInterval {
		return math.NaN()
	}
	return 2 * upperTail(math.Abs(s.Mean()), s)
}

// upperTail returns P(T >= x/se) for Student's t with n-1 degrees of freedom.
func upperTail(x float64, s Sample) float64 {
	return tailOf(x, s.SD()/math.Sqrt(float64(s.N())), float64(s.N()-1))
}

// tailOf returns P(T >= x/se); without an error the sign of x decides.
func tailOf(x, se, df float64) float64 {
	if se == 0 {
		switch {
		case x > 0:
			return 0
		case x < 0:
			return 1
		default:
			return 0.5
		}
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-x / se)
}
