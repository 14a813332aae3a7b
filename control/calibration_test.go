package control

import (
	"flag"
	"fmt"
	"math"
	"testing"
	"time"
)

var runs = flag.Int("runs", 60, "simulated runs per scenario of the calibration")

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
	bias, sd, half, peak                    float64
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
	for _, l := range logs {
		t.bias += l / float64(len(logs))
	}
	for _, l := range logs {
		t.sd += (l - t.bias) * (l - t.bias)
	}
	t.sd = math.Sqrt(t.sd / float64(max(1, len(logs)-1)))
	return t
}

func TestCalibration(t *testing.T) {
	for _, sc := range scenarios() {
		x := sc.tally(*runs)
		t.Logf("%-28s est %3d/%3d regr %3d prec %3d bias %+5.1f%% sd %4.1f%% half %4.1f%% cover %3.0f%% time %8v peak %.2f", sc.name, x.estimates, x.n,
			x.regress, x.precise, 100*x.bias, 100*x.sd, 100*x.half, 100*float64(x.covered)/float64(max(1, x.estimates)), x.took.Round(time.Second/10), x.peak)
	}
}
