package comparison

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A clockMeter reads one seat of a duet as the product does.
type clockMeter struct {
	work  Clockwork
	ended float64 // the turn before
	ops   int
}

// catchUp lets an arm that has just been continued run without load until it has used nothing for
// 18 ms, for half a second at most, and counts what it used.
func (m *clockMeter) catchUp(host *clockHost, p *clockProcess) {
	pause := host.now - m.ended
	m.work.Paused += pause
	m.work.Covered += pause
	before := p.cpu
	for quiet, spent := 0.0, 0.0; quiet < 0.018 && spent < 0.5; spent += clockStep {
		was := p.cpu
		host.run(p, clockStep, false)
		quiet += clockStep
		if p.cpu > was {
			quiet = 0
		}
	}
	m.work.Backlog += p.cpu - before
	m.work.Used += p.cpu - before
	m.turn(host, p, pause)
}

// turn is the time with load that follows.
func (m *clockMeter) turn(host *clockHost, p *clockProcess, pause float64) {
	length := 0.2 + 1.8*host.rng.Float64()
	cpu, ops := p.cpu, p.ops
	host.run(p, length, true)
	m.work.Used += p.cpu - cpu
	m.ops += p.ops - ops
	cores, t := (p.cpu-cpu)/length, &m.work.Turns
	t.N++
	t.Pause += pause
	t.PauseSquares += pause * pause
	t.Cores += cores
	t.CoresSquares += cores * cores
	t.Product += pause * cores
	m.ended = host.now
}

// meter runs one block and returns the numbers of the first base and the first new arm.
func (c clockCase) meter(seed uint64, rounds int) numbersPair {
	rng := rand.New(rand.NewPCG(seed, 38))
	host := &clockHost{rng: rng, noise: c.noise, speed: rng.NormFloat64()}
	seats := make([]*clockProcess, c.seats)
	meters := make([]clockMeter, c.seats)
	for i := range seats {
		seats[i] = newClockProcess(c.arms[i%2], c.kind, rng)
		const parts, idle = 40, 4.0
		var squares float64
		for range parts {
			before := seats[i].cpu
			host.run(seats[i], idle/parts, false)
			squares += (seats[i].cpu - before) * (seats[i].cpu - before)
		}
		sum := seats[i].cpu
		meters[i].work.Idle = sum / idle
		meters[i].work.Error = math.Sqrt(max(squares-sum*sum/parts, 0)) / idle
	}
	for i, m := range meters { // what was due while others were read is nobody's
		m.catchUp(host, seats[i])
		meters[i].ended = host.now
	}
	var order []int
	for round := range rounds {
		if round%2 == 0 {
			order = rng.Perm(c.seats)
		}
		for k := range order {
			i := order[k]
			if round%2 == 1 {
				i = order[len(order)-1-k]
			}
			meters[i].catchUp(host, seats[i])
		}
	}
	numbers := func(m clockMeter) Numbers {
		v := SecondaryValue{Value: m.work.Used / float64(m.ops)}
		m.work.Correct(&v)
		return Numbers{Costs: map[string]SecondaryValue{"cost(app)": v}}
	}
	return numbersPair{base: numbers(meters[0]), fresh: numbers(meters[1])}
}

// TestCorrectionOfSecondCases corrects every case of somebody who had not seen the correction: the
// interval of a comparison holds the effect or ends within 1 % of it, or the duet gives no cost.
// Work of half a second or more, in bursts some rounds apart, is the hardest: a duet has a few
// bursts too many, and refuses most of them.
func TestCorrectionOfSecondCases(t *testing.T) {
	const comparisons, blocks, rounds, mostWrong, near = 8, 6, 40, 2, 0.01
	for i, c := range clockCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refused := 0
			wrong := 0
			bias := 0.0
			for k := range comparisons {
				var pairs []numbersPair
				var d []float64
				for b := range blocks {
					p := c.meter(uint64(1000*i+10*k+b), rounds)
					pairs = append(pairs, p)
					d = append(
						d,
						math.Log(p.fresh.Costs["cost(app)"].Value/p.base.Costs["cost(app)"].Value),
					)
				}
				s := sampleOf(t, d)
				bias += (s.Mean() - c.effect()) / comparisons
				work := clockwork("cost(app)", pairs)
				in := s.Estimate().Interval(0.95)
				switch {
				case work.lacks("app", [2]string{"base", "new"}) != "":
					refused++
				case c.effect() < in.Lo-near || c.effect() > in.Hi+near:
					wrong++
				}
			}
			t.Logf(
				"effect %+.4f, bias %+.4f; of %d comparisons %d refused, %d wrong",
				c.effect(),
				bias,
				comparisons,
				refused,
				wrong,
			)
			if wrong > mostWrong {
				t.Errorf(
					"%d of %d comparisons are wrong, want at most %d",
					wrong,
					comparisons,
					mostWrong,
				)
			}
		})
	}
}
