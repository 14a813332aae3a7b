package stats

import "math"

// MinStretches is the smallest number of stretches of a run from which its inner spread is
// estimated.
const MinStretches = 5

// PriorBetween is the standard deviation of differences between deployments (of ln ratios) that is
// assumed before blocks have shown it, and PriorBlocks how many blocks beyond the first it counts
// as.
const (
	PriorBetween = 0.02
	PriorBlocks  = 3
)

// StretchVariance returns the variance of a block's difference by the inside of its runs: that of
// the mean of the differences of so many equal stretches. Stretches should be so long that
// neighbors hardly depend on each other. NaN below [MinStretches], and where a value is not finite.
func StretchVariance(differences []float64) float64 {
	s, err := NewSample(differences...)
	if err != nil || s.N() < MinStretches {
		return math.NaN()
	}
	return square(s.SD()) / float64(s.N())
}

// Variances are the parts of the variance of the differences of blocks: what the inside of a block
// leaves open, which longer runs reduce, and what deployments differ by, which only more blocks do.
type Variances struct {
	Blocks                 int
	Total, Within, Between float64 // variances
}

// NewVariances estimates both parts by the method of moments: Within is the mean of the blocks'
// variances within, Total the variance of their differences, Between the excess of Total, at least
// 0. It reports false below two blocks, and where the numbers do not fit each other.
//
// Source: Kalibera and Jones, Rigorous Benchmarking in Reasonable Time (ISMM 2013), section 6, with
// two levels.
func NewVariances(differences, within []float64) (Variances, bool) {
	s, err := NewSample(differences...)
	if err != nil || s.N() < 2 || len(within) != s.N() {
		return Variances{}, false
	}
	l := Variances{Blocks: s.N(), Total: square(s.SD())}
	for _, v := range within {
		if !(v >= 0) || math.IsInf(v, 1) {
			return Variances{}, false
		}
		l.Within += v / float64(s.N())
	}
	l.Between = max(0, l.Total-l.Within)
	return l, true
}

// MDE returns the smallest effect that so many blocks find in four of five cases at alpha, with
// runs longer by a factor.
func (l Variances) MDE(blocks int, longer, alpha float64) float64 {
	return MDE(math.Sqrt(l.Between+l.Within/longer), blocks, alpha)
}

// ExpectedBetween returns the variance between deployments to reckon with in the next block: that
// of the blocks so far (as [NewVariances]) and [PriorBetween], each weighted by its degrees of
// freedom. Differences that are all larger by the same amount give the same result, and so do
// differences of the other sign: it knows the spread, not the effect.
func ExpectedBetween(differences, within []float64) float64 {
	prior := square(PriorBetween)
	l, ok := NewVariances(differences, within)
	if !ok {
		return prior
	}
	df := float64(l.Blocks - 1)
	return (PriorBlocks*prior + df*l.Between) / (PriorBlocks + df)
}

// LongEnough is the rule of "measure: auto": it reports whether a block whose inside leaves such a
// variance to a difference is long enough, after blocks with such differences and variances. More
// time would gain less than another deployment does. It depends on the spread of the differences,
// and neither on their size nor on their sign: whether a block ends tells nothing of the arms.
func LongEnough(within float64, pastDifferences, pastWithin []float64) bool {
	return within <= ExpectedBetween(pastDifferences, pastWithin)
}
