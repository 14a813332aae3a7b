package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A model is a simulated server: users in, the value of each of its rules out. All times are
// seconds.
type model struct {
	rules []simRule
	// step advances by dt with n users and speed (1 is nominal; 0.97 is a slow moment) and returns
	// the value of each rule at this instant, and the weight of this instant in a mean
	// (operations).
	step func(dt, n, speed float64) (values []float64, weight float64)
}

type simRule struct {
	name  string
	limit float64
	less  bool
	min   uint64
	rate  bool
	noise float64 // relative sd of one window's value, from counting few operations
	// factor turns a standard normal number, drawn once per window, into a factor of the value; nil
	// for 1 + noise times it.
	factor func(z float64) float64
}

// A scenario is a server with its weather, and the search that is let loose on it.
type scenario struct {
	name     string
	capacity float64
	server   func(capacity, pace float64) *model
	noise    float64 // sd of the server's speed, AR(1)
	tau      float64 // its time constant in seconds of pace 1
	drift    float64 // fraction of speed lost per hour of pace 1
	alertGap float64 // mean seconds of pace 1 between spurious alerts; 0 for none
	alertLen float64
	// paced is false for weather that does not speed up with the load, such as a checkpoint.
	fixedTau bool
	pace     float64
	cfg      Config
	seeds    uint64 // added to the number of a run
	// nominal servers have a memory, so that no share of violated windows at constant users gives
	// their capacity.
	nominal bool
	// held is the capacity after an overload of a server with two capacities; 0 with one.
	held float64
	// cpu is the CPU utilization of the server under a share of its capacity; nil where it is not
	// seen.
	cpu func(load float64) float64
}

// blind is the scenario with a CPU that is not seen.
func (sc scenario) blind() scenario {
	sc.cpu = nil
	return sc
}

// truth is the capacity by definition: the number of constant users at which half of all windows
// are violated, as a simulation of so many windows finds it. Drift and false alarms are left out:
// the search must not react to them.
func (sc scenario) truth(windows int) float64 {
	if sc.nominal {
		return sc.capacity
	}
	sc.drift, sc.alertGap = 0, 0
	lo, hi := 0.6*sc.capacity, 1.15*sc.capacity
	for range 11 {
		n := math.Sqrt(lo * hi)
		w := newWorld(sc, sc.cfg.Window.Seconds(), 4711)
		bad := 0
		for k := range 5 * (windows + 40) {
			w.advance(n)
			if k < 200 || k%5 != 0 {
				continue
			}
			if w.violated(n) {
				bad++
			}
		}
		if 2*bad > windows {
			hi = n
		} else {
			lo = n
		}
	}
	return math.Sqrt(lo * hi)
}

// fluid is a closed queue: n users think for z seconds, then one of c servers works for 1/mu
// seconds on their request. Latency is read by Little's law, plus the service time of a single
// request.
func fluid(capacity, pace float64) *model {
	const limit = 0.1
	z := 5 * pace
	// Above the knee n = mu (z + R), so the rule R < limit breaks at mu (z + limit) = capacity.
	mu := capacity / (z + limit)
	const alone = 0.02
	q := 0.0
	return &model{
		rules: []simRule{{name: "mean(op) < 100ms", limit: limit, less: true, noise: 0.02}},
		step: func(dt, n, speed float64) ([]float64, float64) {
			for range 8 {
				x := mu * speed * min(1, q/(mu*speed*alone))
				q += dt / 8 * ((n-q)/z - x)
				q = max(q, 0)
			}
			x := mu * speed * min(1, q/(mu*speed*alone))
			if x <= 0 {
				return []float64{alone}, 0
			}
			return []float64{q / x}, x
		},
	}
}

// mmc has the smooth knee of M/M/c with 8 servers, by the approximation of Sakasegawa, and a p99
// and a CPU rule.
func mmc(capacity, pace float64) *model {
	const c, limit = 8.0, 0.3
	z := 5 * pace
	s := 0.02
	p99 := func(rho float64) float64 {
		rho = min(rho, 0.999)
		wait := s * math.Pow(rho, math.Sqrt(2*(c+1))-1) / (c * (1 - rho))
		return s*2.5 + 4.6*wait*c/2
	}
	lo, hi := 0.0, 0.999
	for range 60 {
		if m := (lo + hi) / 2; p99(m) < limit {
			lo = m
		} else {
			hi = m
		}
	}
	perUser := lo / capacity // utilization per user so that p99 meets its limit at capacity
	level := 0.0
	_ = z
	return &model{rules: []simRule{
		{name: "p99(op) < 300ms", limit: limit, less: true, noise: 0.06},
		{name: "cpu(app) < 99.5%", limit: 0.995, less: true, noise: 0.005},
	}, step: func(dt, n, speed float64) ([]float64, float64) {
		rho := n * perUser / speed
		level += (p99(rho) - level) * min(1, dt/(0.2*z))
		return []float64{level, min(rho, 0.994)}, n
	}}
}

