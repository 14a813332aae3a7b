package bisect

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// calibrate makes TestSimulated simulate thousands of searches in each row and print the table of
// docs/bisect.md.
var calibrate = flag.Bool("calibrate", false, "simulate the table of docs/bisect.md (a minute)")

// A world is a simulated range of builds.
type world struct {
	builds int
	effect float64 // of the change, on the log scale; 0 for equal builds
	second float64 // of another change, which lies behind the first; 0 for none
	sd     float64 // of a run; a block has two
	heavy  bool    // one block in ten is three times as noisy
	hint   float64 // weight of the right build among two suspects; 0 for no suspects
	skip   float64 // share of builds that cannot be made
	place  float64 // sd of a build in all of its blocks alike, by its place in memory
}

func (w world) String() string {
	text := fmt.Sprintf("%d builds, %+.0f %%", w.builds, 100*math.Expm1(w.effect))
	if w.second != 0 {
		text += fmt.Sprintf(" and %+.0f %%", 100*math.Expm1(w.second))
	}
	text += fmt.Sprintf(", run sd %.1f %%", 100*w.sd)
	if w.heavy {
		text += ", heavy tails"
	}
	if w.hint > 0 {
		text += fmt.Sprintf(", suspects %.0f:%.0f", 10*w.hint, 10-10*w.hint)
	}
	if w.skip > 0 {
		text += fmt.Sprintf(", %.0f %% of builds fail", 100*w.skip)
	}
	if w.place > 0 {
		text += fmt.Sprintf(", builds differ by %.1f %%", 100*w.place)
	}
	return text
}

// A tally counts the outcomes of searches.
type tally struct {
	n, right, wrong, nothing, undecided int
	more                                int // reported more than one change
	blocks, probes                      int
	holds                               int // intervals of those that are right hold the effect
}

func (t tally) share(n int) float64 { return float64(n) / float64(t.n) }

// simulate carries out a search.
func (w world) simulate(rng *rand.Rand, t *tally) {
	first := 1 + rng.IntN(w.builds-1)
	levels := make([]float64, w.builds)
	later := w.builds
	if w.second != 0 {
		first = 1 + rng.IntN(w.builds-2)
		later = first + 1 + rng.IntN(w.builds-1-first)
	}
	for i := range levels {
		if w.place > 0 {
			levels[i] = w.place * rng.NormFloat64()
		}
		if i >= first {
			levels[i] += w.effect
		}
		if i >= later {
			levels[i] += w.second
		}
	}
	s := &BuildSearch{Builds: w.builds, Skipped: map[int]bool{}}
	for j := 1; j < w.builds-1; j++ {
		s.Skipped[j] = rng.Float64() < w.skip
	}
	if w.hint > 0 {
		other := 1 + rng.IntN(w.builds-1)
		s.Prior = Weighted(w.builds, map[int]float64{first: w.hint, other: 1 - w.hint})
	}
	for {
		step, answer := s.Next()
		if answer.Outcome == Open {
			for range step.Blocks {
				noise := w.sd * math.Sqrt2 * rng.NormFloat64()
				if w.heavy && rng.IntN(10) == 0 {
					noise *= 3
				}
				s.Measured = append(s.Measured, BlockRatio{step.Build, step.Against,
					levels[step.Build] - levels[step.Against] + noise, step.Purpose})
			}
			continue
		}
		t.count(w, answer, first, later, s.Measured)
		return
	}
}

func (t *tally) count(w world, a Diagnosis, first, later int, measured []BlockRatio) {
	t.n++
	t.blocks += len(measured)
	for _, m := range measured {
		if m.Purpose == Probe {
			t.probes++
		}
	}
	if a.More >= Several {
		t.more++
	}
	holds := func(j int) bool { return a.Before < j && j <= a.Build }
	switch {
	case a.Outcome == Nothing:
		t.nothing++
	case a.Outcome == Undecided:
		t.undecided++
	case w.effect != 0 && (holds(first) || w.second != 0 && holds(later)):
		t.right++
		if e := math.Expm1(w.effect); a.Effect.Low <= e && e <= a.Effect.High {
			t.holds++
		}
	default:
		t.wrong++
	}
}

