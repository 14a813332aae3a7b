package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A SettlingState describes how a phase that should be steady reached its level.
type SettlingState int

// The states, from good to bad.
const (
	// SettlingUnknown: below [MinWarmup] values, or with values that are not finite.
	SettlingUnknown SettlingState = iota
	// Settled: no warm-up is shown. A steady drift is settled too: its trend is a finding of its
	// own ([RunDrift]).
	Settled
	// SettledLate: the beginning of the phase was warm-up, and moves its mean by [LateBias] or
	// more.
	SettledLate
	// NeverSettled: more than half of the phase would have to go.
	NeverSettled
)

const (
	// LateBias is the least bias of the mean of a phase that makes a warm-up worth a word: 2 %.
	LateBias = 0.02
	// NeverLatency is the least difference of the latencies of the two parts of a phase that never
	// settled: 10 %.
	NeverLatency = 0.10
	// NeverRate is the same for the throughput: 5 %.
	NeverRate = 0.05
	// settlingErrors is the least distance of the cut part from the rest, in standard errors: the
	// cut is chosen where they differ most, so that two or three are common by chance. It grows up
	// to twice that where few independent values estimate the error poorly.
	settlingErrors = 5
)

// Settling is the result of [SettlingOf].
type Settling struct {
	State SettlingState
	// Cut is the number of first values that are left out; above 0 for SettledLate and NeverSettled
	// alone, and for NeverSettled a lower bound.
	Cut int
	// Shift is the mean of the values before the cut minus that of the rest, Bias the mean of all
	// minus that of the rest: logarithms, so that 0.02 is 2 %.
	Shift, Bias float64
	// Rate is true if the throughput decided, and not the latency.
	Rate bool
}

// FewHoles reports whether so few of the n values of a series in time are missing, at most a tenth,
// that neighbors may stand for them.
func FewHoles(holes, n int) bool { return 10*holes <= n }

// SettlingOf reports whether the series of a phase, logarithms of mean latency and of throughput at
// equal distances in time, were steady from the beginning. The statistic of MSER-5 proposes a cut,
// of each series by itself: the earliest that cannot be told from the best at 1 %. The later or
// worse cut counts. By itself it is not a finding: MSER-5 cuts something off many steady series,
// and refuses 4 to 10 % of them. A cut counts when
//
//   - the part before it lies at least five standard errors from the rest (ten, where the phase is worth only eight
//     independent values; with fewer nothing counts);
//   - it is not a drift: a break there fits better than a straight line through the whole phase, or the part before it
//     lies as many standard errors from the straight line that the rest follows; and
//   - it matters: it moves the mean of the phase by [LateBias] or, where more than half would have to go, the parts
//     differ by [NeverLatency] or [NeverRate].
//
// docs/method/statistics.md has its error rates.
func SettlingOf(logLatency, logRate []float64) Settling {
	if len(logLatency) != len(logRate) || len(logLatency) < MinWarmup || !finite(logLatency) ||
		!finite(logRate) {
		return Settling{}
	}
	a, b := settling(logLatency, NeverLatency), settling(logRate, NeverRate)
	b.Rate = true
	if b.State > a.State || b.State == a.State && b.Cut > a.Cut {
		return b
	}
	return a
}

// settling judges one series; never is the least difference of the parts of one that never settled.
func settling(values []float64, never float64) Settling {
	z := mser(values)
	batches := len(values) / MSERBatch
	cut := earliest(z, batches)
	if half := len(values) / 2; cut > half {
		if s := cutAt(values, cut, never); s.State == NeverSettled {
			return s
		}
		cut = earliest(z[:half/MSERBatch+1], batches)
	}
	return cutAt(values, cut, never)
}

