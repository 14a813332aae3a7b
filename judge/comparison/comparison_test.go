package comparison

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

const planText = `
name: t
target: {driver: refchat}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster}
bounded: {users: 10, ramp: 1s, settle: 1s, measure: 4s}
unbounded: {max_users: 1000, slo: ["mean(op) < 100ms"]}
compare: {arms: {base: {}, new: {}}, combine: true, blocks: 6, margin: {errors: 0.1pp}}
`

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t *testing.T) *plan.Plan { return parsed(t, planText) }

func mustJudge(t *testing.T, c *record.Comparison, p *plan.Plan,
	load func(id string) (*record.Run, error), readers ...Reader) (arms, databases []Judgement) {
	t.Helper()
	arms, databases, err := Judge(c, p, load, readers...)
	if err != nil {
		t.Fatal(err)
	}
	return arms, databases
}

// names returns the names of further metrics, sorted.
func names(s []verdict.Secondary) (out []string) {
	for _, m := range s {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return out
}

// warned reports whether a result has a text among its warnings.
func warned(r verdict.Result, text string) bool {
	return strings.Contains(fmt.Sprint(r.Warnings), text)
}

// benchSeconds is the length of the measured phase of a bench.
const benchSeconds = 6

func TestTailNeedsOperations(t *testing.T) {
	w := measure.NewWindow("post")
	w.Response.RecordN(time.Millisecond, 400)
	if v, n, why := latency(plan.Endpoint{
		Stat: "p99",
		Of:   "post",
	}, func(string) *measure.Window {
		return w
	}); !math.IsNaN(v) || n != 400 || !strings.Contains(why, "too few") {
		t.Errorf("p99 of %d operations is %v (%s)", n, v, why)
	}
}

// An arm that delivers nothing does not count as an arm with too few deliveries to judge, even
// where the other is one.
func TestOperationsThatOneArmLost(t *testing.T) {
	for _, tt := range []struct {
		name        string
		base, fresh int // deliveries of a run; too few for p95 below 90
		skipped     string
		kind        verdict.Kind
	}{
		{"both have too few", 80, 80, "80 operations are too few for p95: want 90", verdict.Same},
		{"neither has any", 0, 0, "no such operation was measured", verdict.Same},
		{"the new arm has none, the base one in a run, as chance has it", 1, 0, "no such operation was measured", verdict.Same},
		{"the new arm has none, the base two in a run", 2, 0, "", verdict.Invalid},
		{"the new arm has none, the base too few", 80, 0, "", verdict.Invalid},
		{"the base has none, the new arm too few", 0, 80, "", verdict.Invalid},
		{"the new arm has none", 600, 0, "", verdict.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.extra = func(c record.ComparisonRun, second int) []*measure.Window {
				n := tt.base
				if c.Arm == "new" {
					n = tt.fresh
				}
				if second != 0 || n == 0 {
					return nil
				}
				return []*measure.Window{opsOf(workload.Delivery, 5*time.Millisecond, n)}
			}
			arms, _ := b.judge(b.compare(0))
			const name = "p95(delivery)"
			v := arms[0].Verdict
			if v.Kind != tt.kind || arms[0].Skipped[name] != tt.skipped {
				t.Errorf(
					"%s, skipped %q; want %s, %q",
					v.Kind,
					arms[0].Skipped[name],
					tt.kind,
					tt.skipped,
				)
			}
			if tt.skipped != "" {
				if slices.ContainsFunc(v.Results, func(r verdict.Result) bool {
					return r.Name == name
				}) {
					t.Error("judged")
				}
				return
			}
			r := resultOf(t, v, name)
			if r.Kind != verdict.Invalid || r.N != 0 || !warned(r, "one arm has lost them") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestSecondaryMetrics compares operations that are not primary endpoints: one is slower in the new
// arm, one is only there.
func TestSecondaryMetrics(t *testing.T) {
	b := newBench(t)
	b.extra = func(c record.ComparisonRun, s int) []*measure.Window {
		// p99(op) of both arms
		read, rare := measure.NewWindow("read"), opsOf("rare", time.Second, 15)
		level := math.Exp(0.004 * b.rng.NormFloat64())
		for i := range 400 {
			d := level * (20 + float64(i%400)/80) * math.Exp(0.02*b.rng.NormFloat64())
			if c.Arm == "new" {
				d *= 1.4
			}
			read.Response.Record(time.Duration(d * float64(time.Millisecond)))
		}
		read.Classes[measure.OK] = 400
		all := []*measure.Window{read, rare}
		if c.Arm == "new" {
			all = append(all, opsOf("thread", time.Millisecond, 60))
			if c.Block == 2 && s == 1 { // one in a comparison: as likely in the base
				all = append(all, opsOf("unlikely", time.Millisecond, 1))
			}
		}
		return all
	}
	c := b.compare(0)
	arms, databases := b.judge(c)
	f := arms[0].Secondary
	if got, want := names(f.Worsened), []string{"mean(read)", "p50(read)"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("worsened %v, want %v: %+v", got, want, f)
	}
	for _, w := range f.Worsened {
		if math.Abs(w.Effect-0.4) > 0.03 || math.Abs(w.Base-23.5) > 1.5 || w.N != 6 ||
			w.BaseCalls != 2400 ||
			w.NewCalls != 2400 {
			t.Errorf("%+v, want 40 %% more than 22 to 25 ms in 6 pairs of 2400", w)
		}
		if want := 2.4 * (w.New - w.Base); (w.Contribution != nil) != (w.Name == "mean(read)") ||
			w.Contribution != nil && math.Abs(*w.Contribution-want) > 1e-9 {
			t.Errorf("%s adds %v s, want %v for the mean", w.Name, w.Contribution, want)
		}
	}
	if s := arms[0].Shifts; len(s) != 2 || s[0].Op != "op" || s[1].Op != "post" ||
		!strings.HasPrefix(
			s[0].Sentence,
			"op: faster from p10 (-14.3 %) to p40 (-6.1 %), slower from p50 (+3",
		) ||
		!strings.Contains(s[1].Sentence, "no shift is shown anywhere") {
		t.Errorf("shifts %+v", s)
	}
	if got, want := names(f.Unclear), []string{"mean(post)", "mean(rare)", "p50(post)"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("unclear %v, want %v", got, want)
	}
	if !slices.Equal(f.Appeared, []string{"thread"}) || len(f.Vanished) > 0 {
		t.Errorf("appeared %v, vanished %v", f.Appeared, f.Vanished)
	}
	for _, r := range arms[0].Verdict.Results { // which read is a part of
		if want := r.Name == "typical(op)"; (r.Kind == verdict.Worse) != want ||
			!want && r.Kind != verdict.Same {
			t.Errorf("a further metric decided the verdict: %s", r.Sentence)
		}
	}
	if f := databases[0].Secondary; len(f.Worsened)+len(f.Improved)+len(f.Appeared) > 0 {
		t.Errorf("the databases of one arm differ: %+v", f)
	}
}

// TestOtherLoads: databases that had other numbers of users in the bounded test are compared by
// their capacity alone.
func TestOtherLoads(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	p := parsed(t, strings.Replace(planText, "users: 10", "users: {postgresql: 10, mysql: 8}", 1))
	arms, databases := mustJudge(t, c, p, b.load)
	for _, j := range arms {
		// p95(delivery) and typical(delivery), and the costs, which no reader reads.
		if len(j.Verdict.Results) < 3 || len(j.Skipped) != 4 || j.Secondary.Tested == 0 {
			t.Errorf("arms of one load: %+v, skipped %v", j.Verdict, j.Skipped)
		}
	}
	if len(databases) != 2 {
		t.Errorf("%d databases were compared, want one in each arm", len(databases))
	}
	for _, j := range databases {
		if r := j.Verdict.Results; len(r) != 1 || r[0].Name != "capacity" ||
			j.Secondary.Tested != 0 ||
			len(j.Shifts) > 0 {
			t.Errorf("databases of two loads: %+v", j)
		}
		if why := j.Skipped["p95(post)"]; why != "postgresql had 10 users and mysql 8: what was measured under different loads is not compared" {
			t.Errorf("p95(post) was left out because of %q", why)
		}
	}
	p.Unbounded = nil // so that nothing is left to compare
	if _, databases = mustJudge(t, c, p, b.load); len(databases) != 0 {
		t.Errorf("databases without a capacity: %+v", databases)
	}
}
