package comparison

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// A clocked server takes 1 ms for an operation. Each period it takes a tick of CPU time, at the
// latest when it goes on; missed ticks are made up for or dropped. later is CPU time after each
// operation, a delay after it.
type clocked struct {
	period, tick float64
	drops        bool
	lazy         bool    // the tick is taken by the first operation after it
	idle         float64 // the part of a tick that an idle server takes; 0 for all
	once         float64 // CPU time that an idle server takes, once
	later, delay float64
}

const (
	simSlice = 0.2
	simRate  = 400.0 // operations a second
	simSeats = 4
	simTurns = 150
)

// cost returns the cost of an operation in continuous time.
func (c clocked) cost() float64 {
	v := 0.001 + c.later
	if c.period > 0 {
		v += c.tick / c.period / simRate
	}
	return v
}

// ticks counts the ticks between two moments.
func (c clocked) ticks(phase, from, to float64) float64 {
	if c.period == 0 {
		return 0
	}
	return math.Floor((to-phase)/c.period) - math.Floor((from-phase)/c.period)
}

// duet simulates a run in turns whose order is random and mirrored, and returns what is read of it.
func (c clocked) duet(rng *rand.Rand, noise float64) (w Clockwork, ops float64) {
	phase := c.period * rng.Float64()
	const parts, idle = 40, 4.0
	var sum, squares float64
	for i := range parts {
		x := 1e-5 * rng.ExpFloat64()
		if !c.lazy {
			ticks := c.ticks(phase, idle*float64(i)/parts, idle*float64(i+1)/parts)
			x += cmp.Or(c.idle, 1) * c.tick * ticks
		}
		if i == parts/2 {
			x += c.once
		}
		sum, squares = sum+x, squares+x*x
	}
	w.Idle, w.Error = sum/idle, math.Sqrt(squares-sum*sum/parts)/idle
	now, last := 100.0, 100.0
	var due []float64 // work that was put off
	for turn := range simTurns {
		if turn%2 == 0 {
			order := rng.Perm(simSeats)
			first := float64(slices.Index(order, 0))
			now += first * simSlice
			due = c.turn(&w, &ops, rng, phase, &now, &last, due)
			now += 2 * (simSeats - 1 - first) * simSlice
		} else {
			due = c.turn(&w, &ops, rng, phase, &now, &last, due)
			now += simSlice * float64(rng.IntN(simSeats))
		}
	}
	w.Used *= math.Exp(noise * rng.NormFloat64())
	return w, ops
}

// turn is one slice: the pause since the last, its backlog, and the operations.
func (c clocked) turn(
	w *Clockwork,
	ops *float64,
	rng *rand.Rand,
	phase float64,
	now, last *float64,
	due []float64,
) []float64 {
	missed := c.ticks(phase, *last, *now)
	if c.drops || c.lazy {
		missed = min(missed, 1)
	}
	backlog, refresh := c.tick*missed, 0.0
	if c.lazy {
		backlog, refresh = 0, backlog
	}
	backlog += 5e-5 * rng.ExpFloat64()
	for len(due) > 0 && due[0] <= *now {
		backlog, due = backlog+c.later, due[1:]
	}
	n := math.Round(simSlice*simRate + math.Sqrt(simSlice*simRate)*rng.NormFloat64())
	for i := range int(n) {
		due = append(due, *now+simSlice*float64(i)/n+c.delay)
	}
	end := *now + simSlice
	inTurn := refresh + n*0.001*math.Exp(0.1*rng.NormFloat64()) + c.tick*c.ticks(phase, *now, end)
	for len(due) > 0 && due[0] <= end {
		inTurn, due = inTurn+c.later, due[1:]
	}
	x := *now - *last
	y := inTurn / simSlice
	t := &w.Turns
	t.N = t.N + 1
	t.Pause = t.Pause + x
	t.PauseSquares = t.PauseSquares + x*x
	t.Cores = t.Cores + y
	t.CoresSquares = t.CoresSquares + y*y
	t.Product = t.Product + x*y
	w.Paused, w.Covered = w.Paused+*now-*last, w.Covered+*now-*last
	w.Backlog, w.Used = w.Backlog+backlog, w.Used+backlog+inTurn
	*ops += n
	*now, *last = end, end
	return due
}

