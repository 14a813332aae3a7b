package capacity_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/run/capacity"
)

// world is one server of a family at one pace.
type world struct {
	family family
	number uint64 // of the family
	pace   float64
	seed   uint64
}

// lab makes the server anew: another run of it has the same parameters and another weather.
func (w world) lab(run uint64) *lab {
	srv, rules := w.family.build(newSite(w.seed, w.number, run, w.pace))
	return newLab(srv, rules, 15*w.pace, w.seed+1000*run)
}

// share returns the share of windows that break a rule with n users, once the server has served
// them for half an hour.
func (w world) share(n float64, windows int) float64 {
	l := w.lab(2)
	l.pass(1800, n)
	bad := 0
	for k := range windows + l.keep/perWindow {
		for range 5 {
			l.tick(n)
		}
		if k >= l.keep/perWindow && l.violated() {
			bad++
		}
	}
	return float64(bad) / float64(windows)
}

// level returns the number of users at which a share of the windows of the stationary server
// break a rule; of half of them, that is the capacity.
func (w world) level(share float64, windows int) float64 {
	site := newSite(w.seed, w.number, 2, w.pace)
	lo, hi := 0.4*site.users, 2.5*site.users
	if w.share(lo, 100) > share || w.share(hi, 100) < share {
		panic(w.family.name + ": the capacity is out of range")
	}
	for k := range 10 {
		n := math.Sqrt(lo * hi)
		count := windows
		if k < 5 {
			count = windows / 4
		}
		if w.share(n, count) > share {
			hi = n
		} else {
			lo = n
		}
	}
	return math.Sqrt(lo * hi)
}

// search carries out one search with the defaults of a plan. They all scale with the pace, also the
// budget of an hour.
func (w world) search(truth float64) (r capacity.Result, took time.Duration) {
	start := w.family.start
	if start == 0 {
		start = 0.6
	}
	scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) * w.pace) }
	users := int(start * truth)
	s, err := capacity.New(capacity.Config{Start: users, Max: int(4 * truth),
		RampRate: 0.002 / w.pace, RampFloor: 4 / w.pace,
		Window: scale(15 * time.Second), Budget: scale(time.Hour)})
	if err != nil {
		panic(err)
	}
	l := w.lab(1)
	for range 20 {
		l.tick(float64(users))
	}
	begin := l.now
	for {
		l.tick(float64(users))
		a := s.Step(l.observe(users))
		if a.Done {
			return s.Result(), time.Duration((l.now - begin) * float64(time.Second))
		}
		users = a.Users
	}
}

// A tally is the outcome of the searches of a family.
type tally struct {
	runs, estimates, covered, unstable, bounds, falseBounds, invalid int

	width, bias, took []float64
	// lo and hi are the loads at which a tenth and nine tenths of the windows break a rule, over
	// the capacity.
	lo, hi []float64
}

func (t *tally) add(r capacity.Result, truth float64, took time.Duration) {
	t.runs++
	t.took = append(t.took, took.Seconds())
	switch r.Kind {
	case capacity.Unstable:
		t.unstable++
	case capacity.AtLeast:
		t.bounds++
		if r.Users > truth {
			t.falseBounds++
		}
	case capacity.Estimate:
		t.estimates++
		if r.Lo <= truth && truth <= r.Hi {
			t.covered++
		}
		t.width = append(t.width, (r.Hi-r.Lo)/r.Users)
		t.bias = append(t.bias, math.Log(r.Users/truth))
	default:
		t.invalid++
	}
}

// honest returns the number of searches that held the capacity, gave a true bound or were unstable.
func (t *tally) honest() int { return t.covered + t.unstable + t.bounds - t.falseBounds }

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}

const secondHead = "| server | pace | 10 to 90 % of windows | estimates | coverage | unstable |" +
	" at least, false | honest | width | bias | time |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|\n"

// row is the line of the table: medians of width and bias of the estimates, and of the time of
// all searches.
func (t *tally) row(name string, pace float64) string {
	band := "not measured"
	if len(t.lo) > 0 {
		band = fmt.Sprintf("%.0f to %.0f %%", 100*median(t.lo), 100*median(t.hi))
	}
	coverage := percent(float64(t.covered) / float64(t.estimates))
	unstable := percent(float64(t.unstable) / float64(t.runs))
	honest := 100 * float64(t.honest()) / float64(t.runs)
	return fmt.Sprintf("| %s | %g | %s | %d | %s | %s | %d, %d | %.0f %% | %s | %s | %.0f s |\n",
		name, pace, band, t.estimates, coverage, unstable, t.bounds, t.falseBounds, honest,
		percent(median(t.width)), percent(median(t.bias)), median(t.took))
}

