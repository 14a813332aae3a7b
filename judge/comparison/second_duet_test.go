package comparison

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A clockTurn is the known part of one turn of a duet. All times are seconds.
type clockTurn struct {
	// Length is the time that the arm ran with its load, and Pause the time that it was frozen
	// since its previous turn. The first turn of a block follows a pause since the last moment at
	// which nothing was frozen.
	Length, Pause float64
	CPU           float64 // of the arm in the turn
	Ops           int     // that ended in the turn
}

// A clockArm is a build in a duet.
type clockArm struct {
	request float64 // mean CPU time of a request
	rate    float64 // requests per second of load
	scale   float64 // of the work that the kind adds
}

// A clockKind adds work to an arm's requests.
type clockKind struct {
	name string
	// perSecond and perRequest are the CPU time of the added work at scale 1, in continuous time:
	// per second and per request.
	perSecond, perRequest float64
	// start returns the work of one process. A process begins at time 0 with a random age.
	start func(rng *rand.Rand) clockWork
}

// A clockWork is called while its arm runs, with the present time, which goes on in pauses. Both
// return CPU seconds of work to be done, at scale 1; nil stands for none.
type clockWork struct {
	due   func(now float64) float64 // once a millisecond
	ended func(now float64) float64 // at the end of each request
}

// A clockCase is two builds with a known difference.
type clockCase struct {
	name string
	kind clockKind
	arms [2]clockArm // base and new
	// seats is the number of arms that take turns: base and new alternate.
	seats int
	// even gives all turns of a pair of rounds one length, as a round table does; otherwise the
	// length of each turn varies.
	even bool
	// seam is the time that an arm runs without load, and unseen by the reading of its CPU time,
	// before and after each turn.
	seam float64
	// noise is the standard deviation of the host's speed, which is AR(1) with a time constant of
	// 10 s.
	noise float64
}

// truth returns the CPU time per request of an arm in continuous time.
func (c clockCase) truth(arm int) float64 {
	a := c.arms[arm]
	return a.request + a.scale*(c.kind.perRequest+c.kind.perSecond/a.rate)
}

// effect returns the true log ratio of new over base.
func (c clockCase) effect() float64 { return math.Log(c.truth(1) / c.truth(0)) }

// clockCases returns every kind with no difference, as work that only the new build has, with
// dearer requests, and with twice the work and cheaper requests.
func clockCases() []clockCase {
	var all []clockCase
	for _, k := range clockKinds() {
		for _, plant := range []struct {
			name               string
			before, after, ops float64
		}{
			{"no difference", 1, 1, 1},
			{"new", 0, 1, 1},
			{"dearer requests", 1, 1, 1.06},
			{"doubled, cheaper requests", 1, 2, 0.94},
		} {
			if plant.before != plant.after && k.perSecond+k.perRequest == 0 {
				continue
			}
			base := clockArm{request: 0.004, rate: 60, scale: plant.before}
			changed := clockArm{request: 0.004 * plant.ops, rate: 60, scale: plant.after}
			all = append(all, clockCase{name: k.name + ": " + plant.name, kind: k,
				arms: [2]clockArm{base, changed}, seats: 4, noise: 0.03})
		}
	}
	return all
}

func clockKinds() []clockKind {
	return []clockKind{
		{name: "none", start: func(*rand.Rand) clockWork { return clockWork{} }},
		{name: "ticker that drops missed ticks", perSecond: 0.02, start: droppingTicker},
		{name: "cron that catches up", perSecond: 0.02, start: catchUp(1, 0.02)},
		{name: "collector by allocation", perRequest: 0.0005, start: byAllocation},
		{name: "collector each 2 min", perSecond: 1.0 / 120, start: bursts(120, 1)},
		{name: "deferred work", perRequest: 0.0003, start: deferred},
		{name: "vacuum each 30 s", perSecond: 0.5 / 30, start: bursts(30, 0.5)},
		{name: "heartbeats of 200 users", perSecond: 20 * 0.0004, start: catchUp(10.0/200, 0.0004)},
	}
}

