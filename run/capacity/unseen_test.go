package capacity

import (
	"math"
	"math/rand/v2"
	"time"
)

// unseen are the second family of held-out servers. Their author knew the promises of a search, not
// its method: no constant of this package, no table of its results. Their faults are timed by the
// wall clock, because a server's buffers, caches and checkpoints do not know the pace of a test.
func unseen() []scenario {
	quick := func(start, capacity, budget float64) Config {
		return Config{
			Start:     int(start * capacity),
			Max:       int(3 * capacity),
			Window:    1500 * time.Millisecond,
			Budget:    time.Duration(budget * float64(time.Second)),
			RampRate:  0.02,
			RampFloor: 40,
		}
	}
	slow := func(start, capacity float64) Config {
		return Config{
			Start:  int(start * capacity),
			Max:    int(3 * capacity),
			Window: 15 * time.Second,
			Budget: 40 * time.Minute,
		}
	}
	all := []scenario{
		row(
			"credits, 12 s, x10",
			2200,
			credits(12),
			0.02,
			60,
			0.1,
			quick(0.6, 2200, 120),
		).remembering(),
		row(
			"credits, 40 s, x10",
			2200,
			credits(40),
			0.02,
			60,
			0.1,
			quick(0.6, 2200, 120),
		).remembering(),
		row(
			"credits, 12 s, x10, 30 s",
			2200,
			credits(12),
			0.02,
			60,
			0.1,
			quick(0.7, 2200, 30),
		).remembering(),
		row("credits, 60 s", 5200, credits(60), 0.02, 60, 1, slow(0.6, 5200)).remembering(),
		row(
			"retries to 0.55, x10",
			2600,
			retries(0.55),
			0.015,
			60,
			0.1,
			quick(0.6, 2600, 120),
		).remembering(),
		row("retries to 0.8", 2600, retries(0.8), 0.015, 60, 1, slow(0.6, 2600)).remembering(),
		row("checkpoints, x10", 1900, checkpoints, 0.015, 60, 0.1, quick(0.6, 1900, 150)),
		row("crowded, x10", 3300, crowded(0.25, 2.5), 0.015, 60, 0.1, quick(0.6, 3300, 120)),
		row("crowded", 3300, crowded(0.4, 2), 0.015, 60, 1, slow(0.6, 3300)),
		row("skewed p99", 4100, skewed(0.5), 0.02, 60, 1, slow(0.6, 4100)),
		row("skewed p99, x10", 4100, skewed(0.35), 0.02, 60, 0.1, quick(0.6, 4100, 120)),
		row("cold cache, x10", 2000, coldCache, 0.02, 60, 0.1, quick(0.5, 2000, 180)).remembering(),
		row("well-behaved, x10", 2700, well, 0.02, 60, 0.1, quick(0.6, 2700, 120)),
		row("well-behaved", 2700, well, 0.02, 60, 1, slow(0.6, 2700)),
		row("well-behaved, from 1.2", 8100, well, 0.02, 120, 1, slow(1.2, 8100)),
	}
	for i := range all {
		all[i].seeds = 90_000
	}
	return all
}

// credits carries anything while it has credits, as a burstable machine, a write-behind buffer or a
// dirty page cache does. Work beyond capacity spends them: full, they pay for so many seconds of
// twice the capacity; idle capacity earns them back.
func credits(seconds float64) func(capacity, pace float64) *model {
	return func(capacity, _ float64) *model {
		const limit = 0.15
		left, level := seconds, 0.03
		return &model{
			rules: []simRule{{name: "mean(op) < 150ms", limit: limit, less: true, noise: 0.03}},
			step: func(dt, n, speed float64) ([]float64, float64) {
				load := n / capacity / speed
				left = min(max(left+dt*(1-load), 0), seconds)
				want := 0.03 + 0.02*min(load, 1)
				if left == 0 && load > 1 {
					want = limit * (1 + 8*(load-1))
				}
				level += (want - level) * min(1, dt/0.4)
				return []float64{level}, n
			},
		}
	}
}

// retries serves each request twice once its clients time out, and so falls to a share of its
// capacity until the load is below that.
func retries(share float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		const limit = 0.3
		storm := false
		level, over := 0.05, 0.0
		return &model{rules: []simRule{
			{name: "p95(op) < 300ms", limit: limit, less: true, noise: 0.04},
			{name: "rate(timeout) < 0.1%", limit: 0.001, less: true, rate: true, min: 100},
		}, step: func(dt, n, speed float64) ([]float64, float64) {
			load := n / capacity / speed
			if load > 1 {
				over += dt
			} else {
				over = 0
			}
			if over > 0.6*pace*5 {
				storm = true
			}
			if load < share*0.95 {
				storm = false
			}
			if storm {
				load /= share
			}
			want := 0.05 + 0.25*math.Pow(min(load, 2.5), 6)
			level += (want - level) * min(1, dt/(0.6*pace))
			timeouts := 0.0
			if load > 1.02 {
				timeouts = 0.05 * (load - 1)
			}
			return []float64{level, timeouts}, n
		}}
	}
}

// checkpoints loses two fifths of its speed for three seconds in every twenty of the wall clock.
func checkpoints(capacity, pace float64) *model {
	return fluid(capacity, pace).at(func(t, _, _, speed float64) float64 {
		if math.Mod(t, 20) < 3 {
			speed *= 0.6
		}
		return speed
	})
}

// crowded is a server whose neighbors slow it down by a factor, for a second or two each time, for
// a share of the time.
func crowded(share, factor float64) func(capacity, pace float64) *model {
	return func(capacity, pace float64) *model {
		inner := well(capacity, pace)
		rng := rand.New(rand.NewPCG(uint64(capacity), 99))
		busy := false
		left := 0.0
		return &model{rules: inner.rules, step: func(dt, n, speed float64) ([]float64, float64) {
			left -= dt
			if left <= 0 {
				busy = rng.Float64() < share
				left = 1.5 * (0.5 + rng.Float64())
			}
			v, w := inner.step(dt, n, speed)
			if busy {
				return []float64{v[0] * factor}, w
			}
			return v, w
		}}
	}
}

// skewed reads a p99 from so few slow requests that a window's value is log-normal about it.
func skewed(sigma float64) func(capacity, pace float64) *model {
	return func(capacity, _ float64) *model {
		const limit = 0.5
		rng := rand.New(rand.NewPCG(uint64(capacity), 7))
		value := 1.0
		left := 0.0
		level := 0.1
		return &model{rules: []simRule{{name: "p99(op) < 500ms", limit: limit, less: true}},
			step: func(dt, n, speed float64) ([]float64, float64) {
				if left -= dt; left <= 0 {
					left = 0.7
					value = math.Exp(sigma * rng.NormFloat64())
				}
				load := n / capacity / speed
				level += (0.1 + 0.4*math.Pow(load, 4) - level) * min(1, dt/0.5)
				return []float64{level * value}, n
			}}
	}
}

// coldCache carries seven tenths at first and all after a minute under load.
func coldCache(capacity, pace float64) *model {
	warm := 0.0
	return fluid(capacity, pace).at(func(_, dt, _, speed float64) float64 {
		warm += (1 - warm) * dt / 20
		return speed * (0.7 + 0.3*warm)
	})
}

// well has a smooth knee, no memory and no weather of its own: nothing about it is unstable.
func well(capacity, pace float64) *model {
	return loaded(pace, func(_, n, speed float64) float64 { return n / capacity / speed })
}