// unmet are the rows in which a search promises too much: they are checked in the whole table only.
var unmet = map[string]bool{
	"autoscaler/pace 0.1":          true,
	"sessions linger 300 s/pace 1": true,
	"slow host/pace 0.1":           true,
}

// quickSeeds is the number of searches of a row each test run makes; their capacities are kept in
// secondFile.
const (
	quickSeeds = 3
	secondFile = "testdata/second.json"
)

// secondCapacities returns the kept capacities by row.
func secondCapacities(t *testing.T) map[string][]float64 {
	t.Helper()
	data, err := os.ReadFile(secondFile)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string][]float64{}
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

// A secondRow is the searches of one row of the table.
type secondRow struct {
	family  family
	number  uint64
	pace    float64
	kept    []float64 // capacities of the first seeds; nil to find them
	windows int       // of a level
}

func (row secondRow) name() string { return fmt.Sprintf("%s/pace %g", row.family.name, row.pace) }

// run makes the searches and returns their tally and the capacities.
func (row secondRow) run(seeds int) (sum tally, truths []float64) {
	for i := range seeds {
		w := world{family: row.family, number: row.number, pace: row.pace, seed: uint64(i) + 1}
		var truth float64
		if row.kept != nil {
			truth = row.kept[i]
		} else {
			truth = w.level(0.5, row.windows)
			if i < 5 {
				sum.lo = append(sum.lo, w.level(0.1, row.windows/2)/truth)
				sum.hi = append(sum.hi, w.level(0.9, row.windows/2)/truth)
			}
		}
		r, took := w.search(truth)
		sum.add(r, truth, took)
		truths = append(truths, math.Round(10*truth)/10)
	}
	return sum, truths
}

// check fails if more than a tenth of the searches, and more than one, promised what is not so.
// Of an easy server they must find the capacity.
func (row secondRow) check(t *testing.T, sum tally) {
	t.Helper()
	most := max(1, sum.runs/10)
	if wrong := sum.runs - sum.honest(); wrong > most {
		t.Errorf("%d of %d searches neither held the capacity nor were a true bound or unstable, "+
			"want at most %d", wrong, sum.runs, most)
	}
	if missed := sum.runs - sum.covered; row.family.easy && missed > most {
		t.Errorf("%d of %d searches did not hold the capacity, want at most %d",
			missed, sum.runs, most)
	}
}

// TestSecondFamilies lets the search loose on servers of an author who knew its promises alone.
// The capacity is the number of constant users at which half of the windows of the stationary
// server break a rule. PLIMSOLL_SEEDS=20 makes the whole table, in some minutes, and with -update
// keeps the capacities of the first seeds.
func TestSecondFamilies(t *testing.T) {
	seeds, kept := quickSeeds, map[string][]float64{}
	text := os.Getenv("PLIMSOLL_SEEDS")
	if text == "" {
		kept = secondCapacities(t)
	} else if _, err := fmt.Sscan(text, &seeds); err != nil || seeds < quickSeeds {
		t.Fatalf("PLIMSOLL_SEEDS is %q; want a number of %d or more", text, quickSeeds)
	}
	var rows []secondRow
	for i, f := range families() {
		for _, pace := range []float64{1, 0.1} {
			row := secondRow{family: f, number: uint64(i), pace: pace, windows: 800}
			row.kept = kept[row.name()]
			rows = append(rows, row)
		}
	}
	lines, truths := make([]string, len(rows)), make([][]float64, len(rows))
	t.Run("rows", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.name(), func(t *testing.T) {
				t.Parallel()
				if text == "" && len(row.kept) != quickSeeds {
					t.Fatalf("%s has %d capacities, want %d: PLIMSOLL_SEEDS=20 and -update",
						secondFile, len(row.kept), quickSeeds)
				}
				var sum tally
				sum, truths[i] = row.run(seeds)
				lines[i] = sum.row(row.family.name, row.pace)
				if text != "" || !unmet[row.name()] {
					row.check(t, sum)
				}
			})
		}
	})
	t.Log("\n" + secondHead + strings.Join(lines, ""))
	if text == "" || flag.Lookup("update").Value.String() != "true" {
		return
	}
	for i, row := range rows {
		if truths[i] != nil {
			kept[row.name()] = truths[i][:quickSeeds]
		}
	}
	data, err := json.MarshalIndent(kept, "", "\t")
	if err == nil {
		err = os.WriteFile(secondFile, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
