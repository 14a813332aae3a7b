package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"plimsoll/stats"
)

// phase is n values of log latency around 40 ms and of log throughput, whose noise has the standard
// deviation sd and the correlation rho between neighbors; of adds to the latency.
func phase(
	rng *rand.Rand,
	n int,
	sd, rho float64,
	of func(i int) float64,
) (latency, rate []float64) {
	latency, rate = ar(rng, n, rho), ar(rng, n, rho)
	for i := range latency {
		latency[i] = math.Log(40) + sd*latency[i] + of(i)
		rate[i] = math.Log(200) + sd/4*rate[i]
	}
	return latency, rate
}

func TestSettling(t *testing.T) {
	rng := rand.New(rand.NewPCG(120, 1))
	const n = 100
	for _, tt := range []struct {
		name  string
		of    func(i int) float64
		state stats.SettlingState
		least int // cut
		most  int
	}{
		{"steady", func(int) float64 { return 0 }, stats.Settled, 0, 0},
		{"warm-up of a tenth", func(i int) float64 {
			return math.Exp(-float64(i) / 5)
		}, stats.SettledLate, 10, 30},
		{"quick at first", func(i int) float64 {
			return -math.Exp(-float64(i) / 5)
		}, stats.SettledLate, 10, 40},
		{"climb from 41 to 60 ms", func(i int) float64 {
			return math.Log(41 + 19*float64(i)/n)
		}, stats.Settled, 0, 0},
		{"break at 60 %", func(i int) float64 {
			return either(i < 60, 0, 0.3)
		}, stats.NeverSettled, 55, 65},
		{"break at 60 % by 5 %", func(i int) float64 {
			return either(i < 60, 0, 0.05)
		}, stats.Settled, 0, 0},
		{"break at 30 %", func(i int) float64 {
			return either(i < 30, 0.3, 0)
		}, stats.SettledLate, 25, 35},
		{"warm-up that moves the mean by 1 %", func(i int) float64 {
			return either(i < 10, 0.1, 0)
		}, stats.Settled, 0, 0},
	} {
		got := stats.SettlingOf(phase(rng, n, 0.02, 0.2, tt.of))
		if got.State != tt.state || got.Cut < tt.least || got.Cut > tt.most || got.Rate {
			t.Errorf(
				"%s: %+v, want state %d and a cut of %d to %d",
				tt.name,
				got,
				tt.state,
				tt.least,
				tt.most,
			)
		}
	}
	latency, rate := phase(rng, n, 0.01, 0, func(int) float64 { return 0 })
	for i := range 30 {
		rate[i] -= 0.5
	}
	if got := stats.SettlingOf(latency, rate); got.State != stats.SettledLate || !got.Rate ||
		math.Abs(got.Shift+0.5) > 0.02 ||
		math.Abs(got.Bias+0.15) > 0.02 {
		t.Errorf("throughput that comes late: %+v, want a shift of -0.5 and a bias of -0.15", got)
	}
	for name, v := range map[string][2][]float64{
		"too short": {latency[:49], rate[:49]},
		"unequal":   {latency, rate[:60]},
		"undefined": {append([]float64{math.Inf(-1)}, latency[1:]...), rate},
	} {
		if got := stats.SettlingOf(v[0], v[1]); got.State != stats.SettlingUnknown {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func either(yes bool, a, b float64) float64 {
	if yes {
		return a
	}
	return b
}

// TestCutIsTheEarliest cuts a step of 20 values off phases that are steady behind it: the cut ends
// where the step ends, also where the least standard error is at another cut for a difference in
// the fifth digit or by chance.
func TestCutIsTheEarliest(t *testing.T) {
	even := func(i int) float64 {
		return either(i < 20, 0.7, 0) + either(i/stats.MSERBatch == 5, 2e-5, 0)
	}
	if got := stats.SettlingOf(phase(rand.New(rand.NewPCG(123, 1)), 60, 1e-7, 0, even)); got.Cut != 20 {
		t.Errorf("an even phase: %+v, want a cut of 20", got)
	}
	const times = 1000
	for i, rho := range []float64{0, 0.5} {
		rng, right := rand.New(rand.NewPCG(123, uint64(2+i))), 0
		for range times {
			if stats.SettlingOf(phase(rng, 60, 0.05, rho, func(i int) float64 {
				return either(i < 20, 0.7, 0)
			})).Cut == 20 {
				right++
			}
		}
		within(
			t,
			"step of 20 values, correlation "+strconv.Itoa(int(100*rho))+" %: cut at its end",
			right,
			times,
			0.95,
			1,
		)
	}
}

// TestSettlingCalibration counts findings in phases that are steady, or climb steadily, from the
// beginning: at most one in a hundred may be called late and one in two hundred never settled
// (three and one in a hundred of short ones whose neighbors depend on each other strongly); and in
// phases that had a warm-up, or a break.
func TestSettlingCalibration(t *testing.T) {
	t.Parallel()
	const times = 1000
	nothing := func(int) float64 { return 0 }
	for i, tt := range []struct {
		name        string
		n           int
		sd, rho     float64
		of          func(i int) float64
		late, never [2]float64
	}{
		{"steady, sd 3 %, correlation 0", 100, 0.03, 0, nothing, [2]float64{0, 0.01}, [2]float64{0, 0.005}},
		{"steady, sd 10 %, correlation 0.5", 100, 0.10, 0.5, nothing, [2]float64{0, 0.01}, [2]float64{0, 0.005}},
		{"steady, sd 30 %, correlation 0.5", 100, 0.30, 0.5, nothing, [2]float64{0, 0.01}, [2]float64{0, 0.005}},
		{"steady, sd 10 %, correlation 0.8", 100, 0.10, 0.8, nothing, [2]float64{0, 0.01}, [2]float64{0, 0.005}},
		{"steady, sd 30 %, correlation 0.9", 60, 0.30, 0.9, nothing, [2]float64{0, 0.03}, [2]float64{0, 0.01}},
		{"climb of 46 %, sd 5 %, correlation 0.5", 100, 0.05, 0.5, func(i int) float64 {
			return math.Log(1 + 0.46*float64(i)/100)
		}, [2]float64{0, 0.01}, [2]float64{0, 0.005}},
		{"warm-up of a fifth, sd 5 %, correlation 0.5", 100, 0.05, 0.5, func(i int) float64 {
			return 0.5 * math.Exp(-float64(i)/10)
		}, [2]float64{0.8, 1}, [2]float64{0, 0.02}},
		{"break at 60 % by 30 %, sd 5 %, correlation 0.5", 100, 0.05, 0.5, func(i int) float64 {
			return either(i < 60, 0, 0.26)
		}, [2]float64{0, 0.05}, [2]float64{0.9, 1}},
	} {
		rng := rand.New(rand.NewPCG(121, uint64(i)))
		var late, never int
		for range times {
			switch stats.SettlingOf(phase(rng, tt.n, tt.sd, tt.rho, tt.of)).State {
			case stats.SettledLate:
				late++
			case stats.NeverSettled:
				never++
			}
		}
		within(t, tt.name+": late", late, times, tt.late[0], tt.late[1])
		within(t, tt.name+": never settled", never, times, tt.never[0], tt.never[1])
	}
}

// TestLongestTime holds the mean estimate from 40 values against the true time of a first-order
// process, (1+rho)/(1-rho): without its correction half of it is missing.
func TestLongestTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(122, 1))
	const times = 2000
	for _, tt := range []struct{ rho, lo, hi float64 }{{0, 1, 1.6}, {0.5, 2.8, 3.8}, {0.8, 8.5, 12}} {
		sum := 0.0
		for range times {
			sum += stats.LongestTime(ar(rng, 40, tt.rho)) / times
		}
		t.Logf("correlation %v: %.2f, true %.2f", tt.rho, sum, (1+tt.rho)/(1-tt.rho))
		if sum < tt.lo || sum > tt.hi {
			t.Errorf("correlation %v: %.2f, want %v to %v", tt.rho, sum, tt.lo, tt.hi)
		}
	}
	if got := stats.LongestTime([]float64{2, 2, 2, 2, 2}); got != 1 {
		t.Errorf("no spread: %v", got)
	}
	if got := stats.LongestTime([]float64{1, 2}); !math.IsNaN(got) {
		t.Errorf("two values: %v", got)
	}
}

// TestShiftFunctionTies has pairs that agree to the step of their histogram in all but one: they
// have a band.
func TestShiftFunctionTies(t *testing.T) {
	run := func(v float64) []stats.SparseCounts {
		c := counts(slices.Concat(
			slices.Repeat([]float64{100}, 500),
			slices.Repeat([]float64{101}, 500),
			slices.Repeat([]float64{v}, 1000),
		)...)
		return []stats.SparseCounts{c, c, c, c, c, c}
	}
	var pairs []stats.RunPair
	for _, v := range []float64{120, 120, 120, 120, 120, 121.2} {
		pairs = append(pairs, stats.RunPair{Base: run(110), New: run(v)})
	}
	s, err := stats.ShiftFunction(pairs, []float64{0.2, 0.8}, 0.95, 1)
	if err != nil || !(s.Lo[1] > 0.05 && s.Lo[1] < s.D[1] && s.Hi[1] < 0.15) {
		t.Errorf("%+v, %v", s, err)
	}
	if !(s.Lo[0] < 0 && s.Hi[0] > 0) || s.D[0] != 0 {
		t.Errorf("where nothing differs the band is no point: %+v", s)
	}
}
