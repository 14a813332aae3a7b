package control

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of docs/capacity.md")

// normal is the search at pace 1 with the capacity known to within 40 %, as a pilot gives it.
func normal(capacity float64) Config {
	return Config{Start: max(1, int(0.6*capacity)), Max: int(4*capacity) + 10, Window: 15 * time.Second,
		Budget: 20 * time.Minute}
}

// fast is the search with all times divided by ten.
func fast(capacity float64) Config {
	return Config{Start: max(1, int(0.6*capacity)), Max: int(4*capacity) + 10, Window: 1500 * time.Millisecond,
		Budget: 18 * time.Second, RampRate: 0.05, RampFloor: 40}
}

func scenarios() []scenario {
	var all []scenario
	add := func(sc scenario) {
		if sc.pace == 0 {
			sc.pace = 1
		}
		all = append(all, sc)
	}
	for _, c := range []float64{50, 500, 1800, 9000, 36000} {
		add(scenario{name: fmt.Sprintf("fluid %.0f", c), capacity: c, server: fluid, noise: 0.03, tau: 120, cfg: normal(c)})
	}
	add(scenario{name: "M/M/8 1800", capacity: 1800, server: mmc, noise: 0.03, tau: 120, cfg: normal(1800)})
	add(scenario{name: "CPU 1800", capacity: 1800, server: cpu, noise: 0.03, tau: 120, cfg: normal(1800)})
	add(scenario{name: "CPU 1800, white noise", capacity: 1800, server: cpu, noise: 0.03, tau: 5, cfg: normal(1800)})
	add(scenario{name: "timeouts 1800", capacity: 1800, server: timeouts, noise: 0.03, tau: 120, cfg: normal(1800)})
	add(scenario{name: "sticky 1800", capacity: 1800, server: sticky, noise: 0.02, tau: 120, cfg: normal(1800)})
	add(scenario{name: "drift 5 %/h 9000", capacity: 9000, server: fluid, noise: 0.03, tau: 120, drift: 0.05, cfg: normal(9000)})
	add(scenario{name: "alerts 60 s 1800", capacity: 1800, server: fluid, noise: 0.03, tau: 120, alertGap: 600, alertLen: 60, cfg: normal(1800)})
	add(scenario{name: "alerts 1 s 1800", capacity: 1800, server: fluid, noise: 0.03, tau: 120, alertGap: 100, alertLen: 1, cfg: normal(1800)})
	for _, c := range []float64{200, 1000, 9000} {
		add(scenario{name: fmt.Sprintf("x10: fluid %.0f", c), capacity: c, server: fluid, noise: 0.02, tau: 20, pace: 0.1, cfg: fast(c)})
	}
	add(scenario{name: "x10: M/M/8 1000", capacity: 1000, server: mmc, noise: 0.02, tau: 20, pace: 0.1, cfg: fast(1000)})
	add(scenario{name: "x10: CPU 1000", capacity: 1000, server: cpu, noise: 0.02, tau: 20, pace: 0.1, cfg: fast(1000)})
	add(scenario{name: "x10: timeouts 1000", capacity: 1000, server: timeouts, noise: 0.02, tau: 20, pace: 0.1, cfg: fast(1000)})
	add(scenario{name: "x10: CPU 1000, slow noise", capacity: 1000, server: cpu, noise: 0.02, tau: 120, pace: 0.1, cfg: fast(1000)})
	return all
}

type tally struct {
	n, estimates, regress, covered, precise int
	bias, sd, half, peak                    float64 // fractions; peak of the capacity
	took                                    time.Duration
}

func (sc scenario) tally(n int) tally {
	var t tally
	var logs []float64
	for seed := range uint64(n) {
		r, took, peak := sc.search(seed + 1)
		t.n++
		t.took += took / time.Duration(n)
		t.peak += peak / float64(n)
		if r.Kind != Estimate {
			continue
		}
		t.estimates++
		if r.Estimator == Regression {
			t.regress++
		}
		if r.Lo <= sc.capacity && sc.capacity <= r.Hi {
			t.covered++
		}
		if r.Stopped[:4] == "prec" {
			t.precise++
		}
		t.half += r.halfWidth()
		logs = append(logs, math.Log(r.Users/sc.capacity))
	}
	t.half /= float64(max(1, t.estimates))
	t.bias, t.sd = moments(logs)
	return t
}

