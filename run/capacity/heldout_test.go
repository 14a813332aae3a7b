package capacity

import (
	"math"
	"time"
)

// heldOut are servers that nothing in this package was tuned on: other seeds, other capacities,
// other shapes of knee, other noise, other starts. They were added when the constants stood.
func heldOut() []scenario {
	hour := func(start, capacity float64) Config {
		return Config{
			Start:  int(start * capacity),
			Max:    int(3 * capacity),
			Window: 15 * time.Second,
			Budget: time.Hour,
		}
	}
	all := []scenario{
		row("one server 700", 700, single, 0.03, 120, 1, hour(0.6, 700)),
		row("one server 25000, from a tenth", 25000, single, 0.02, 60, 1, hour(0.1, 25000)),
		row("fluid 36000, from a tenth", 36000, fluid, 0.03, 90, 1, hour(0.1, 36000)),
		row("fluid 5000, start too high", 5000, fluid, 0.03, 90, 1, hour(1.3, 5000)),
		row("retrograde 2500", 2500, retrograde, 0.03, 120, 1, hour(0.5, 2500)),
		row("retrograde 14000, slow noise", 14000, retrograde, 0.02, 400, 1, hour(0.5, 14000)),
		row("pauses 3000", 3000, pauses, 0.02, 60, 1, hour(0.6, 3000)),
		row("two noises 6000", 6000, neighbor, 0.02, 30, 1, hour(0.6, 6000)),
		{
			name:     "sticky 5000, deeper",
			capacity: 5000,
			server:   deeper,
			noise:    0.015,
			tau:      90,
			cfg:      hour(0.6, 5000),
			nominal:  true,
		},
		{
			name:     "alerts 30 s 9000",
			capacity: 9000,
			server:   retrograde,
			noise:    0.03,
			tau:      90,
			alertGap: 900,
			alertLen: 30,
			cfg:      hour(0.6, 9000),
		},
		{
			name:     "drift 3 %/h 3000",
			capacity: 3000,
			server:   single,
			noise:    0.02,
			tau:      60,
			drift:    0.03,
			cfg:      hour(0.6, 3000),
		},
		{
			name:     "collapsing 4000",
			capacity: 4000,
			server:   collapsing,
			noise:    0.02,
			tau:      90,
			cfg:      hour(0.6, 4000),
			nominal:  true,
		},
		row("x10: retrograde 1400", 1400, retrograde, 0.02, 60, 0.1, tenth(hour(0.6, 1400))),
	}
	for i := range all {
		all[i].seeds = 50_000
		if all[i].pace == 0 {
			all[i].pace = 1
		}
	}
	return all
}

// single is M/M/1: the smoothest of knees, latency grows from the beginning.
func single(capacity, pace float64) *model {
	const limit = 0.25
	const alone = 0.04
	z := 8 * pace
	perUser := (1 - alone/limit) / capacity
	level := alone
	return &model{
		rules: []simRule{{name: "p95(op) < 250ms", limit: limit, less: true, noise: 0.04}},
		step: func(dt, n, speed float64) ([]float64, float64) {
			rho := min(n*perUser/speed, 0.995)
			level += (alone/(1-rho) - level) * min(1, dt/(0.15*z))
			return []float64{level}, n
		},
	}
}

// retrograde gets slower the more wait in it, as lock contention does (Gunther's coherency): past
// the knee it carries less than at it, down to nineteen twentieths. It is a closed queue like
// fluid.
func retrograde(capacity, pace float64) *model { return contended(capacity, pace, 0.95) }

// collapsing carries half as much past its knee, and recovers only when the queue is gone.
func collapsing(capacity, pace float64) *model { return contended(capacity, pace, 0.5) }

func contended(capacity, pace, worst float64) *model {
	const limit = 0.2
	const alone = 0.03
	z := 6 * pace
	mu := capacity / (z + limit) // at the knee, with limit*mu waiting
	fair := limit * mu
	rate := func(q float64) float64 { return mu * (1 + 0.05*(1-q/fair)) }
	q := 0.0
	return &model{
		rules: []simRule{{name: "mean(op) < 200ms", limit: limit, less: true, noise: 0.02}},
		step: func(dt, n, speed float64) ([]float64, float64) {
			x := 0.0
			for range 8 {
				m := max(rate(q), worst*mu) * speed
				x = m * min(1, q/(m*alone))
				q = max(q+dt/8*((n-q)/z-x), 0)
			}
			if x <= 0 {
				return []float64{alone}, 0
			}
			return []float64{q / x}, x
		},
	}
}

// pauses stops for a twentieth of a second now and then, as collectors do, the more often the more
// users; the rule is of the mean, which has their spikes in it.
func pauses(capacity, pace float64) *model {
	inner := fluid(capacity, pace)
	t, next := 0.0, 0.0
	m := &model{rules: inner.rules}
	m.step = func(dt, n, speed float64) ([]float64, float64) {
		v, w := inner.step(dt, n, speed)
		t += dt
		if t > next {
			next = t + 4*pace*capacity/max(n, 1)
			v[0] += 0.05
		}
		return v, w
	}
	return m
}

// neighbor is CPU on a host whose neighbor comes and goes, every three minutes for half as long,
// and takes 3 %.
func neighbor(capacity, pace float64) *model {
	return cpu(capacity, pace).at(func(t, _, _, speed float64) float64 {
		if math.Mod(t, 180*pace) < 60*pace {
			speed *= 0.97
		}
		return speed
	})
}

// deeper is sticky with a wider loop and a smooth knee.
func deeper(capacity, pace float64) *model {
	return latching(single(capacity, pace), 0.95, func(n, speed float64) (up, down bool) {
		return n > 1.06*capacity*speed, n < 0.95*capacity*speed
	})
}