// earliest returns the first cut, in values, that cannot be told from the best, given the statistic
// of MSER-5 of every cut of n batches. The statistic is a squared standard error, and past the
// warm-up it differs by chance from cut to cut. A cut is as good as the best one when the standard
// error is [negligible], or when the batches that the best one leaves out besides may belong to the
// same steady state as the rest, by Chow's test of additional observations (Econometrica 28, 1960)
// at the level [apart].
func earliest(z []float64, n int) int {
	best := slices.Index(z, slices.Min(z))
	rest := float64(n - best)
	squares := z[best] * rest * rest
	for cut := range best {
		all, more := float64(n-cut), float64(best-cut)
		if z[cut] <= negligible*negligible ||
			mathext.RegIncBeta((rest-1)/2, more/2, squares/(z[cut]*all*all)) >= apart {
			return cut * MSERBatch
		}
	}
	return best * MSERBatch
}

// cutAt judges one cut.
func cutAt(values []float64, cut int, never float64) Settling {
	if cut == 0 {
		return Settling{State: Settled}
	}
	n := len(values)
	ok := 2*cut <= n
	head, rest := Sample{Values: values[:cut]}, Sample{Values: values[cut:]}
	shift := head.Mean() - rest.Mean()
	s := Settling{
		State: SettledLate,
		Cut:   cut,
		Shift: shift,
		Bias:  shift * float64(cut) / float64(n),
	}
	matters := math.Abs(s.Bias) >= math.Log1p(LateBias)
	first, after := leastSquares(head.Values), leastSquares(rest.Values)
	within := after.rest // noise, of the steady state if that is long
	if float64(n-cut)/LongestTime(within) < longEnough {
		within = append(first.rest, after.rest...) // residuals of two lines
	}
	if !ok {
		s.State = NeverSettled
		matters = math.Abs(shift) >= math.Log1p(never)
		within = append(around(head), around(rest)...) // two levels
	}
	noise := Sample{Values: within}
	tau := LongestTime(within)
	worth := float64(len(within)) / tau
	if !matters || !(worth >= leastWorth) {
		return Settling{State: Settled}
	}
	sd := noise.SD() / math.Sqrt(1-2/worth) // of few independent values it is too small
	far := func(d, variance float64) bool {
		return math.Abs(d) >= settlingErrors*(1+leastWorth/worth)*sd*math.Sqrt(tau*variance)
	}
	one, other := 1/float64(cut), 1/float64(n-cut)
	level := far(shift, one+other) &&
		sumSquares(around(head))+sumSquares(around(rest)) < sumSquares(leastSquares(values).rest)
	back := float64(n) / 2 // from the middle of the rest to that of the head
	start := far(shift+after.slope*back, one+other+back*back/after.xx)
	if !level && !start {
		return Settling{State: Settled}
	}
	return s
}

const (
	// negligible is the standard error of a mean that no cut needs to improve: a tenth of
	// [LateBias].
	negligible = LateBias / 10
	// apart is the level at which batches are told from the steady state.
	apart = 0.01
)

// leastWorth is the number of independent values that a phase must be worth.
const leastWorth = 8

// longEnough is the number of independent values that a steady state must be worth to estimate its
// own noise.
const longEnough = 20

// A fitted straight line: its slope per value, the sum of the squared distances of the places from
// their middle, and its residuals.
type fitted struct {
	slope, xx float64
	rest      []float64
}

func leastSquares(values []float64) fitted {
	f := fitted{rest: around(Sample{Values: values})}
	middle, xy := float64(len(values)-1)/2, 0.0
	for i, d := range f.rest {
		x := float64(i) - middle
		f.xx += x * x
		xy += x * d
	}
	f.slope = xy / f.xx
	for i := range f.rest {
		f.rest[i] -= f.slope * (float64(i) - middle)
	}
	return f
}

// around returns the deviations from the mean.
func around(s Sample) []float64 {
	out, mean := make([]float64, s.N()), s.Mean()
	for i, v := range s.Values {
		out[i] = v - mean
	}
	return out
}

func sumSquares(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v * v
	}
	return total
}
