package limiter

import (
	"fmt"
	"math"
)

// Text returns one line: the indicator, its value, its limit, and how it rose.
func (e Evidence) Text() string {
	s := fmt.Sprintf("%s: %s at capacity, limit %s", e.What, e.value(e.At), e.value(e.Limit))
	if e.Role != "" {
		s = e.Role + ": " + s
	}
	if e.Base != nil {
		s += fmt.Sprintf(", %s below 0.7 of it", e.value(*e.Base))
	}
	if e.Rho != nil {
		s += fmt.Sprintf(", with the load rho %.2f over %d levels", *e.Rho, e.Levels)
	}
	return s
}

func (e Evidence) value(v float64) string {
	switch {
	case e.Unit == "ratio":
		return fmt.Sprintf("%.3g %%", 100*v)
	case e.Unit == "s":
		return fmt.Sprintf("%.3g ms", 1000*v)
	}
	return fmt.Sprintf("%.3g%s", v, e.Unit)
}

func sampled(v []float64, take func(i int) bool) (out []float64) {
	for i, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) && take(i) {
			out = append(out, x)
		}
	}
	return out
}

func deviations(v []float64, m float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Abs(x - m)
	}
	return out
}
