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
