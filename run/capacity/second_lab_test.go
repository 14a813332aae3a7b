package capacity_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"plimsoll/run/capacity"
)

// Latencies are counted in logarithmic bins of 1 %, from least on; the last bin has the
// time-outs.
const (
	least   = 200e-6
	timeout = 5.0
	bin     = 0.01
	bins    = 1014
)

// A shape is the distribution of latencies about their mean: the logarithms of its quantiles, in
// bins.
type shape [4096]float32

// spread returns the log-normal shape with a standard deviation of the logarithm.
func spread(sigma float64) *shape {
	var s shape
	for i := range s {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(len(s))-1)
		s[i] = float32((sigma*z - sigma*sigma/2) / bin)
	}
	return &s
}

// quantile returns the factor of the mean that a share of the latencies stays below.
func (s *shape) quantile(q float64) float64 {
	return math.Exp(bin * float64(s[int(q*float64(len(s)))]))
}

// exponential and uniform are the other two shapes; uniform is from 0 to twice its mean.
var exponential, uniform = func() (e, u *shape) {
	e, u = new(shape), new(shape)
	for i := range e {
		p := (float64(i) + 0.5) / float64(len(e))
		e[i] = float32(math.Log(-math.Log(1-p)) / bin)
		u[i] = float32(math.Log(2*p) / bin)
	}
	return e, u
}()

// A mode is a share of the requests, with their mean latency in seconds.
type mode struct {
	share, mean float64
	*shape
}

// A moment is the state of a server in one step.
type moment struct {
	rate   float64 // requests per second
	modes  [2]mode // shares of those that do not fail
	failed float64 // the share of requests that fail at once
	cpu    float64 // utilization, 0 to 1
}

// A server advances by dt seconds with n users.
type server func(dt, n float64) moment

// A rule of a simulated server: of the mean latency, of the quantile q, of the rate of errors or
// of the utilization.
type rule struct {
	name, stat string
	q, limit   float64
	min        uint64
	over       float64 // the span of a rate in seconds; 0 for the window
	delay      float64 // by how many seconds a utilization is late
}

// A step is a moment as it was observed.
type step struct {
	n, cpu    float64
	ops, bad  int
	latencies []uint16
}

// A lab lets users loose on a server and reads its rules over trailing windows. It counts request
// by request.
type lab struct {
	server server
	rules  []rule
	rng    *rand.Rand
	window float64
	now    float64
	steps  []step // the latest last, as many as a rule may look back
	keep   int
	counts [bins]int32 // latencies of the trailing window
}

// perWindow is the number of steps of a window, and perTick of a tick.
const (
	perTick   = 4
	perWindow = 5 * perTick
)

func newLab(s server, rules []rule, window float64, seed uint64) *lab {
	rng := rand.New(rand.NewPCG(seed, 20))
	l := &lab{server: s, rules: rules, rng: rng, window: window, keep: perWindow}
	for _, r := range rules {
		l.keep = max(l.keep, int(math.Ceil(r.over/l.dt())), perWindow+int(r.delay/l.dt()))
	}
	return l
}

func (l *lab) dt() float64 { return l.window / perWindow }

// pass lets seconds pass without counting requests: users grow from half of n to n in the first
// half of them.
func (l *lab) pass(seconds, n float64) {
	for t := 0.0; t < seconds; t += l.dt() {
		l.server(l.dt(), n*min(1, 0.5+t/seconds))
	}
}

// tick advances by a fifth of a window with n users.
func (l *lab) tick(n float64) {
	for range perTick {
		l.now += l.dt()
		l.count(n, l.server(l.dt(), n))
		if old := len(l.steps) - 1 - perWindow; old >= 0 {
			for _, b := range l.steps[old].latencies {
				l.counts[b]--
			}
		}
		if len(l.steps) > l.keep+perWindow {
			l.steps = slices.Delete(l.steps, 0, len(l.steps)-l.keep-1)
		}
	}
}