// cpu is the easiest: a rule that rises in proportion to the users.
func cpu(capacity, pace float64) *model {
	level := 0.0
	return &model{rules: []simRule{{name: "cpu(app) < 85%", limit: 0.85, less: true, noise: 0.005}},
		step: func(dt, n, speed float64) ([]float64, float64) {
			level += (min(1, 0.85*n/capacity/speed) - level) * min(1, dt/(2*pace))
			return []float64{level}, 1
		}}
}

// timeouts has a rule of failures: zero below capacity, then all at once. No regression can carry
// it.
func timeouts(capacity, pace float64) *model {
	return &model{rules: []simRule{
		{name: "rate(timeout) < 0.1%", limit: 0.001, less: true, rate: true, min: 100},
		{name: "promql: free > 10", limit: 10, less: false, noise: 0.05},
	}, step: func(dt, n, speed float64) ([]float64, float64) {
		over := n/capacity/speed - 1
		v := 0.0
		if over >= 0 {
			v = 0.001 + over
		}
		return []float64{v, 50}, 1
	}}
}

// sticky is fluid that falls into a bad state when overloaded and leaves it only far below.
func sticky(capacity, pace float64) *model {
	return latching(fluid(capacity, pace), 0.96, func(n, speed float64) (up, down bool) {
		return n > 1.05*capacity*speed, n < 0.93*capacity*speed
	})
}

// latching multiplies the speed of a server from when it is overloaded until its load is far below.
func latching(m *model, factor float64, loaded func(n, speed float64) (up, down bool)) *model {
	bad := false
	return m.at(func(_, _, n, speed float64) float64 {
		if up, down := loaded(n, speed); up {
			bad = true
		} else if down {
			bad = false
		}
		if bad {
			return speed * factor
		}
		return speed
	})
}

// at makes the speed of a server one of its time, the length of a step and the users.
func (m *model) at(speed func(t, dt, n, speed float64) float64) *model {
	inner, t := m.step, 0.0
	m.step = func(dt, n, nominal float64) ([]float64, float64) {
		t += dt
		return inner(dt, n, speed(t, dt, n, nominal))
	}
	return m
}

// A world runs a model and collects trailing windows.
type world struct {
	sc     scenario
	m      *model
	rng    *rand.Rand
	now    float64
	ar     float64
	alert  float64 // end of the present spurious alert
	next   float64
	window float64
	dt     float64
	hist   []instant
	// the sampling noise of each rule, drawn once per window so that overlapping readings share it
	jitter []float64
	drawn  float64
}

type instant struct {
	n, weight, util float64
	values          []float64
}

func newWorld(sc scenario, window float64, seed uint64) *world {
	w := &world{sc: sc, m: sc.server(sc.capacity, sc.pace), rng: rand.New(rand.NewPCG(seed, 17)),
		window: window, dt: window / 25, drawn: -1e9}
	w.ar = w.rng.NormFloat64()
	w.jitter = make([]float64, len(w.m.rules))
	w.next = w.gap()
	return w
}

func (w *world) gap() float64 {
	if w.sc.alertGap == 0 {
		return math.Inf(1)
	}
	return w.now + w.rng.ExpFloat64()*w.sc.alertGap*w.sc.pace
}

// advance moves the world by one tick of a fifth of a window with n users.
func (w *world) advance(n float64) {
	tau := w.sc.tau
	if !w.sc.fixedTau {
		tau *= w.sc.pace
	}
	for range 5 {
		w.now += w.dt
		if w.sc.noise > 0 {
			a := math.Exp(-w.dt / tau)
			w.ar = a*w.ar + math.Sqrt(1-a*a)*w.rng.NormFloat64()
		}
		speed := (1 + w.sc.noise*w.ar) * (1 - w.sc.drift*w.now/w.sc.pace/3600)
		v, weight := w.m.step(w.dt, n, speed)
		if w.now >= w.next {
			w.alert = w.now + w.sc.alertLen*w.sc.pace
			w.next = math.Inf(1)
		}
		if w.now < w.alert {
			v[0] = 3 * w.m.rules[0].limit
		} else if math.IsInf(w.next, 1) {
			w.next = w.gap()
		}
		in := instant{n: n, weight: weight, values: v}
		if w.sc.cpu != nil {
			in.util = min(max(w.sc.cpu(n/w.sc.capacity/speed), 0), 1)
		}
		w.hist = append(w.hist, in)
	}
	if keep := 400; len(w.hist) > 2*keep {
		w.hist = append(w.hist[:0], w.hist[len(w.hist)-keep:]...)
	}
	if w.now-w.drawn >= w.window-w.dt/2 {
		w.drawn = w.now
		for i := range w.jitter {
			w.jitter[i] = w.rng.NormFloat64()
		}
	}
}

