package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

const budgetPlan = `
name: t
target: {driver: refchat}
workload: {behavior: poster}
unbounded: {max_users: 1000, start: 300, slo: ["mean(op) < 100ms"]}
compare: {arms: {base: {}, new: {}}, blocks: auto, budget: 2h30m}
`

// A block of a world takes eight minutes by its clock: two runs of two minutes, each saved in two.
const worldBlock = 8 * time.Minute

func TestBudgetEndsAComparison(t *testing.T) {
	for _, tt := range []struct {
		name       string
		budget     time.Duration
		effect, sd float64
		blocks     int // that were run
		looks      int // that were taken
		over       bool
		kind       verdict.Kind
	}{
		{"a large loss", 5 * time.Hour, -0.2, 0.01, 6, 1, false, verdict.Worse},
		{"no change", 5 * time.Hour, 0, 0.004, 6, 1, false, verdict.Same},
		{"the time of nine blocks", 9*worldBlock + 10*time.Minute, 0, 0.2, 9, 2, true, verdict.Inconclusive},
		{"too little for nine", 9*worldBlock - 2*time.Minute, 0, 0.2, 6, 1, true, verdict.Inconclusive},
		{"too little for six", 5 * time.Minute, 0, 0.2, 6, 1, true, verdict.Inconclusive},
		{"a day", 24 * time.Hour, 0, 0.2, 30, 9, false, verdict.Inconclusive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, strings.Replace(budgetPlan, "2h30m", tt.budget.String(), 1))
			w.effect, w.sd = tt.effect, tt.sd
			cfg := w.config()
			var left []int
			cfg.run = func(ctx context.Context, c cell) (cellRun, error) {
				left = append(left, c.left)
				return w.run(ctx, c)
			}
			var told []record.Look
			cfg.looked = func(n int, l record.Look) { told = append(told, l) }
			c := carriedOut(t.Context(), t, cfg)
			if got := c.Runs[len(c.Runs)-1].Block; got != tt.blocks || c.Taken() != tt.looks ||
				len(c.Looks) != 9 ||
				len(told) != tt.looks ||
				c.State != record.Sealed {
				t.Fatalf(
					"%d blocks, %d looks of %d, state %s",
					got,
					c.Taken(),
					len(c.Looks),
					c.State,
				)
			}
			last := c.Looks[tt.looks-1]
			if last.Over != tt.over || last.Decided != decided(tt.kind) || c.Budget != tt.budget {
				t.Errorf("the last look is %+v", last)
			}
			if left[0] != 11 || left[11] != 0 {
				t.Errorf("runs left until the first look: %v", left[:12])
			}
			for k, l := range told {
				if wait := l.Spent - time.Duration(l.Blocks)*worldBlock; wait < 0 ||
					wait > time.Duration(k+2)*3*time.Minute {
					t.Errorf("look %d: %v are spent after %d blocks", k+1, l.Spent, l.Blocks)
				}
				if goesOn := k < len(told)-1; goesOn != (len(l.Could) > 0) || l.Over && goesOn {
					t.Errorf("look %d of %d: over %v, could %v", k+1, len(told), l.Over, l.Could)
				}
			}
			arms, _ := w.judge(c)
			r := arms[0].Verdict.Results[0]
			if r.Kind != tt.kind || r.Alpha != comparison.PlannedLooks(w.plan)[tt.looks-1].Alpha ||
				r.N != tt.blocks ||
				r.Look != tt.looks ||
				r.Looks != 9 ||
				r.Over != tt.over {
				t.Errorf(
					"%s of %d pairs at level %v, look %d of %d, over %v",
					r.Kind,
					r.N,
					r.Alpha,
					r.Look,
					r.Looks,
					r.Over,
				)
			}
			if named := strings.Contains(r.Sentence, fmt.Sprintf("look %d of 9", tt.looks)); !named ||
				tt.over != strings.Contains(r.Sentence, "the time was over") {
				t.Errorf("the sentence is %q", r.Sentence)
			}
		})
	}
}

