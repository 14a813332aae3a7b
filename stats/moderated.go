package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// BenjaminiHochberg returns the p-values adjusted for being a family of which a share of false
// findings is allowed, in the order given: taking all with an adjusted value at most q as findings
// keeps the expected share of false ones among them at q, for tests that are independent or depend
// on each other positively. NaN stands for a test that could not be made; it is not a member of the
// family and stays NaN.
//
// Source: Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995).
func BenjaminiHochberg(p []float64) []float64 {
	order := make([]int, 0, len(p))
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	// the largest first
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	adjusted, smallest := slices.Clone(p), 1.0
	for k, i := range order {
		rank := len(order) - k
		smallest = min(smallest, p[i]*float64(len(order))/float64(rank))
		adjusted[i] = smallest
	}
	return adjusted
}

// Prior is the common distribution of many variances: as if each came with DF further degrees of
// freedom around Variance. DF is +Inf when the variances differ no more than chance makes them, and
// 0 when nothing is known of them.
type Prior struct {
	Variance, DF float64
}

// VariancePrior estimates the prior of the variances of many metrics, each with df[i] > 0 degrees
// of freedom, by the moments of their logarithms. Variances that are almost zero against the others
// (below 1e-5 of the median) count as that much. Metrics with a variance or df that is not a number
// above or equal to zero are left out; with fewer than two, or when more than half do not vary at
// all, the prior is unknown: DF is 0.
//
// Source: Smyth, Statist. Appl. Genet. Mol. Biol. 3 (2004), section 6.2.
func VariancePrior(variance, df []float64) Prior {
	var v, d []float64
	for i, x := range variance {
		if x >= 0 && !math.IsInf(x, 0) && df[i] > 0 {
			v, d = append(v, x), append(d, df[i])
		}
	}
	middle := Median(v)
	if len(v) < 2 || !(middle > 0) {
		return Prior{}
	}
	e := make([]float64, len(v))
	pooled := 0.0
	expected := 0.0
	for i, x := range v {
		x = max(x, 1e-5*middle)
		e[i] = math.Log(x) - mathext.Digamma(d[i]/2) + math.Log(d[i]/2)
		pooled += x / float64(len(v))
		expected += trigamma(d[i]/2) / float64(len(v))
	}
	s := Sample{Values: e}
	spread := square(s.SD()) - expected
	if spread <= 0 {
		return Prior{Variance: pooled, DF: math.Inf(1)}
	}
	half := trigammaInverse(spread)
	return Prior{
		Variance: math.Exp(s.Mean() + mathext.Digamma(half) - math.Log(half)),
		DF:       2 * half,
	}
}

// Moderate returns the variance of one metric, shrunk towards the prior, and its degrees of
// freedom. A variance with df degrees of freedom that is 0 stays above zero when there is a prior.
// Pooled is the number of degrees of freedom of all metrics together, which the result never
// exceeds.
func (p Prior) Moderate(variance, df, pooled float64) (float64, float64) {
	switch {
	case p.DF == 0:
		return variance, df
	case math.IsInf(p.DF, 1):
		return p.Variance, max(pooled, df)
	}
	return (p.DF*p.Variance + df*variance) / (p.DF + df), min(p.DF+df, max(pooled, df))
}

// ModeratedTest is the test of one metric among many.
type ModeratedTest struct {
	// T is the mean over its moderated standard error SE, with DF degrees of freedom.
	T, DF, SE float64
	// P is the p-value of the hypothesis that the true mean is between -floor and +floor, whichever
	// of the two ends is nearer to the mean; of "no change" for a floor of 0.
	P float64
}

// ModeratedT tests every sample for a mean beyond ±floor[i], with variances that borrow from each
// other (eBayes): where runs are few, a metric that by chance hardly varied among them is not taken
// to be that exact. Samples of different length are allowed. A sample below [MinInterval] values,
// or a floor that is not a number from 0 on, gives NaN. It panics if the lengths differ.
//
// Source: Smyth (2004) for the variances; McCarthy and Smyth, Bioinformatics 25 (2009), for the
// floor.
func ModeratedT(samples []Sample, floor []float64) ([]ModeratedTest, Prior) {
	if len(samples) != len(floor) {
		panic("stats: samples and floors of different number")
	}
	variance, df := make([]float64, len(samples)), make([]float64, len(samples))
	pooled := 0.0
	for i, s := range samples {
		variance[i] = math.NaN()
		if s.N() >= MinInterval {
			variance[i], df[i] = square(s.SD()), float64(s.N()-1)
			pooled += df[i]
		}
	}
	prior := VariancePrior(variance, df)
	out := make([]ModeratedTest, len(samples))
	for i, s := range samples {
		out[i] = ModeratedTest{T: math.NaN(), DF: math.NaN(), SE: math.NaN(), P: math.NaN()}
		if s.N() < MinInterval || !(floor[i] >= 0) {
			continue
		}
		v, d := prior.Moderate(variance[i], df[i], pooled)
		out[i] = moderated(s.Mean(), math.Sqrt(v/float64(s.N())), d, floor[i])
	}
	return out, prior
}

func moderated(mean, se, df, floor float64) ModeratedTest {
	size := math.Abs(mean)
	if se == 0 { // no metric varied: any change beyond the floor is certain
		t := ModeratedTest{T: math.Copysign(math.Inf(1), mean), DF: df, P: 0}
		if size <= floor {
			t.P = 1
		}
		if mean == 0 {
			t.T = 0
		}
		return t
	}
	tail := func(x float64) float64 { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-x) }
	return ModeratedTest{
		T:  mean / se,
		DF: df,
		SE: se,
		P:  min(1, tail((size-floor)/se)+tail((size+floor)/se)),
	}
}

// trigamma is the second derivative of the logarithm of the gamma function, x > 0: the recurrence
// up to 15, and the asymptotic series from there (Abramowitz and Stegun 6.4.6 and 6.4.12).
func trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 15; x++ {
		sum += 1 / (x * x)
	}
	y := 1 / (x * x)
	return sum + 1/x + y/2 + y/x*(1.0/6-y*(1.0/30-y*(1.0/42-y*(1.0/30-y*5.0/66))))
}

// tetragamma is the derivative of trigamma.
func tetragamma(x float64) float64 {
	sum := 0.0
	for ; x < 15; x++ {
		sum -= 2 / (x * x * x)
	}
	y := 1 / (x * x)
	return sum - y - y/x - y*y*(0.5-y*(1.0/6-y*(1.0/6-y*(0.3-y*5.0/6))))
}

// trigammaInverse returns the x > 0 whose trigamma is y > 0, by Newton's method on 1/trigamma,
// which is convex and nearly linear (Smyth 2004, appendix).
func trigammaInverse(y float64) float64 {
	switch {
	case y > 1e7:
		return 1 / math.Sqrt(y)
	case y < 1e-6:
		return 1 / y
	}
	x := 0.5 + 1/y
	for range 50 {
		tri := trigamma(x)
		step := tri * (1 - tri/y) / tetragamma(x)
		x += step
		if math.Abs(step) < 1e-13*x {
			break
		}
	}
	return x
}
