package verdict_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/stats"
)

// The times of a simulated block in seconds: slices of one arm's load, rounds of a run, and the
// time between the beginnings of two runs that are made one after the other.
const (
	duetSlice  = 0.2
	duetRounds = 35
	apart      = 20.0
)

// A duetHost is a simulated machine, by its effects on the logarithm of an endpoint.
type duetHost struct {
	name   string
	walk   float64 // sd of a random walk in a minute, and a slow climb in ten
	bursts bool    // a neighbor takes up to 60 % of the core, in bursts of 0.2 to 5 s
	second float64 // effect on the second of two slices that follow each other
	// slices and deployments vary by Student's t with 3 and 5 degrees of freedom, not normally
	heavy bool
}

func duetHosts() []duetHost {
	return []duetHost{
		{name: "slow drift", walk: 0.02},
		{name: "drift, bursts", walk: 0.02, bursts: true},
		{name: "drift, bursts, second slice 4 % dearer", walk: 0.02, bursts: true, second: 0.04},
		{name: "drift, bursts, heavy tails", walk: 0.02, bursts: true, heavy: true},
	}
}

// A duetWorld is a simulated comparison of one endpoint in six blocks.
type duetWorld struct {
	duetHost
	endpoint string
	gain     float64 // share of a burst's slowdown that reaches the endpoint
	noise    float64 // sd of a slice
	deployed float64 // sd between deployments, of each run
}

func duetCost() duetWorld { return duetWorld{endpoint: "cost(app)", gain: 0.2, noise: 0.08} }

func duetLatency() duetWorld { return duetWorld{endpoint: "p95(post)", gain: 1, noise: 0.25} }

// A weather is the state of a host at a moment.
type weather struct {
	w             duetWorld
	rng           *rand.Rand
	now, until    float64
	level, burden float64 // drift so far, and slowdown of the present burst
}

// over goes on by d seconds and returns the mean slowdown in them.
func (h *weather) over(d float64) float64 {
	h.level += h.w.walk * (math.Sqrt(d/60)*h.rng.NormFloat64() + d/600)
	sum, end := 0.0, h.now+d
	for h.now < end {
		if h.now >= h.until {
			h.until = h.now + 0.2 + 4.8*h.rng.Float64()
			if h.w.bursts {
				h.burden = -h.w.gain * math.Log(1-0.6*h.rng.Float64())
			}
		}
		to := min(h.until, end)
		sum += h.burden * (to - h.now)
		h.now = to
	}
	return h.level + sum/d
}

// student returns a number of sd 1 with Student's distribution.
func student(rng *rand.Rand, df int) float64 {
	chi := 0.0
	for range df {
		x := rng.NormFloat64()
		chi += x * x
	}
	return rng.NormFloat64() / math.Sqrt(chi/float64(df)) * math.Sqrt(float64(df-2)/float64(df))
}

// vary returns the noise of sd 1 of a slice (df 3) or a deployment (df 5).
func (h *weather) vary(df int) float64 {
	if h.w.heavy {
		return student(h.rng, df)
	}
	return h.rng.NormFloat64()
}

// A block is a pair of runs: the mean logarithm of each arm's slices, and the difference of each
// round.
type block struct {
	mean   [2]float64
	rounds []float64
}

// duet makes the blocks of a duet of duetRounds rounds.
func (h *weather) duet() block {
	return h.turns(func(rounds [][2]float64) bool { return len(rounds) == duetRounds })
}

// turns makes a block of a duet: arms in mirrored pairs of rounds, and in each round as much time
// for the other database as for this one, until the rounds are enough.
func (h *weather) turns(enough func(rounds [][2]float64) bool) block {
	deployed := [2]float64{h.w.deployed * h.vary(5), h.w.deployed * h.vary(5)}
	var b block
	var rounds [][2]float64
	h.over(10)
	first := 0
	for round := 0; !enough(rounds); round++ {
		if round%2 == 0 {
			first = h.rng.IntN(2)
		} else {
			first = 1 - first
		}
		var at [2]float64
		for k, arm := range []int{first, 1 - first} {
			at[arm] = h.over(duetSlice) + deployed[arm] + h.w.noise*h.vary(
				3,
			) + float64(k)*h.w.second
			b.mean[arm] += at[arm]
		}
		rounds, b.rounds = append(rounds, at), append(b.rounds, at[1]-at[0])
		h.over(2 * duetSlice)
	}
	for arm := range b.mean {
		b.mean[arm] /= float64(len(rounds))
	}
	return b
}

// sequence makes a block of runs one after the other.
func (h *weather) sequence(first int) block {
	var b block
	for _, arm := range []int{first, 1 - first} {
		h.over(apart - duetRounds*duetSlice)
		b.mean[arm] = h.w.deployed * h.vary(5)
		for range duetRounds {
			b.mean[arm] += (h.over(duetSlice) + h.w.noise*h.vary(3)) / duetRounds
		}
	}
	return b
}

// comparison makes six blocks. The pairs are of equal builds; rounds are the differences of all
// slices.
func (w duetWorld) comparison(rng *rand.Rand, duet bool) (pairs []verdict.Pair, rounds []float64) {
	h := &weather{w: w, rng: rng}
	first := 0
	for n := range stats.MinPairs {
		if n%2 == 0 {
			first = rng.IntN(2)
		} else {
			first = 1 - first
		}
		p, b := verdict.Pair{Block: n + 1}, block{}
		if duet {
			b = h.duet()
			rounds = append(rounds, b.rounds...)
		} else {
			b = h.sequence(first)
			p.First = []string{verdict.FirstBase, verdict.FirstNew}[first]
		}
		p.Base, p.New = math.Exp(b.mean[0]), math.Exp(b.mean[1])
		pairs = append(pairs, p)
	}
	return pairs, rounds
}