// TestBudgetIsDeclaredFirst: budget and levels are on disk before the first run.
func TestBudgetIsDeclaredFirst(t *testing.T) {
	w := newWorld(t, budgetPlan)
	w.attempt(false, 3, 0)
	c := w.onDisk()
	if len(c.Runs) != 0 || c.Budget != 150*time.Minute || len(c.Looks) != 9 ||
		c.Looks[8].Blocks != 30 ||
		!(c.Looks[8].Alpha > 0) {
		t.Fatalf("%d runs, budget %v, looks %+v", len(c.Runs), c.Budget, c.Looks)
	}
	c.Budget = time.Hour
	if err := comparison.CheckPlan(c, w.plan); err == nil ||
		!strings.Contains(err.Error(), "budget is 1h0m0s, in its plan 2h30m0s") {
		t.Errorf("another budget: %v", err)
	}
	c.Budget, c.Looks[1].Alpha = w.plan.Compare.Budget, 0.05
	if err := comparison.CheckPlan(c, w.plan); err == nil ||
		!strings.Contains(err.Error(), "look 2") {
		t.Errorf("another level: %v", err)
	}
}

// TestBudgetSurvivesEveryKill kills a comparison at each of its steps. Time that it was not going
// on for does not count.
func TestBudgetSurvivesEveryKill(t *testing.T) {
	// a stage takes 24 minutes
	w := newWorld(
		t,
		strings.Replace(budgetPlan, "2h30m", (9*worldBlock+35*time.Minute).String(), 1),
	)
	w.effect, w.sd = 0, 0.2
	w.survivesEveryKill(24*time.Hour, func(whole *record.Comparison) bool {
		n := whole.Taken()
		return (n == 2 || n == 3) && whole.Looks[n-1].Over
	})
}

// TestAnOpenEndpointGoesOn: a capacity that is worse decides the verdict at the first look. With a
// budget the comparison goes on, because a cost that varies is not decided.
func TestAnOpenEndpointGoesOn(t *testing.T) {
	for _, more := range []string{"looks: [6, 9, 12]", "blocks: auto, budget: 27m"} {
		text := strings.Replace(
			planText,
			"database: {engine: [postgresql, mysql]}",
			"database: {engine: [postgresql]}",
			1,
		)
		p := parsed(t, strings.Replace(text, "blocks: 6", more, 1))
		b := newBench(t)
		b.capacity["newpostgresql"] = 0.8
		rng := rand.New(rand.NewPCG(8, 8))
		unsteady := map[string]float64{}
		cfg := b.config(p)
		cfg.load = b.load
		cfg.run = func(ctx context.Context, c cell) (cellRun, error) {
			run, err := b.run(ctx, c)
			unsteady[run.Run] = 2 * math.Exp(0.3*rng.NormFloat64())
			return run, err
		}
		cfg.readers = []comparison.Reader{func(r *record.Run) ([]comparison.SecondaryValue, error) {
			return []comparison.SecondaryValue{{
				Name:   "cost(app)",
				Unit:   "ms",
				Better: plan.Lower,
				Value:  unsteady[r.Manifest.ID],
				Alone:  true,
			}}, nil
		}}
		c := carriedOut(t.Context(), t, cfg)
		first := c.Looks[0]
		if first.Verdicts[0].Kind != string(verdict.Worse) || first.Decided == p.Compare.Auto() {
			t.Fatalf("%s: the first look is %+v", more, first)
		}
		if !p.Compare.Auto() {
			if len(first.Could) != 0 || first.Spent != 0 {
				t.Errorf("%s: %+v", more, first)
			}
			continue
		}
		// A pilot of a minute and blocks of two: there is time for 13.
		if len(first.Could) != 1 || c.Taken() != 3 || !c.Looks[2].Over ||
			first.Spent != 13*time.Minute {
			t.Fatalf("%s: %d looks, the first is %+v", more, c.Taken(), first)
		}
		if x := first.Could[0]; x.Metric != "cost(app)" || x.Engine != plan.PostgreSQL ||
			x.Blocks != 12 ||
			x.Alpha != c.Looks[2].Alpha ||
			!(x.MDE > 0.05) {
			t.Errorf("%s: %+v", more, x)
		}
	}
}
