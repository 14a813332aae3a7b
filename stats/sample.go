package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// MinInterval is the smallest number of values for which an interval or a t test is given. Two
// values have a spread with one degree of freedom; an interval from it is 13 standard errors wide
// on each side and would be read as knowledge.
const MinInterval = 3

// Warnings that a [Sample] can carry. Compare with errors.Is.
var (
	ErrEmpty    = errors.New("there are no values")
	ErrTooFew   = errors.New("too few values for an interval")
	ErrConstant = errors.New("the values do not vary at all")
)

// Sample is one number from each of n runs, or one difference from each of n pairs, in the order in
// which they were measured. Warnings must be shown with any number computed from it. The zero value
// is an empty sample without warnings; make samples with [NewSample].
type Sample struct {
	Values   []float64
	Warnings []error
}

// NewSample returns a sample of a copy of values. An infinite or undefined value is an error that
// names its position, counted from 1. Fewer than [MinInterval] values, or values without any
// spread, are a warning.
func NewSample(values ...float64) (Sample, error) {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Sample{}, fmt.Errorf("value %d is %v: a finite number is needed", i+1, v)
		}
	}
	s := Sample{Values: slices.Clone(values)}
	switch n := len(values); {
	case n == 0:
		s.Warnings = append(s.Warnings, ErrEmpty)
	case n < MinInterval:
		s.Warnings = append(
			s.Warnings,
			fmt.Errorf("%w: %d given, %d needed", ErrTooFew, n, MinInterval),
		)
	case s.constant():
		s.Warnings = append(s.Warnings, fmt.Errorf("%w: were they rounded or copied?", ErrConstant))
	}
	return s, nil
}

// LogRatios returns the sample of ln(after[i]/before[i]). All numbers must be finite and above
// zero; the error names the first pair that is not, counted from 1.
func LogRatios(before, after []float64) (Sample, error) {
	if err := sameLength(before, after); err != nil {
		return Sample{}, err
	}
	d := make([]float64, len(before))
	for i := range before {
		for _, v := range []float64{before[i], after[i]} {
			if !(v > 0) || math.IsInf(v, 0) {
				return Sample{}, fmt.Errorf(
					"pair %d has the value %v: a ratio needs finite numbers above zero",
					i+1,
					v,
				)
			}
		}
		// The difference of logarithms, not the logarithm of the quotient, which may overflow.
		// Equal numbers give exactly zero.
		d[i] = math.Log(after[i]) - math.Log(before[i])
	}
	return NewSample(d...)
}

// Differences returns the sample of after[i]-before[i], in the unit of the arguments. It is meant
// for rates that may be zero. All numbers must be finite.
func Differences(before, after []float64) (Sample, error) {
	if err := sameLength(before, after); err != nil {
		return Sample{}, err
	}
	d := make([]float64, len(before))
	for i := range before {
		d[i] = after[i] - before[i]
		if math.IsNaN(d[i]) || math.IsInf(d[i], 0) {
			return Sample{}, fmt.Errorf(
				"pair %d has the values %v and %v: finite numbers are needed",
				i+1,
				before[i],
				after[i],
			)
		}
	}
	return NewSample(d...)
}

func sameLength(before, after []float64) error {
	if len(before) != len(after) {
		return fmt.Errorf(
			"%d values before and %d after do not make pairs",
			len(before),
			len(after),
		)
	}
	return nil
}

// N returns the number of values.
func (s Sample) N() int { return len(s.Values) }

// Mean returns the arithmetic mean, NaN for an empty sample.
func (s Sample) Mean() float64 {
	if len(s.Values) == 0 {
		return math.NaN()
	}
	// The mean of deviations from the first value is exact for constant samples.
	first, sum := s.Values[0], 0.0
	for _, v := range s.Values {
		sum += v - first
	}
	return first + sum/float64(len(s.Values))
}

// SD returns the standard deviation with n-1 in the denominator, NaN below two values.
func (s Sample) SD() float64 {
	n := len(s.Values)
	if n < 2 {
		return math.NaN()
	}
	mean, sum := s.Mean(), 0.0
	for _, v := range s.Values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(n-1))
}

// Median returns the middle value, or the mean of the two middle values; NaN for an empty sample.
func (s Sample) Median() float64 { return Median(s.Values) }

// Without returns the sample without the values at the given positions, counted from 0.
func (s Sample) Without(positions ...int) Sample {
	var rest []float64
	for i, v := range s.Values {
		if !slices.Contains(positions, i) {
			rest = append(rest, v)
		}
	}
	out, err := NewSample(rest...)
	if err != nil {
		// NewSample refuses them
		panic("stats: a sample held a value that is not finite: " + err.Error())
	}
	return out
}

func (s Sample) constant() bool {
	for _, v := range s.Values {
		if v != s.Values[0] {
			return false
		}
	}
	return true
}

// Median returns the middle of some values, the mean of the middle two of an even number of them,
// NaN of none. It leaves them as they are.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return v[n/2]
	}
	return v[n/2-1] + (v[n/2]-v[n/2-1])/2
}
