package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// TotalVariation returns half the sum of the absolute differences of two distributions over the
// same categories: the largest difference that they give any set of categories, 0 to 1. It panics
// if the lengths differ.
func TotalVariation(p, q []float64) float64 {
	if len(p) != len(q) {
		panic("stats: distributions over different categories")
	}
	sum := 0.0
	for i := range p {
		sum += math.Abs(p[i] - q[i])
	}
	return sum / 2
}

// chanceDraws is the number of simulated experiments behind [ChanceDistance]: the 99 % quantile is
// then the 40th largest, known to about 1 % of itself.
const chanceDraws = 4000

// ChanceDistance returns the total variation distance between p and the shares of n independent
// draws from p that chance alone gives: the mean, and the value that one experiment in a hundred
// exceeds. Both are simulated, with a fixed seed: 4,000 multinomial samples, each a chain of
// conditional binomials (Devroye, Non-Uniform Random Variate Generation, 1986, XI.1.2). p need not
// be normalized. With no category or n below 1 both are NaN.
func ChanceDistance(p []float64, n int) (mean, q99 float64) {
	total := 0.0
	for _, x := range p {
		total += x
	}
	if n < 1 || !(total > 0) {
		return math.NaN(), math.NaN()
	}
	rnd := rand.New(rand.NewPCG(0x5eed, uint64(len(p))))
	d := make([]float64, chanceDraws)
	for i := range d {
		left := n
		rest := 1.0
		sum := 0.0
		for _, x := range p {
			share := x / total
			k := left
			if share < rest {
				k = binomial(rnd, left, share/rest)
			}
			sum += math.Abs(float64(k)/float64(n) - share)
			left, rest = left-k, rest-share
			if rest < 1e-12 {
				rest = 0
			}
		}
		d[i] = sum / 2
		mean += d[i] / chanceDraws
	}
	slices.Sort(d)
	return mean, d[chanceDraws*99/100]
}

// DesignEffect returns by how much the counts of clusters (rows) over categories (columns) vary
// more than they would if every draw of a cluster were independent and of the same shares:
// Pearson's X2 of the table over its degrees of freedom, and not below 1. An estimate from n
// clustered draws varies like one from n divided by it (J. N. K. Rao and A. J. Scott, The analysis
// of categorical data from complex sample surveys, Journal of the American Statistical Association
// 76, 1981: the first-order correction, here with the mean over all categories). With fewer than
// two clusters or categories that have any it is 1. Shares that are off in all clusters alike do
// not raise it.
func DesignEffect(table [][]float64) float64 {
	var rows, columns []float64
	n := 0.0
	for _, row := range table {
		sum := 0.0
		for k, v := range row {
			if k == len(columns) {
				columns = append(columns, 0)
			}
			columns[k] += v
			sum += v
		}
		rows = append(rows, sum)
		n += sum
	}
	r, c := 0, 0
	for _, v := range rows {
		if v > 0 {
			r++
		}
	}
	for _, v := range columns {
		if v > 0 {
			c++
		}
	}
	if r < 2 || c < 2 {
		return 1
	}
	x2 := 0.0
	for g, row := range table {
		for k, v := range row {
			if e := rows[g] * columns[k] / n; e > 0 {
				x2 += (v - e) * (v - e) / e
			}
		}
	}
	return max(1, x2/float64((r-1)*(c-1)))
}

// binomial draws the number of successes in n trials: by inversion (Kachitvanichyanukul and
// Schmeiser's BINV, 1988) while fewer than 30 are expected on the rarer side, else the rounded
// normal approximation.
func binomial(rnd *rand.Rand, n int, p float64) int {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	case p > 0.5:
		return n - binomial(rnd, n, 1-p)
	}
	mean := float64(n) * p
	if mean >= 30 {
		k := math.Round(mean + math.Sqrt(mean*(1-p))*rnd.NormFloat64())
		return int(min(max(k, 0), float64(n)))
	}
	odds := p / (1 - p)
	u, f := rnd.Float64(), math.Exp(float64(n)*math.Log1p(-p))
	k := 0
	for ; u > f && k < n; k++ {
		u -= f
		f *= odds * float64(n-k) / float64(k+1)
	}
	return k
}
