package stats

import "math"

// Mean returns the arithmetic mean, NaN of no values.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	t := 0.0
	for _, x := range v {
		t += x
	}
	return t / float64(len(v))
}

// GeometricMean returns the geometric mean of positive numbers, NaN of no values.
func GeometricMean(v []float64) float64 {
	t := 0.0
	for _, x := range v {
		t += math.Log(x)
	}
	return math.Exp(t / float64(len(v)))
}