// droppingTicker does 20 ms at each full second; of the ticks of a pause one is left.
func droppingTicker(rng *rand.Rand) clockWork {
	age := rng.Float64()
	last := math.Floor(age)
	return clockWork{due: func(now float64) float64 {
		if k := math.Floor(now + age); k > last {
			last = k
			return 0.02
		}
		return 0
	}}
}

// catchUp does its work for every period that has passed, also in pauses.
func catchUp(period, work float64) func(rng *rand.Rand) clockWork {
	return func(rng *rand.Rand) clockWork {
		age := rng.Float64() * period
		last := 0.0
		return clockWork{due: func(now float64) float64 {
			k := math.Floor((now + age) / period)
			passed := k - last
			last = k
			return passed * work
		}}
	}
}

// byAllocation makes requests dearer with the heap, up to 0.4 ms each, and does 120 ms after
// every 400 of them.
func byAllocation(rng *rand.Rand) clockWork {
	const every = 400
	served := rng.IntN(every)
	return clockWork{ended: func(float64) float64 {
		served++
		if served == every {
			served = 0
			return 0.12
		}
		return 0.0004 * float64(served) / (every - 1)
	}}
}

// deferred does 0.3 ms of work 300 ms after each request, or when the arm runs again.
func deferred(*rand.Rand) clockWork {
	var at []float64
	return clockWork{
		ended: func(now float64) float64 {
			at = append(at, now+0.3)
			return 0
		},
		due: func(now float64) (work float64) {
			for len(at) > 0 && at[0] <= now {
				at = at[1:]
				work += 0.0003
			}
			return work
		},
	}
}

// bursts does its work on at most half of the core, a period after it began the last time, or
// when the arm runs again.
func bursts(period, work float64) func(rng *rand.Rand) clockWork {
	return func(rng *rand.Rand) clockWork {
		next, left := period*rng.Float64(), 0.0
		return clockWork{due: func(now float64) float64 {
			if now >= next {
				next = now + period
				left += work
			}
			part := min(left, 0.5*clockStep)
			left -= part
			return part
		}}
	}
}

// clockStep is the resolution of a simulation.
const clockStep = 0.001

// A clockProcess is an arm that runs: requests and added work share one queue.
type clockProcess struct {
	arm   clockArm
	work  clockWork
	rng   *rand.Rand
	queue []clockJob
	cpu   float64
	ops   int
}

type clockJob struct {
	left    float64
	request bool
}

func newClockProcess(arm clockArm, kind clockKind, rng *rand.Rand) *clockProcess {
	return &clockProcess{arm: arm, work: kind.start(rng), rng: rng}
}

func (p *clockProcess) add(seconds float64, request bool) {
	if seconds > 0 {
		p.queue = append(p.queue, clockJob{seconds, request})
	}
}

// run lets the arm run for one step that ends now; cost is the relative CPU time of work at
// present.
func (p *clockProcess) run(now, cost float64, load bool) {
	if p.work.due != nil {
		p.add(p.work.due(now)*p.arm.scale*cost, false)
	}
	if load && p.rng.Float64() < p.arm.rate*clockStep {
		p.add(p.arm.request*cost*(0.5+p.rng.Float64()), true)
	}
	free := clockStep
	for len(p.queue) > 0 && free > 0 {
		job := &p.queue[0]
		part := min(job.left, free)
		free -= part
		job.left -= part
		p.cpu += part
		if job.left > 0 {
			break
		}
		request := job.request
		p.queue = p.queue[1:]
		if request {
			p.ops++
			if p.work.ended != nil {
				p.add(p.work.ended(now)*p.arm.scale*cost, false)
			}
		}
	}
}

// A clockHost is the time and the speed that all arms share.
type clockHost struct {
	rng        *rand.Rand
	now, noise float64
	speed      float64
}

func (h *clockHost) run(p *clockProcess, seconds float64, load bool) {
	keep := math.Exp(-clockStep / 10)
	for range int(math.Round(seconds / clockStep)) {
		h.now += clockStep
		h.speed = keep*h.speed + math.Sqrt(1-keep*keep)*h.rng.NormFloat64()
		p.run(h.now, 1+h.noise*h.speed, load)
	}
}

