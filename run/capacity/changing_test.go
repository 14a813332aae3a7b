package capacity

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// changing are servers that change by themselves, or by their users, at times of their own. The
// pace makes users quicker and does not shorten a time of the server.
func changing() []scenario {
	hour := Config{Start: 1200, Max: 8000, Window: 15 * time.Second, Budget: time.Hour}
	arrivals := func(name string, cost float64) scenario {
		return scenario{name: name, server: arriving(cost), nominal: true}
	}
	all := []scenario{
		arrivals("arrivals of 60 s", 60), arrivals("arrivals of 20 s", 20),
		{name: "two modes, 30 %", server: bimodal(0.3, 0)},
		{name: "two modes, 45 %", server: bimodal(0.45, 0)},
		{name: "two modes, 55 %", server: bimodal(0.55, 0)},
		{name: "two modes, 40 %, 2 min", server: bimodal(0.4, 120)},
		{name: "sawtooth of 40 s", server: sawtooth(40, 0.15)},
		{name: "sawtooth of 5 min", server: sawtooth(300, 0.15)},
		{name: "overload remembered 90 s", server: remembering(90, 0.85), nominal: true},
		{name: "cache of 30 min", server: warming(1800, 0.5), nominal: true},
		{name: "autoscaler, 3 min", server: autoscaler(180), nominal: true},
		{name: "lingering 300 s", server: lingering(300), nominal: true},
	}
	fast := []scenario{
		arrivals("x10: arrivals of 60 s", 60),
		{name: "x10: two modes, 30 %", server: bimodal(0.3, 0)},
		{name: "x10: two modes, 45 %", server: bimodal(0.45, 0)},
		{name: "x10: two modes, 40 %, 10 s", server: bimodal(0.4, 10)},
		{name: "x10: sawtooth of 40 s", server: sawtooth(40, 0.15)},
		{name: "x10: sawtooth of 40 s, half", server: sawtooth(40, 0.08)},
		{name: "x10: overload remembered 20 s", server: remembering(20, 0.85), nominal: true},
		{name: "x10: overload remembered 45 s", server: remembering(45, 0.9), nominal: true},
		{name: "x10: overload remembered 90 s", server: remembering(90, 0.85), nominal: true},
		{name: "x10: cache of 5 min, half", server: warming(300, 0.5), nominal: true},
		{name: "x10: cache of 5 min, a third", server: warming(300, 0.33), nominal: true},
		{name: "x10: autoscaler, 1 min", server: autoscaler(60), nominal: true},
		{name: "x10: lingering 300 s", server: lingering(300), nominal: true},
		{name: "x10: lingering 30 s", server: lingering(30), nominal: true},
	}
	for i := range all {
		all[i].cfg = hour
		all[i].pace = 1
		all[i].tau = 60
	}
	for i := range fast {
		fast[i].cfg, fast[i].pace, fast[i].tau = tenth(hour), 0.1, 60
	}
	all = append(all, fast...)
	for i := range all {
		if strings.Contains(all[i].name, "autoscaler") { // one of its instances carries 500
			all[i].cfg.Start = 300
		}
	}
	for i := range all {
		all[i].capacity = 2000
		all[i].noise = 0.015
		all[i].seeds = 130_000
	}
	return all
}

// loaded is a server without memory of its own, whose latency follows its load.
func loaded(pace float64, load func(dt, n, speed float64) float64) *model {
	const limit = 0.2
	level := 0.04
	rule := simRule{name: "p95(op) < 200ms", limit: limit, less: true, noise: 0.04}
	return &model{rules: []simRule{rule},
		step: func(dt, n, speed float64) ([]float64, float64) {
			level += (0.04 + 0.16*math.Pow(min(load(dt, n, speed), 3), 5) - level) * min(1, dt/pace)
			return []float64{level}, n
		}}
}

// arriving does so many seconds of a user's steady work, at pace 1, for each user who joins, most
// of it in ten.
func arriving(cost float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		had, left := -1.0, 0.0 // user-seconds
		return loaded(pace, func(dt, n, speed float64) float64 {
			if had >= 0 {
				left += max(n-had, 0) * cost * pace
			}
			had = n
			now := left * (1 - math.Exp(-dt/(10*pace)))
			left -= now
			return (n + now/dt) / capacity / speed
		})
	}
}

// bimodal reads a p99 that is three times as long in a share of the windows, or of times of a mean
// length.
func bimodal(share, length float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		m := well(capacity, pace)
		if length == 0 {
			m.rules[0].factor = slowBeyond(math.Sqrt2 * math.Erfinv(1-2*share))
			return m
		}
		inner, rng := m.step, rand.New(rand.NewPCG(uint64(1000*share), 5))
		slow := false
		m.step = func(dt, n, speed float64) ([]float64, float64) {
			v, w := inner(dt, n, speed)
			if rng.Float64() < dt/length {
				slow = rng.Float64() < share
			}
			if slow {
				v = []float64{3 * v[0]}
			}
			return v, w
		}
		return m
	}
}

// sawtooth loses a share of its speed evenly over a period and gets it back at once, as a heap
// fills and is collected.
func sawtooth(period, share float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		t := 0.0
		return loaded(pace, func(dt, n, speed float64) float64 {
			t += dt
			return n / capacity / speed / (1 - share*math.Mod(t, period)/period)
		})
	}
}

// remembering carries a share of its capacity until so many seconds after its last overload.
func remembering(seconds, share float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		left := 0.0
		return loaded(pace, func(dt, n, speed float64) float64 {
			load := n / capacity / speed
			if left -= dt; left > 0 {
				load /= share
			}
			if load > 1.03 {
				left = seconds
			}
			return load
		})
	}
}

// warming carries a share at first, and all of its capacity as its cache fills under load.
func warming(seconds, share float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		cold := 1 - share
		return loaded(pace, func(dt, n, speed float64) float64 {
			cold -= cold * dt / (seconds / 2)
			return n / capacity / speed / (1 - cold)
		})
	}
}

// autoscaler begins with one of four instances and adds one after so many seconds of overload
// without a break.
func autoscaler(seconds float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		instances, over := 1.0, 0.0
		return loaded(pace, func(dt, n, speed float64) float64 {
			load := n / (capacity * instances / 4) / speed
			if over += dt; load < 0.98 {
				over = 0
			}
			if over > seconds && instances < 4 {
				instances, over = instances+1, 0
			}
			return load
		})
	}
}

// lingering keeps the sessions of users who left for so many seconds.
func lingering(seconds float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		type left struct{ at, n float64 }
		var gone []left
		had := 0.0
		now := 0.0
		sum := 0.0
		return loaded(pace, func(dt, n, speed float64) float64 {
			now += dt
			if n < had {
				gone, sum = append(gone, left{now, had - n}), sum+had-n
			}
			had = n
			for len(gone) > 0 && gone[0].at < now-seconds {
				gone, sum = gone[1:], sum-gone[0].n
			}
			return (n + sum) / capacity / speed
		})
	}
}
