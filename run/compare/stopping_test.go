package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

// stoppingPlan compares two arms on two databases in measured phases of 5 to 20 s.
func stoppingPlan(t *testing.T) *plan.Plan {
	t.Helper()
	p := parsed(t, `
name: n
target: {driver: s}
database: {engine: [postgresql, mysql]}
workload: {behavior: b}
bounded: {users: 5, measure: auto, measure_min: 5s, measure_max: 20s}
compare: {mode: duet, arms: {base: {}, new: {}}, margin: {cost(app): 5%}}
`)
	return p
}

// An stoppedBlock carries out the measured phases of a block whose runs take turns of half a
// second, and returns when each ended and why. dearer is what the new arm costs more, noise by how
// much the cost of a second varies.
func stoppedBlock(
	t *testing.T,
	p *plan.Plan,
	past *pastBlocks,
	seed uint64,
	dearer, noise float64,
) (ends []time.Duration, why []string) {
	t.Helper()
	x := newStopRule(p, past)
	rng := rand.New(rand.NewPCG(seed, 1))
	type run struct {
		clock *clock.Clock
		test  trial.BoundedTest
		cpu   float64
		since time.Duration
		cost  float64
		db    *series.DB
	}
	var runs []*run
	for _, engine := range []string{"postgresql", "mysql"} {
		for _, arm := range []string{"base", "new"} {
			db, err := series.Create(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			r := &run{clock: clock.NewStopped(time.Unix(1e9, 0)), cost: 0.002, db: db}
			if arm == "new" {
				r.cost *= 1 + dearer
			}
			er := x.add(arm, engine)
			er.watch(t.Context(), &r.test, r.clock, db)
			er.now = func() time.Duration { return r.since } // the time of the test is virtual
			er.read = func() (map[string]cpuSample, error) {
				return cpuSamples(t.Context(), db, r.clock.Date(r.since))
			}
			runs = append(runs, r)
		}
	}
	const tick = 500 * time.Millisecond
	done := 0
	ends, why = make([]time.Duration, len(runs)), make([]string, len(runs))
	for range 2 * 20 {
		for i, r := range runs {
			if ends[i] > 0 {
				continue
			}
			post := measure.NewWindow("post")
			post.Classes[measure.OK] = 50
			for range 50 {
				post.Response.Record(5 * time.Millisecond)
			}
			if r.since%time.Second == 0 {
				app := []series.Label{{Name: "role", Value: "app"}}
				if err := r.db.Append(r.clock.Date(r.since), []series.Sample{{
					Name:   "plimsoll_process_cpu_seconds_total",
					Labels: app,
					Value:  r.cpu,
				}}); err != nil {
					t.Fatal(err)
				}
			}
			r.since += tick
			r.cpu += 50 * r.cost * math.Exp(noise*rng.NormFloat64())
			r.test.Measured(r.since, []*measure.Window{post})
			if r.since%time.Second != 0 {
				continue
			}
			text, err := r.test.Until()
			if err != nil {
				t.Fatal(err)
			}
			if why[i] = text; text != "" || r.since == 20*time.Second {
				ends[i] = r.since
				done++
			}
		}
	}
	if done != len(runs) {
		t.Fatalf("%d of %d runs ended", done, len(runs))
	}
	x.finish()
	return ends, why
}

// TestStopRule ends quiet blocks at once and noisy ones late, all runs of a block at the same time
// of their clocks.
func TestStopRule(t *testing.T) {
	p := stoppingPlan(t)
	for _, tt := range []struct {
		noise       float64
		least, most time.Duration
		why         string
	}{
		{0.001, 5 * time.Second, 7 * time.Second, "of cost(app) of new "},
		{0.08, 8 * time.Second, 20 * time.Second, "is expected between deployments"},
		{1, 20 * time.Second, 20 * time.Second, ""},
	} {
		ends, why := stoppedBlock(t, p, newPastBlocks(), 7, 0, tt.noise)
		for i, end := range ends {
			if end != ends[0] || end < tt.least || end > tt.most ||
				!strings.Contains(why[i], tt.why) ||
				(tt.why == "") != (why[i] == "") {
				t.Errorf(
					"noise %v: the runs end after %v, want %v to %v (%q)",
					tt.noise,
					ends,
					tt.least,
					tt.most,
					why[i],
				)
			}
		}
	}
}

// TestStopRuleDoesNotLookAtTheDifference ends a block of arms that are alike and one of arms that
// are not at the same time.
func TestStopRuleDoesNotLookAtTheDifference(t *testing.T) {
	p := stoppingPlan(t)
	for seed := range uint64(3) {
		var all []string
		for _, dearer := range []float64{0, 0.3, -0.3} {
			past := newPastBlocks()
			var ends []time.Duration
			for block := range uint64(2) {
				of, _ := stoppedBlock(t, p, past, 10*seed+block, dearer, 0.1)
				ends = append(ends, of[0])
			}
			all = append(all, fmt.Sprint(ends))
		}
		if all[0] != all[1] || all[0] != all[2] {
			t.Errorf("seed %d: blocks end after %v", seed, all)
		}
	}
}

// TestStopRuleLearns measures longer once the blocks have shown that deployments differ by less
// than the prior.
func TestStopRuleLearns(t *testing.T) {
	p, past := stoppingPlan(t), newPastBlocks()
	first, _ := stoppedBlock(t, p, newPastBlocks(), 3, 0, 0.08)
	for block := range uint64(6) {
		stoppedBlock(t, p, past, 100+block, 0, 0.01)
	}
	last, _ := stoppedBlock(t, p, past, 3, 0, 0.08)
	if !(last[0] > first[0]) {
		t.Errorf(
			"the first block ends after %v, and the same one as the seventh after %v",
			first[0],
			last[0],
		)
	}
	if n := len(past.differences["cost(app) of new postgresql"]); n != 7 {
		t.Errorf("%d blocks are known", n)
	}
}

// TestNoStopRuleForADeclaredLength does nothing.
func TestNoStopRuleForADeclaredLength(t *testing.T) {
	p := stoppingPlan(t)
	p.Bounded.MeasureMin = 0
	x := newStopRule(p, newPastBlocks())
	if w := x.watch("base", "mysql"); x != nil || w != nil {
		t.Errorf("a rule %+v", x)
	}
	x.finish()
}