// knownTally is the tally of the tool that came before; it has no interval, and no number that it would not call
// "supported users".
func (sc scenario) knownTally(n int) tally {
	var t tally
	var logs []float64
	for seed := range uint64(n) {
		users, took, peak := sc.knownTool(seed + 1)
		t.n++
		t.took += took / time.Duration(n)
		t.peak += peak / float64(n)
		if !math.IsNaN(users) {
			logs = append(logs, math.Log(users/sc.capacity))
		}
	}
	t.estimates = len(logs)
	t.bias, t.sd = moments(logs)
	return t
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(x)-1)))
}

// TestCalibration lets the search loose on every scenario, and checks that the answer is where the capacity is, that
// intervals hold it, and that the target was never pushed far. With -update it writes the table of docs/capacity.md
// from many more runs, beside what the known tool answers on the same servers.
func TestCalibration(t *testing.T) {
	n := 40
	if *update {
		n = 400
	}
	var table strings.Builder
	table.WriteString("| simulated server, users | method | estimates | bias | run-to-run sd | half-width | coverage | time | peak |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, sc := range scenarios() {
		x := sc.tally(n)
		cover := float64(x.covered) / float64(max(1, x.estimates))
		fmt.Fprintf(&table, "| %s | search | %.0f %% (%.0f %% by regression) | %+.1f %% | %.1f %% | ±%.1f %% | %.0f %% | %s | %.2f |\n", sc.name,
			100*float64(x.estimates)/float64(x.n), 100*float64(x.regress)/float64(x.n), 100*math.Expm1(x.bias), 100*x.sd, 100*x.half, 100*cover, clock(x.took), x.peak)
		if x.estimates < x.n {
			t.Errorf("%s: only %d of %d runs gave an estimate", sc.name, x.estimates, x.n)
		}
		if math.Abs(x.bias) > 0.025 || x.sd > 0.03 {
			t.Errorf("%s: bias %+.1f %% and sd %.1f %%, want at most 2.5 %% and 3 %%", sc.name, 100*x.bias, 100*x.sd)
		}
		// 40 runs of an interval that covers 85 % stay above 70 % in 99 cases of 100; the seeds are fixed.
		if cover < 0.7 || n > 100 && cover < 0.82 {
			t.Errorf("%s: the interval held the capacity in %.0f %% of %d runs", sc.name, 100*cover, x.n)
		}
		if x.peak > 1.15 {
			t.Errorf("%s: the target was pushed to %.2f of its capacity", sc.name, x.peak)
		}
		if *update && sc.pace == 1 {
			k := sc.knownTally(n / 10)
			fmt.Fprintf(&table, "| | ±8 loop | %.0f %% | %+.1f %% | %.1f %% | none | none | %s | %.2f |\n",
				100*float64(k.estimates)/float64(k.n), 100*math.Expm1(k.bias), 100*k.sd, clock(k.took), k.peak)
		}
	}
	doc := filepath.Join("..", "docs", "capacity.md")
	page, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- table -->\n", "<!-- end of table -->"
	head, rest, found := strings.Cut(string(page), begin)
	old, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", doc)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, sc := range scenarios() {
		if !strings.Contains(old, "| "+sc.name+" | search |") {
			t.Errorf("%s lacks a row for %q: go test ./control -run Calibration -update", doc, sc.name)
		}
	}
}

func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// TestKnownToolCallsItsCapSupported shows the defect that AtLeast is there for: with a cap below the capacity and a
// false alarm now and then, the known tool answers a number near the cap, and the search says that it is a bound.
func TestKnownToolCallsItsCapSupported(t *testing.T) {
	sc := scenario{capacity: 9000, server: fluid, noise: 0.03, tau: 120, pace: 1, alertGap: 600, alertLen: 60,
		cfg: Config{Start: 5000, Max: 5400, Window: 15 * time.Second, Budget: 40 * time.Minute}}
	for seed := range uint64(5) {
		if users, _, _ := sc.knownTool(seed + 1); !(users > 4800 && users < 5400) {
			t.Errorf("seed %d: the known tool answers %.0f, want a number just below its cap", seed, users)
		}
		if r, _, _ := sc.search(seed + 1); r.Kind != AtLeast || r.Users < 5390 {
			t.Errorf("seed %d: got %s of %.0f, want at least 5400", seed, r.Kind, r.Users)
		}
	}
}