// count draws the requests of one step.
func (l *lab) count(n float64, m moment) {
	mean := m.rate * l.dt()
	ops := max(int(math.Round(mean+math.Sqrt(mean)*l.rng.NormFloat64())), 0)
	st := step{n: n, cpu: m.cpu, ops: ops, latencies: make([]uint16, 0, ops)}
	var base [2]float32
	for i, md := range m.modes {
		base[i] = float32(math.Log(max(md.mean, least)/least)/bin + l.rng.Float64())
	}
	second := uint64((1 - m.modes[0].share) * (1 << 20))
	failed := uint64(m.failed * (1 << 20))
	for range ops {
		r := l.rng.Uint64()
		if failed > 0 && r>>44 < failed {
			st.bad++
			continue
		}
		i := 0
		if r>>24&(1<<20-1) < second {
			i = 1
		}
		b := min(max(int(base[i]+m.modes[i].shape[r&4095]), 0), bins-1)
		st.latencies = append(st.latencies, uint16(b))
		l.counts[b]++
		if b == bins-1 {
			st.bad++
		}
	}
	l.steps = append(l.steps, st)
}

// latest returns the steps of so many seconds that ended a delay ago.
func (l *lab) latest(seconds, delay float64) []step {
	late := int(math.Round(delay / l.dt()))
	k := int(math.Round(seconds / l.dt()))
	end := max(len(l.steps)-late, min(perWindow, len(l.steps)))
	return l.steps[max(end-k, 0):end]
}

// observe reads every rule over the trailing window.
func (l *lab) observe(users int) capacity.Observation {
	o := capacity.Observation{At: time.Duration(l.now * float64(time.Second)), Users: users}
	for _, r := range l.rules {
		reading := l.read(r)
		o.Readings = append(o.Readings, reading)
		if r.stat == "cpu" {
			o.Utilization = reading.Value
		}
	}
	window := l.latest(l.window, 0)
	for _, st := range window {
		o.MeanUsers += st.n / float64(len(window))
	}
	return o
}

// read returns the value of one rule over the trailing window.
func (l *lab) read(r rule) capacity.RuleReading {
	out := capacity.RuleReading{Rule: r.name, Limit: r.limit, Less: true, MinCount: r.min, OK: true}
	switch r.stat {
	case "cpu":
		window := l.latest(l.window, r.delay)
		for _, st := range window {
			out.Value += st.cpu / float64(len(window))
		}
	case "errors":
		ops, bad := sum(l.latest(max(l.window, r.over), 0))
		out.Rate = true
		out.Count = uint64(ops)
		out.Value = float64(bad) / float64(max(ops, 1))
		if r.over > l.window {
			ops, bad = sum(l.latest(l.window, 0))
			out.Span = time.Duration(r.over * float64(time.Second))
			out.Bad, out.Of = uint64(bad), uint64(ops)
		}
	default:
		out.Value, out.Count = l.latency(r.q)
	}
	return out
}

func sum(steps []step) (ops, bad int) {
	for _, st := range steps {
		ops += st.ops
		bad += st.bad
	}
	return ops, bad
}

// latency returns a quantile of the latencies in the trailing window, or with q = 0 their mean,
// and how many there are.
func (l *lab) latency(q float64) (v float64, n uint64) {
	total := 0.0
	for b, k := range l.counts {
		n += uint64(k)
		total += float64(k) * binValue[b]
	}
	if q == 0 {
		return total / float64(max(n, 1)), n
	}
	rank, below := uint64(q*float64(n)), uint64(0)
	for b, k := range l.counts {
		if below += uint64(k); below > rank {
			return binValue[b], n
		}
	}
	return timeout, n
}

var binValue = func() (v [bins]float64) {
	for b := range v {
		v[b] = min(least*math.Exp(bin*float64(b)), timeout)
	}
	return v
}()

// violated reports whether any rule is, over the trailing window.
func (l *lab) violated() bool {
	for _, r := range l.observe(0).Readings {
		if r.Status() == capacity.Violated {
			return true
		}
	}
	return false
}
