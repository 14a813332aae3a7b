package compare

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/audience"
	"plimsoll/run/session"
)

const looksPlan = `
name: t
target: {driver: refchat}
workload: {behavior: poster}
unbounded: {max_users: 1000, start: 300, slo: ["mean(op) < 100ms"]}
compare: {arms: {base: {}, new: {}}, looks: [6, 9, 12]}
`

func TestLooksEndAComparison(t *testing.T) {
	for _, tt := range []struct {
		name       string
		effect, sd float64
		invalid    []string
		blocks     int // that were run
		looks      int // that were taken
		kind       verdict.Kind
	}{
		{"a large loss", -0.2, 0.01, nil, 6, 1, verdict.Worse},
		{"no change", 0, 0.004, nil, 6, 1, verdict.Same},
		{"a gain", 0.2, 0.01, nil, 6, 1, verdict.Better},
		{"too noisy", 0, 0.2, nil, 12, 3, verdict.Inconclusive},
		{"a block that is lost is not decided on", -0.2, 0.01, []string{"3 new 1", "3 new 2"}, 9, 2, verdict.Worse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, looksPlan)
			w.effect, w.sd = tt.effect, tt.sd
			w.plan.Compare.Retry = 1 // one block is run again, and no other
			for _, key := range tt.invalid {
				w.invalid[strings.Replace(key, "new ", "new  ", 1)] = true // the engine has no name
			}
			var told []int
			cfg := w.config()
			cfg.looked = func(n int, l record.Look) { told = append(told, n) }
			c := carriedOut(t.Context(), t, cfg)
			blocks := 0
			for _, r := range c.Runs {
				blocks = max(blocks, r.Block)
			}
			if blocks != tt.blocks || c.Taken() != tt.looks || len(told) != tt.looks ||
				len(c.Looks) != 3 ||
				c.State != record.Sealed {
				t.Fatalf(
					"%d blocks, %d looks taken of %d, told of %v, state %s",
					blocks,
					c.Taken(),
					len(c.Looks),
					told,
					c.State,
				)
			}
			arms, _ := w.judge(c)
			v := arms[0].Verdict
			r := v.Results[0]
			if v.Kind != tt.kind || r.Alpha != 0.0221 || r.Look != tt.looks || r.Looks != 3 {
				t.Errorf("verdict %s at level %v, look %d of %d", v.Kind, r.Alpha, r.Look, r.Looks)
			}
			if last := c.Looks[tt.looks-1]; last.Decided != decided(tt.kind) ||
				last.Verdicts[0].Kind != string(tt.kind) {
				t.Errorf("recorded %+v", last)
			}
		})
	}
}

// Blocks after a look wait for the next: judging a comparison that was cut there does not count as
// a look.
func TestNoLookBetweenLooks(t *testing.T) {
	w := newWorld(t, looksPlan)
	w.effect, w.sd = 0, 0.2
	w.attempt(false, 0, 0)
	w.fresh()
	// sixteen runs, with look 1 after the twelfth; the seventeenth begins
	w.attempt(false, 2+4*16+2+1, 0)
	c := w.onDisk()
	if c.Taken() != 1 || len(c.Runs) != 16 {
		t.Fatalf("%d looks, %d runs", c.Taken(), len(c.Runs))
	}
	arms, _ := w.judge(c)
	if r := arms[0].Verdict.Results[0]; r.N != 6 || r.Look != 1 {
		t.Errorf("%d pairs judged at look %d, want 6 at look 1", r.N, r.Look)
	}
	resumed, _ := w.attempt(true, 0, 0)
	if resumed.Taken() != 3 || !resumed.Looks[0].At.Equal(c.Looks[0].At) {
		t.Errorf(
			"%d looks; the first was taken at %v and then at %v",
			resumed.Taken(),
			c.Looks[0].At,
			resumed.Looks[0].At,
		)
	}
}

func TestLooksSurviveEveryKill(t *testing.T) {
	w := newWorld(t, looksPlan)
	w.effect, w.sd = -0.035, 0.025 // decided at the second look
	w.survivesEveryKill(0, func(whole *record.Comparison) bool {
		return whole.Taken() == 2 && whole.Looks[1].Decided
	})
}