// judge judges pairs whose new arm is so much dearer or slower as given, on the log scale. The
// margin is so narrow that "same" hides nothing.
func (w duetWorld) judge(pairs []verdict.Pair, effect float64) verdict.Result {
	shifted := make([]verdict.Pair, len(pairs))
	for i, p := range pairs {
		p.New *= math.Exp(effect)
		shifted[i] = p
	}
	e := plan.Endpoint{Name: w.endpoint, Better: plan.Lower, Margin: 0.0005, Unit: "ms"}
	return verdict.Judge(e, shifted, verdict.Fixed(len(pairs)))
}

// seeded returns the random numbers of a row.
func (w duetWorld) seeded() *rand.Rand { return seeded(1908, "%+v", w) }

// duetRows makes the rows of a table: of a cost and a latency with a change each, on hosts, by the
// sd between deployments. Column held has the intervals that hold the change, the one before it
// the equal builds that differ.
func duetRows(hosts []duetHost, held int,
	shares func(w duetWorld, t *testing.T, times int, effect float64) []float64) (rows []pageRow) {
	for _, of := range []struct {
		w      duetWorld
		change float64
	}{{duetCost(), 0.03}, {duetLatency(), 0.05}} {
		for _, host := range hosts {
			for _, deployed := range []float64{0, 0.01, 0.02, 0.03} {
				w := of.w
				w.duetHost, w.deployed = host, deployed
				rows = append(rows, pageRow{
					key: fmt.Sprintf(
						"%s +%.0f %% | %s | %.0f %%",
						w.endpoint,
						100*of.change,
						host.name,
						100*deployed,
					),
					most:  map[int]float64{held - 1: 0.06, held: 0.97},
					least: map[int]float64{held: 0.93},
					shares: func(t *testing.T, times int) []float64 {
						return shares(w, t, times, math.Log1p(of.change))
					},
				})
			}
		}
	}
	return rows
}

// duetTable judges duets and sequences on the same simulated hosts.
func duetTable() pageTable {
	table := pageTable{
		mark: "duets",
		head: "| endpoint and change | host | sd between deployments " +
			"| sd of a pair's difference: sequence | duet | **equal builds, duet: worse or better** " +
			"| **95 % interval holds the change** | change found: sequence | duet | t test over slices: equal builds differ |\n" +
			"|---|---|---|---|---|---|---|---|---|---|\n",
	}
	table.rows = duetRows(duetHosts(), 3, duetWorld.shares)
	return table
}

// shares simulates a row of duetTable.
func (w duetWorld) shares(t *testing.T, times int, effect float64) []float64 {
	rng := w.seeded()
	var apartVar, duetVar, wrong, held, foundApart, foundDuet, naive float64
	for range times {
		pairs, rounds := w.comparison(rng, true)
		equal, changed := w.judge(pairs, 0), w.judge(pairs, effect)
		duetVar += equal.SD * equal.SD
		if equal.Kind == verdict.Worse || equal.Kind == verdict.Better {
			wrong++
		}
		if changed.Lo <= math.Expm1(effect) && math.Expm1(effect) <= changed.Hi {
			held++
		}
		if changed.Kind == verdict.Worse {
			foundDuet++
		}
		s, err := stats.NewSample(rounds...)
		if err != nil {
			t.Fatal(err)
		}
		if stats.TTest(s) <= stats.FixedAlpha {
			naive++
		}
		pairs, _ = w.comparison(rng, false)
		changed = w.judge(pairs, effect)
		apartVar += changed.SD * changed.SD
		if changed.Kind == verdict.Worse {
			foundApart++
		}
	}
	n := float64(times)
	return []float64{
		math.Sqrt(apartVar / n),
		math.Sqrt(duetVar / n),
		wrong / n,
		held / n,
		foundApart / n,
		foundDuet / n,
		naive / n,
	}
}

// duetPowerTable counts how often six blocks of a duet find a change, by its size.
func duetPowerTable() pageTable {
	changes := []float64{0.01, 0.02, 0.03, 0.05, 0.10}
	table := pageTable{mark: "power of duets", head: "| endpoint | sd between deployments " +
		"| +1 % | +2 % | +3 % | +5 % | +10 % |\n|---|---|---|---|---|---|---|\n"}
	for _, of := range []duetWorld{duetCost(), duetLatency()} {
		for _, deployed := range []float64{0, 0.01, 0.02, 0.03} {
			w := of
			w.duetHost, w.deployed = duetHosts()[1], deployed
			table.rows = append(table.rows, pageRow{
				key: fmt.Sprintf("%s | %.0f %%", w.endpoint, 100*deployed),
				shares: func(_ *testing.T, times int) []float64 {
					rng := w.seeded()
					found := make([]float64, len(changes))
					for range times {
						pairs, _ := w.comparison(rng, true)
						for k, change := range changes {
							if w.judge(pairs, math.Log1p(change)).Kind == verdict.Worse {
								found[k] += 1 / float64(times)
							}
						}
					}
					return found
				},
			})
		}
	}
	return table
}
