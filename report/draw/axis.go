package draw

import (
	"math"
	"strconv"
	"strings"
)

// A Tick is a labeled place on an axis.
type Tick struct {
	At    float64
	Label string
}

// Ticks returns about n round places from lo to hi or just above it, both included. No two labels
// are alike.
func Ticks(lo, hi float64, n int) []Tick {
	step := roundStep((hi - lo) / float64(n))
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	if s := step * math.Pow(10, float64(decimals)); decimals < 9 &&
		math.Abs(s-math.Round(s)) > 1e-6 {
		decimals++ // 2.5, 0.25
	}
	var out []Tick
	for k := math.Floor(lo/step + 1e-9); len(out) == 0 || out[len(out)-1].At < hi-1e-9*step && len(out) <= 4*n; k++ {
		out = append(out, Tick{At: k * step})
	}
	for short := 2; ; short++ {
		alike := false
		for i := range out {
			out[i].Label = axisNumber(out[i].At, step, decimals, short)
			alike = alike || i > 0 && out[i].Label == out[i-1].Label
		}
		if !alike || short == 9 {
			return out
		}
	}
}

// axisNumber writes a number of an axis. Thousands get a k, millions an M and billions a G, with at
// most short decimals; other numbers have at most the given decimals. With short = 2, no label is
// wider than six signs.
func axisNumber(v, step float64, decimals, short int) string {
	if v == 0 {
		return "0"
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		size := u.size
		if u.name == "k" {
			size = 1e3
		}
		if math.Abs(v) >= u.size || step >= u.size/10 && math.Abs(v) >= size {
			return upTo(short, v/size) + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// roundStep returns the next of 1, 2, 2.5, 5 times a power of ten that is not below raw.
func roundStep(raw float64) float64 {
	if !(raw > 0) || math.IsInf(raw, 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// Clock returns the ticks of the time axis up to end seconds, none beyond it, and the unit of their
// labels.
func Clock(end float64) (marks []Tick, unit string) {
	size, unit := 1.0, "s"
	switch {
	case end > 3*3600:
		size, unit = 3600, "h"
	case end > 180:
		size, unit = 60, "min"
	}
	steps := []float64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600}
	step := steps[len(steps)-1]
	for _, s := range steps {
		if end/size/s <= 10 {
			step = s
			break
		}
	}
	if end/size < 4 {
		step = roundStep(end / size / 5)
	}
	if n := end / size / step; n > 50 {
		step = roundStep(end / size / 8)
	}
	for k := 0.0; k*step*size <= end*(1+1e-9); k++ {
		marks = append(marks, Tick{k * step * size, upTo(9, k*step)})
	}
	return marks, unit
}

// upTo writes v with at most that many decimals, one or more.
func upTo(decimals int, v float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}