// TestNotJudgedIsDecidedFirst: the decision is made after the first block, is recorded, stays when
// the comparison is cut and resumed, holds at each look and later, and hides no arm that lost all
// of its operations.
func TestNotJudgedIsDecidedFirst(t *testing.T) {
	const name = "p95(delivery)"
	for _, lost := range []bool{false, true} {
		b := newBench(t)
		b.extra = fewDeliveries(lost)
		p := parse(t)
		p.Compare.Looks, p.Compare.Blocks = []int{6, 9, 12}, 12
		ctx, cut := context.WithCancelCause(t.Context())
		var told []int // how many runs there were
		var saved []byte
		b.began = func(c cell) {
			if c.block == 3 {
				cut(context.Canceled)
			}
		}
		cfg := b.config(p)
		cfg.load, cfg.foresaw = b.load, func([]record.Expected) { told = append(told, b.n) }
		cfg.save = func(c *record.Comparison) (err error) {
			saved, err = json.Marshal(c)
			return err
		}
		carriedOut(ctx, t, cfg)
		c := new(record.Comparison)
		if err := json.Unmarshal(saved, c); err != nil {
			t.Fatal(err)
		}
		first := c.Foreseen
		c, err := resume(t.Context(), cfg, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(told, []int{2 + 4}) || len(first) == 0 ||
			!slices.Equal(first, c.Foreseen) ||
			c.Taken() == 0 {
			t.Errorf(
				"told after %v runs of %+v, and %+v when it was resumed; %d looks",
				told,
				first,
				c.Foreseen,
				c.Taken(),
			)
		}
		for _, x := range c.Foreseen {
			if x.NotJudged != (x.Metric == name) || x.Blocks != 12 || x.Engine == "" {
				t.Errorf("foreseen %+v", x)
			}
		}
		arms, databases := mustJudge(t, c, p, b.load)
		if kind := arms[0].Verdict.Kind; lost != (kind == verdict.Invalid) {
			t.Errorf("lost %v: %s", lost, kind)
		}
		if !lost {
			databases = slices.Concat(databases, arms)
		}
		for _, j := range databases {
			if why := j.Skipped[name]; !strings.Contains(
				why,
				" of load for 10 %; 12 blocks can find ",
			) {
				t.Errorf("%s %s: left out as %q", j.Engine, j.Arm, why)
			}
			_, clause, _ := strings.Cut(j.Verdict.Lead, "; judged on capacity, typical(op), ")
			want := "p95(post), p99(op) and errors; p95(delivery) could not be decided in this time."
			if strings.TrimPrefix(clause, "typical(delivery), ") != want {
				t.Errorf("%q does not end in %q", j.Verdict.Lead, want)
			}
		}
	}
}

// TestForesaw: endpoints that the plan cannot decide are named while it runs, with the name of
// their database.
func TestForesaw(t *testing.T) {
	var b strings.Builder
	r := &cells{
		Session: &session.Session{Progress: audience.NewReporter(&b, new(plain.Secrets), false)},
	}
	x := record.Expected{
		Metric:    "p99(op)",
		Margin:    0.15,
		Blocks:    6,
		MDE:       0.44,
		Load:      21 * time.Minute,
		NotJudged: true,
	}
	y := x
	y.Engine = plan.PostgreSQL
	r.foresaw([]record.Expected{{Metric: "p95(post)", Margin: 0.10, MDE: 0.08}, x, y})
	const takes = "(21 min of load for 15 %; 6 blocks can find 44 %)\n"
	want := "  not judged: p99(op) " + takes + "  not judged: PostgreSQL p99(op) " + takes
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// fewDeliveries has each run of a bench deliver 40 messages a second, in times that scatter widely.
// With lost, runs of the new arm deliver none.
func fewDeliveries(lost bool) func(c cell, second int) []*measure.Window {
	return func(c cell, second int) []*measure.Window {
		if lost && c.arm == "new" {
			return nil
		}
		w := measure.NewWindow(workload.Delivery)
		for i := range 40 {
			w.Response.Record(time.Duration(math.Exp(float64(i)/4) * float64(time.Millisecond)))
		}
		w.Classes[measure.OK] = 40
		return []*measure.Window{w}
	}
}