// block returns the turns of each seat; seat i is of the arm i modulo 2. Rounds come in pairs, a
// random order and its reverse, and each seat has a turn in each round. Turns have 0.2 to 2 s,
// evenly spread.
func (c clockCase) block(seed uint64, rounds int) [][]clockTurn {
	rng := rand.New(rand.NewPCG(seed, 34))
	host := &clockHost{rng: rng, noise: c.noise, speed: rng.NormFloat64()}
	seats := make([]*clockProcess, c.seats)
	for i := range seats {
		seats[i] = newClockProcess(c.arms[i%2], c.kind, rng)
	}
	turns, ended := make([][]clockTurn, c.seats), make([]float64, c.seats)
	var order []int
	length := 0.0
	for round := range rounds {
		if round%2 == 0 {
			order, length = rng.Perm(c.seats), 0.2+1.8*rng.Float64()
		}
		for k := range order {
			i := order[k]
			if round%2 == 1 {
				i = order[len(order)-1-k]
			}
			if !c.even {
				length = 0.2 + 1.8*rng.Float64()
			}
			p, turn := seats[i], clockTurn{Pause: host.now - ended[i]}
			ops := p.ops
			host.run(p, c.seam, false)
			cpu, from := p.cpu, host.now
			host.run(p, length, true)
			turn.CPU, turn.Length = p.cpu-cpu, host.now-from
			host.run(p, c.seam, false)
			turn.Ops = p.ops - ops
			ended[i] = host.now
			turns[i] = append(turns[i], turn)
		}
	}
	return turns
}

// perRequest returns the CPU time per request of all turns of an arm, as they were counted.
func perRequest(turns [][]clockTurn, arm int) float64 {
	cpu, ops := 0.0, 0
	for i := arm; i < len(turns); i += 2 {
		for _, t := range turns[i] {
			cpu += t.CPU
			ops += t.Ops
		}
	}
	return cpu / float64(ops)
}

// TestClockTruth runs builds alone for 16 minutes without a pause: their CPU time per request is
// the stated one.
func TestClockTruth(t *testing.T) {
	for i, c := range clockCases() {
		if c.arms[0].request == c.arms[1].request {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 35))
			p := newClockProcess(c.arms[1], c.kind, rng)
			host := &clockHost{rng: rng}
			host.run(p, 960, true)
			got, want := p.cpu/float64(p.ops), c.truth(1)
			if math.Abs(got/want-1) > 0.012 {
				t.Errorf("%.4f ms of CPU time per request, want %.4f", 1000*got, 1000*want)
			}
		})
	}
}

// TestClockWorkGrowsInADuet shows that the data have the defect that they are for: work that
// catches up is counted once for each arm of the duet, and deferred work hides in the seams.
func TestClockWorkGrowsInADuet(t *testing.T) {
	for _, want := range []struct {
		name        string
		seam        float64
		least, most float64 // of the difference as counted, over the true one
	}{
		{"none: dearer requests", 0, 0.8, 1.2},
		{"collector by allocation: new", 0, 0.8, 1.2},
		{"cron that catches up: new", 0, 2.5, 4},
		{"heartbeats of 200 users: new", 0, 2.5, 4},
		{"deferred work: new", 0.005, 0.5, 0.9},
	} {
		t.Run(want.name, func(t *testing.T) {
			cases := clockCases()
			named := func(c clockCase) bool { return c.name == want.name }
			c := cases[slices.IndexFunc(cases, named)]
			c.noise, c.seam = 0, want.seam
			turns := c.block(1, 200)
			counted := math.Log(perRequest(turns, 1) / perRequest(turns, 0))
			if got := counted / c.effect(); got < want.least || got > want.most {
				t.Errorf("counted %.2f times the true %.4f, want %.2f to %.2f",
					got, c.effect(), want.least, want.most)
			}
		})
	}
}
