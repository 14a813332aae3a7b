package capacity_test

import (
	"math"
	"math/rand/v2"
)

// A site is the place where a family builds a server: parameters come from params, which depend
// on the seed alone, and the weather from rng, which differs between two servers of one seed.
type site struct {
	params, rng *rand.Rand
	pace        float64
	users       float64 // about the capacity
	think       float64 // seconds between two requests of a user
}

func newSite(seed, family, run uint64, pace float64) *site {
	s := &site{params: rand.New(rand.NewPCG(seed, family)), pace: pace,
		rng: rand.New(rand.NewPCG(seed+1000*family, run))}
	s.users = math.Round(500 * math.Exp(s.uniform(0, 1.6)))
	s.think = s.uniform(5, 9) * pace
	return s
}

// uniform draws a parameter.
func (s *site) uniform(lo, hi float64) float64 { return lo + (hi-lo)*s.params.Float64() }

// A wander is an AR(1) process with mean 0.
type wander struct {
	rng      *rand.Rand
	sd, tau  float64
	x        float64
	started  bool
	dt, keep float64
}

func (w *wander) next(dt float64) float64 {
	if !w.started {
		w.started, w.x = true, w.rng.NormFloat64()
	}
	if dt != w.dt {
		w.dt, w.keep = dt, math.Exp(-dt/w.tau)
	}
	w.x = w.keep*w.x + math.Sqrt(1-w.keep*w.keep)*w.rng.NormFloat64()
	return w.sd * w.x
}

// wander draws the parameters of a process; its time constant is one of the host, so pace does
// not scale it.
func (s *site) wander(sdLo, sdHi, tauLo, tauHi float64) *wander {
	return &wander{rng: s.rng, sd: s.uniform(sdLo, sdHi), tau: s.uniform(tauLo, tauHi)}
}

// A pool is a closed queue: users think, and cores serve their requests in the order of arrival.
type pool struct {
	rng          *rand.Rand
	think, work  float64 // seconds; work is of one request on one core
	cores        float64
	speed        *wander
	backlog      float64 // core seconds
	latency      float64 // mean, of the step before
	demand, busy float64 // new work and work done in a step, over the core seconds of it
}

// pool draws one whose cores would be busy for a share of the time with the site's users.
func (s *site) pool(cores, share float64) *pool {
	p := &pool{rng: s.rng, think: s.think, cores: cores, speed: s.wander(0.005, 0.015, 3, 30)}
	p.work = share * cores * s.think / s.users
	p.latency = p.work
	return p
}

// calm draws a pool whose speed wanders no longer than a window or two, at any pace.
func (s *site) calm(cores, share float64) *pool {
	p := s.pool(cores, share)
	p.speed.tau *= s.pace
	return p
}

// serve advances by a step in which requests cost slow times their work and the cores have extra
// work to do, in core seconds. It returns the rate of requests and the mean wait of one in the
// queue.
func (p *pool) serve(dt, n, slow, extra float64) (rate, wait float64) {
	work := p.work * slow / (1 + p.speed.next(dt))
	rate = n / (p.think + p.latency)
	arrived := max(rate*dt+math.Sqrt(rate*dt)*p.rng.NormFloat64(), 0)
	capacity := p.cores * dt
	p.demand = (arrived*work + extra) / capacity
	done := min(p.backlog+arrived*work+extra, capacity)
	p.backlog += arrived*work + extra - done
	p.busy = done / capacity
	// The wait of M/M/c within a step is Sakasegawa's; that of longer rushes is in the backlog.
	rho := min((rate*work+extra/dt)/p.cores, 0.97)
	wait = work*math.Pow(rho, math.Sqrt(2*(p.cores+1))-1)/(p.cores*(1-rho)) + p.backlog/p.cores
	p.latency = wait + work
	return rate, wait
}

// answer is serve with all latencies of one shape.
func (p *pool) answer(dt, n, slow, extra float64, sh *shape) moment {
	rate, _ := p.serve(dt, n, slow, extra)
	return moment{rate: rate, modes: [2]mode{{1, p.latency, sh}, {0, 0, sh}}, cpu: p.busy}
}

// mean, percentile, errors and cpu are the rules. A limit of latency is a multiple of the work of
// one request.
func (p *pool) mean(times float64) rule {
	return rule{name: "mean(op)", stat: "mean", limit: times * p.work}
}

func (p *pool) percentile(q, times float64) rule {
	return rule{name: "percentile(op)", stat: "percentile", q: q, limit: times * p.work, min: 100}
}

func errors(limit float64, min uint64) rule {
	return rule{name: "rate(errors)", stat: "errors", limit: limit, min: min}
}

func cpu(limit float64) rule { return rule{name: "cpu(app)", stat: "cpu", limit: limit} }

// A clock turns steps into phases of a period.
type clock struct{ now float64 }

// phase advances and returns the seconds since the last multiple of the period.
func (c *clock) phase(dt, period float64) float64 {
	c.now += dt
	return math.Mod(c.now, period)
}
