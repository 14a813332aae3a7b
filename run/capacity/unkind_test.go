package capacity

import (
	"math"
	"time"
)

// unkind are servers that a search can answer wrongly with a tight interval: those that answer
// late, that remember an overload, and those whose windows are not spread evenly about their
// middle. Their queues and memories are not scaled by the pace.
func unkind() []scenario {
	short := fast(3000)
	short.Budget = 36 * time.Second
	all := []scenario{
		{name: "x10: 20 s late 3000", server: late(20), cfg: fast(3000), nominal: true},
		{name: "x10: 10 s late 3000, 36 s", server: late(10), cfg: short, nominal: true},
		{name: "x10: latched 3000", server: latched, cfg: fast(3000), nominal: true, held: 1800},
		{name: "x10: slow windows 3000", server: slowWindows, cfg: fast(3000)},
		{name: "x10: skewed p99 3000", server: lopsided, cfg: fast(3000)},
	}
	for i := range all {
		all[i].capacity = 3000
		all[i].noise = 0.02
		all[i].tau = 20
		all[i].pace = 0.1
	}
	return all
}

// late shows the effect of n users only after so many seconds: a queue outside of the measured path
// fills first.
func late(delay float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		m := mmc(capacity, pace)
		inner := m.step
		type load struct{ at, n float64 }
		var past []load
		now, n := 0.0, -1.0
		m.step = func(dt, users, speed float64) ([]float64, float64) {
			if n < 0 {
				n = users
			}
			now += dt
			past = append(past, load{now, users})
			for len(past) > 0 && past[0].at <= now-delay {
				n, past = past[0].n, past[1:]
			}
			return inner(dt, n, speed)
		}
		return m
	}
}

// latched carries three fifths once it was overloaded, until the load falls below half.
func latched(capacity, pace float64) *model {
	return latching(mmc(capacity, pace), 0.6, func(n, speed float64) (up, down bool) {
		return n > 1.02*capacity*speed, n < 0.5*capacity
	})
}

// slowWindows takes three times as long in 35 of 100 windows.
func slowWindows(capacity, pace float64) *model {
	m := fluid(capacity, pace)
	m.rules[0].factor = slowBeyond(0.3853)
	return m
}

// slowBeyond returns the factor of windows that take three times as long where z exceeds cut.
func slowBeyond(cut float64) func(z float64) float64 {
	return func(z float64) float64 {
		if z > cut {
			return 3 * (1 + 0.06*math.Mod(z, 1))
		}
		return 1 + 0.06*z
	}
}

// lopsided is M/M/8 whose p99 of a window has a long tail: its log is spread as an exponential
// about its median.
func lopsided(capacity, pace float64) *model {
	m := single(capacity, pace)
	m.rules[0].factor = func(z float64) float64 {
		return math.Exp(1.0 * (-math.Log(math.Erfc(z/math.Sqrt2)/2) - math.Ln2))
	}
	return m
}

// herd brings the first users in at once, who slow the server for a while; afterwards it is M/M/8.
func herd(capacity, pace float64) *model {
	m := mmc(capacity, pace)
	inner, now := m.step, 0.0
	m.step = func(dt, n, speed float64) ([]float64, float64) {
		v, weight := inner(dt, n, speed)
		if now += dt; now < 150*pace {
			v[0] *= 40
		}
		return v, weight
	}
	return m
}