// observe returns the trailing window of k instants.
func (w *world) observe(k int, users int) Observation {
	h := w.hist[max(0, len(w.hist)-k):]
	o := Observation{At: time.Duration(w.now * 1e9), Users: users}
	for i, r := range w.m.rules {
		var sum, weight float64
		for _, x := range h {
			sum += x.weight * x.values[i]
			weight += x.weight
		}
		v := sum / max(weight, 1e-12)
		if r.factor != nil {
			v *= r.factor(w.jitter[i])
		} else {
			v *= 1 + r.noise*w.jitter[i]
		}
		o.Readings = append(o.Readings, RuleReading{
			Rule:     r.name,
			Value:    v,
			Limit:    r.limit,
			Less:     r.less,
			Count:    1000,
			MinCount: r.min,
			Rate:     r.rate,
			OK:       true,
		})
	}
	for _, x := range h {
		o.MeanUsers += x.n / float64(len(h))
		o.Utilization += x.util / float64(len(h))
	}
	return o
}

// violated reports whether any rule is, over the trailing window.
func (w *world) violated(n float64) bool {
	return slices.ContainsFunc(w.observe(25, int(n)).Readings, func(r RuleReading) bool {
		return r.Status() == Violated
	})
}

// row is a scenario without drift, alerts or memory.
func row(
	name string,
	capacity float64,
	server func(capacity, pace float64) *model,
	noise, tau, pace float64,
	cfg Config,
) scenario {
	return scenario{
		name:     name,
		capacity: capacity,
		server:   server,
		noise:    noise,
		tau:      tau,
		pace:     pace,
		cfg:      cfg,
	}
}

// remembering is the scenario of a server with a memory.
func (sc scenario) remembering() scenario {
	sc.nominal = true
	return sc
}

// search lets a search loose on the scenario and returns its result, the simulated time it took and
// the highest load over the capacity.
func (sc scenario) search(seed uint64) (Result, time.Duration, float64) {
	s, peak := sc.run(seed)
	return s.Result(), s.last - s.start, peak
}

// run carries a search out.
func (sc scenario) run(seed uint64) (s *Search, peak float64) {
	s, err := New(sc.cfg)
	if err != nil {
		panic(err)
	}
	w := newWorld(sc, sc.cfg.Window.Seconds(), seed)
	users := sc.cfg.Start
	for range 5 { // a plateau before the search, as in a combined run
		w.advance(float64(users))
	}
	for {
		w.advance(float64(users))
		a := s.Step(w.observe(25, users))
		if a.Done {
			return s, peak
		}
		users = a.Users
		peak = max(peak, float64(users)/sc.capacity)
	}
}

// knownTool is the rule of the tool that came before: 8 users per second up until the first alert,
// then 8 up or down with 2 s of rest; it stops when the slope of the last 30 minutes is below 0.2
// users/s and answers the mean. Its readings cover a minute, are new every 5 s, and do not count in
// the first minute. It has no interval and no pace. Written from a description of its published
// behavior.
func (sc scenario) knownTool(seed uint64) (supported float64, took time.Duration, peak float64) {
	const inc, rest, span, slope, scrape, delay = 8, 2.0, 1800.0, 0.2, 5, 60.0
	sc.pace = 1
	w := newWorld(sc, 5, seed) // ticks of a second; 300 instants of 0.2 s make its minute
	w.hist = nil
	n := sc.cfg.Start
	lastAlert, lastAction := math.Inf(-1), math.Inf(-1)
	var at, users []float64
	alert := false
	for tick := 0; w.now < 12*3600; tick++ {
		w.advance(float64(n))
		if tick%scrape == 0 {
			alert = false
			for _, r := range w.observe(300, n).Readings {
				alert = alert ||
					w.now > delay && (r.Less && r.Value >= r.Limit || !r.Less && r.Value <= r.Limit)
			}
		}
		if alert {
			lastAlert = w.now
		}
		ever := !math.IsInf(lastAlert, -1)
		if ever {
			at, users = append(at, w.now), append(users, float64(n))
			if w.now-at[0] > span {
				first := len(at) - int(span)
				m, b := leastSquares(at[first:], users[first:])
				if math.Abs(b) < slope {
					return m, time.Duration(w.now * 1e9), peak
				}
			}
		}
		if !ever || w.now > lastAction+rest {
			if alert {
				n, lastAction = max(1, n-inc), w.now
			} else if !ever || w.now > lastAlert+rest {
				n, lastAction = min(sc.cfg.Max, n+inc), w.now
			}
		}
		peak = max(peak, float64(n)/sc.capacity)
	}
	return math.NaN(), time.Duration(w.now * 1e9), peak
}

func leastSquares(x, y []float64) (mean, slope float64) {
	var mx, my, sxx, sxy float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(x))
	}
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	return my, sxy / sxx
}