// TestSimulated: the search names the right build in 19 of 20 ranges, and none where builds are
// alike. A second change is reported, and none where there is one.
func TestSimulated(t *testing.T) {
	n := 200
	if *calibrate {
		n = 4000
	}
	percent := func(p float64) float64 { return math.Log1p(p / 100) }
	var table strings.Builder
	for i, tt := range []struct {
		world
		right, wrong, more [2]float64 // least and most
	}{
		{world{builds: 64, effect: percent(-5), sd: 0.02}, [2]float64{0.95, 1}, [2]float64{0, 0.02}, [2]float64{0, 0.02}},
		{world{builds: 32, effect: percent(5), sd: 0.01}, [2]float64{0.98, 1}, [2]float64{0, 0.01}, [2]float64{0, 0.02}},
		{world{builds: 1000, effect: percent(5), sd: 0.01}, [2]float64{0.98, 1}, [2]float64{0, 0.01}, [2]float64{0, 0.02}},
		{world{builds: 2, effect: percent(5), sd: 0.01}, [2]float64{0.98, 1}, [2]float64{0, 0}, [2]float64{0, 0}},
		{world{builds: 32, effect: percent(5), sd: 0.01, heavy: true}, [2]float64{0.95, 1}, [2]float64{0, 0.02}, [2]float64{0, 0.03}},
		{world{builds: 64, effect: percent(-5), sd: 0.02, hint: 0.8}, [2]float64{0.95, 1}, [2]float64{0, 0.02}, [2]float64{0, 0.02}},
		{world{builds: 64, effect: percent(-5), sd: 0.02, hint: 0.1}, [2]float64{0.95, 1}, [2]float64{0, 0.03}, [2]float64{0, 0.02}},
		{world{builds: 32, effect: percent(5), sd: 0.01, skip: 0.3}, [2]float64{0.98, 1}, [2]float64{0, 0.01}, [2]float64{0, 0.02}},
		{world{builds: 64, sd: 0.02}, [2]float64{0, 0}, [2]float64{0, 0.0004}, [2]float64{0, 0.01}},
		{world{builds: 32, sd: 0.005}, [2]float64{0, 0}, [2]float64{0, 0}, [2]float64{0, 0.01}},
		{world{builds: 64, effect: percent(5), second: percent(5), sd: 0.01}, [2]float64{0.95, 1}, [2]float64{0, 0.03}, [2]float64{0.94, 1}},
		{world{builds: 32, sd: 0.01, place: 0.004}, [2]float64{0, 0}, [2]float64{0, 0.01}, [2]float64{0, 0.02}},
		{world{builds: 32, effect: percent(5), sd: 0.01, place: 0.004},
			[2]float64{0.9, 1}, [2]float64{0, 0.02}, [2]float64{0, 0.08}},
	} {
		var sum tally
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		for range n {
			tt.simulate(rng, &sum)
		}
		holds := "-"
		if sum.right > 0 {
			holds = fmt.Sprintf("%.0f %%", 100*float64(sum.holds)/float64(sum.right))
		}
		fmt.Fprintf(&table, "| %v | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f | %.1f | %s |\n",
			tt.world, 100*sum.share(sum.right), 100*sum.share(sum.wrong), 100*sum.share(sum.nothing),
			100*sum.share(sum.undecided), 100*sum.share(sum.more),
			float64(sum.blocks)/float64(sum.n), float64(sum.probes)/float64(sum.n), holds)
		slack := 0.0
		if !*calibrate {
			slack = 0.02 // of 200
		}
		for what, x := range map[string]struct {
			got  float64
			want [2]float64
		}{
			"right":     {sum.share(sum.right), tt.right},
			"wrong":     {sum.share(sum.wrong), tt.wrong},
			"more said": {sum.share(sum.more), tt.more},
		} {
			if x.got < x.want[0]-slack || x.got > x.want[1]+slack {
				t.Errorf("%v: %s in %.1f %%, want %.0f to %.0f %%", tt.world, what, 100*x.got,
					100*x.want[0], 100*x.want[1])
			}
		}
	}
	if *calibrate {
		os.Stdout.WriteString("| range | right | wrong | nothing to find | undecided | more than one said | blocks | of them probes | interval holds |\n" +
			"|---|---|---|---|---|---|---|---|---|\n" + table.String())
	}
}