// TestClockwork compares servers whose work follows the clock with one whose work does not, in
// duets of four: the bias is a tenth of the effect at most and nine of ten intervals hold it, or
// the duet gives no cost.
func TestClockwork(t *testing.T) {
	for _, test := range []struct {
		name string
		clocked
		unfit string // the reason
	}{
		{"20 ms each second, made up for", clocked{period: 1, tick: 0.02}, ""},
		{"20 ms each second, dropped", clocked{period: 1, tick: 0.02, drops: true}, ""},
		{"2 ms each 0.1 s, made up for", clocked{period: 0.1, tick: 0.002}, ""},
		{"2 ms each 0.1 s, dropped", clocked{period: 0.1, tick: 0.002, drops: true}, ""},
		{"50 ms each 1.7 s, made up for", clocked{period: 1.7, tick: 0.05}, ""},
		{"half a core", clocked{period: 0.1, tick: 0.05}, "follows the clock"},
		{"20 ms each second, by the next operation", clocked{
			period: 1,
			tick:   0.02,
			lazy:   true,
		}, "grows with the pause"},
		{"30 ms each second, 9 ms of them without load", clocked{
			period: 1,
			tick:   0.03,
			idle:   0.3,
		}, "put off"},
		{"1 ms each 0.1 s, 0.4 ms of it without load", clocked{
			period: 0.1,
			tick:   0.001,
			idle:   0.4,
		}, "put off"},
		{"none", clocked{}, ""},
		{"0.2 ms after 5 ms", clocked{later: 0.0002, delay: 0.005}, ""},
		{"0.2 ms after 50 ms, of a server that did 6 ms while idle", clocked{
			later: 0.0002,
			delay: 0.05,
			once:  0.006,
		}, "put off"},
		{"0.2 ms after 0.3 s", clocked{later: 0.0002, delay: 0.3}, "put off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(len(test.name))))
			want := math.Log(test.cost() / clocked{}.cost())
			const blocks, repeats = 6, 100
			covered := 0
			mean := 0.0
			unfit := 0
			for range repeats {
				var d []float64
				var pairs []numbersPair
				for range blocks {
					p := numbersPair{base: (clocked{}).run(rng), fresh: test.run(rng)}
					d = append(
						d,
						math.Log(p.fresh.Costs["cost(app)"].Value/p.base.Costs["cost(app)"].Value),
					)
					pairs = append(pairs, p)
				}
				work := clockwork("cost(app)", pairs)
				if why := work.lacks("app", [2]string{"base", "new"}); why != "" {
					unfit++
					if test.unfit == "" || !strings.Contains(why, test.unfit) {
						t.Fatalf("unfit: %s", why)
					}
				}
				s := sampleOf(t, d)
				mean += s.Mean() / repeats
				if i := s.Estimate().Interval(0.95); i.Lo <= want && want <= i.Hi {
					covered++
				}
			}
			switch {
			case test.unfit != "":
				if unfit < repeats*95/100 {
					t.Errorf("%d of %d comparisons are unfit", unfit, repeats)
				}
			case math.Abs(mean-want) > max(0.1*want, 0.001) || covered < repeats*9/10:
				t.Errorf(
					"mean %.4f, want %.4f; %d of %d intervals hold it",
					mean,
					want,
					covered,
					repeats,
				)
			}
		})
	}
}

func sampleOf(t *testing.T, values []float64) stats.Sample {
	t.Helper()
	s, err := stats.NewSample(values...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run is the numbers of a run of a duet.
func (c clocked) run(rng *rand.Rand) Numbers {
	w, ops := c.duet(rng, 0.01)
	v := SecondaryValue{Value: w.Used / ops}
	w.Correct(&v)
	return Numbers{Costs: map[string]SecondaryValue{"cost(app)": v}}
}

// TestClockworkOfNone corrects next to nothing where no work follows the clock, and adds no
// scatter.
func TestClockworkOfNone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var before, after []float64
	for range 2000 {
		w, ops := (clocked{}).duet(rng, 0.01)
		share, deferred := w.Shares()
		if share > 0.002 || deferred > 0.002 {
			t.Fatalf("%.4f by the clock, %.4f put off", share, deferred)
		}
		before = append(before, math.Log(w.Used/ops))
		after = append(after, math.Log(w.Used*(1-share)/ops))
	}
	x, y := sampleOf(t, before).SD(), sampleOf(t, after).SD()
	if y*y > 1.05*x*x {
		t.Errorf("the correction raises the variance from %.3g to %.3g", x*x, y*y)
	}
	if share, _ := (Clockwork{
		Used:    10,
		Paused:  30,
		Covered: 1,
		Backlog: 0.5,
		Idle:    0.02,
		Error:   0.01,
	}).Shares(); math.Abs(share-0.06) > 1e-9 {
		t.Errorf("with few backlogs %.3f, want the idle rate alone", share)
	}
}

// TestCostOfClockworkIsToldOrRefused keeps the correction of both arms with the result, and judges
// no cost that a duet cannot give: the verdict is inconclusive, and names the remedy.
func TestCostOfClockworkIsToldOrRefused(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	read := func(w Clockwork) verdict.Result {
		arms, _ := b.judge(c, func(*record.Run) ([]SecondaryValue, error) {
			v := SecondaryValue{
				Name:   "cost(app)",
				Unit:   "ms",
				Better: plan.Lower,
				Value:  2,
				Alone:  true,
			}
			w.Correct(&v)
			return []SecondaryValue{v}, nil
		})
		return resultOf(t, arms[0].Verdict, "cost(app)")
	}
	r := read(Clockwork{Used: 10, Paused: 30, Covered: 30, Backlog: 0.6, Idle: 0.02})
	if r.Kind != verdict.Same || math.Abs(r.ByClock[0]-0.06) > 1e-9 ||
		r.ByClock[0] != r.ByClock[1] ||
		math.Abs(r.Base.Mean-1.88) > 1e-6 {
		t.Errorf("%s, %v ms, %v by the clock", r.Kind, r.Base.Mean, r.ByClock)
	}
	known := Numbers{Costs: map[string]SecondaryValue{"cost(app)": {ByClock: 0.2}}}
	if got := known.costsAlone().Costs["cost(app)"].ByClock; got != 0.2 {
		t.Errorf(
			"of a run that others disturbed, %v of the cost is known to follow the clock, want 0.2",
			got,
		)
	}
	r = read(Clockwork{Used: 10, Paused: 30, Covered: 30, Backlog: 6, Idle: 0.2})
	if r.Kind != verdict.Inconclusive || !strings.Contains(fmt.Sprint(r), "write mode: sequence") {
		t.Errorf("%s: %v", r.Kind, r)
	}
}
