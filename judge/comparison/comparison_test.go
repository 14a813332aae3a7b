package comparison

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
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

func TestOrderIsBalanced(t *testing.T) {
	arms, engines := []string{"base", "new"}, []string{"postgresql", "mysql"}
	starts := map[string]bool{}
	for seed := range uint64(50) {
		first := map[string]int{}
		var sum [2]int // of positions, by arm
		for _, cells := range Order(seed, 6, arms, engines) {
			if len(cells) != 4 {
				t.Fatalf("%d cells in a block", len(cells))
			}
			seen := map[string]bool{}
			for i, c := range cells {
				seen[c.Arm+c.Engine] = true
				if i%2 == 0 && cells[i+1].Engine != c.Engine {
					t.Fatalf("seed %d: the arms of %s are not adjacent: %v", seed, c.Engine, cells)
				}
				if i%2 == 0 {
					first[c.Engine+c.Arm]++
				}
				if c.Arm == "base" {
					sum[0] += c.Index
				} else {
					sum[1] += c.Index
				}
			}
			if len(seen) != 4 {
				t.Fatalf("a cell is missing: %v", cells)
			}
		}
		for _, e := range engines {
			if first[e+"base"] != 3 || first[e+"new"] != 3 {
				t.Fatalf("seed %d: who goes first: %v", seed, first)
			}
		}
		if d := sum[0] - sum[1]; d > 2 || d < -2 {
			t.Fatalf("seed %d: a steady drift does not cancel: positions add up to %v", seed, sum)
		}
		starts[Order(seed, 6, arms, engines)[0][0].Arm] = true
	}
	if len(starts) != 2 {
		t.Fatal("the seed does not decide who begins")
	}
}

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

// names returns those of further metrics, sorted.
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

// benchSeconds is how long the measured phase of a bench is.
const benchSeconds = 6

// bench runs cells on disk: the new arm's capacity and latency are off by factors, with noise.
type bench struct {
	t        *testing.T
	dir      string
	rng      *rand.Rand
	capacity map[string]float64 // by arm+engine; default 1
	n        int
	invalid  map[string]bool   // "block arm engine try"
	ended    map[string]string // the gate that ends a search, by cell, once
	early    bool              // it ends them before any level was confirmed
	unstable map[string]bool   // searches that contradict themselves, by cell
	tries    map[string]int
	starts   []int
	cause    record.Cause // of the runs that are not valid
	// targetToo: with a red gate of the target
	targetToo bool
	blind     int // so many pilots find nothing
	quiet     func(ctx context.Context, most time.Duration) error
	extra     func(c Cell, second int) []*measure.Window // further operations, sorted by name; nil for none
	turns     *record.Duet                               // of all runs
	began     func(c Cell)                               // called before each run; nil for none
	clock     time.Time
	each      time.Duration // of a run
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(1, 1)),
		capacity: map[string]float64{}, invalid: map[string]bool{}, tries: map[string]int{},
		clock: time.Unix(1e9, 0), each: time.Minute}
}

func (b *bench) run(ctx context.Context, c Cell) (record.ComparisonRun, *record.Capacity, error) {
	if b.began != nil {
		b.began(c)
	}
	b.clock = b.clock.Add(b.each)
	b.n++
	id := fmt.Sprintf("r%02d", b.n)
	key := fmt.Sprintf("%d %s %s", c.Block, c.Arm, c.Engine)
	factor := 1.0
	if f, ok := b.capacity[c.Arm+c.Engine]; ok {
		factor = f
	}
	capacity := &record.Capacity{Kind: record.Estimate, Users: 500 * factor * math.Exp(0.01*b.rng.NormFloat64())}
	if gate := b.ended[key]; gate != "" && !c.Pilot {
		capacity.Kind, capacity.Rule = record.AtLeast, record.ByGate+gate
		if b.early {
			*capacity = record.Capacity{Kind: record.Unstable, Reached: 300, Rule: record.ByGate + gate, Why: "it ended early"}
		}
		delete(b.ended, key)
	}
	if b.unstable[key] {
		*capacity = record.Capacity{Kind: record.Unstable, Reached: 500, Held: 300, Why: "two levels"}
	}
	w, err := record.Create(filepath.Join(b.dir, id), record.Manifest{ID: id, Capacity: capacity, Duet: b.turns,
		Phases: []record.Phase{{Name: "measure", From: 0, To: benchSeconds * time.Second}}})
	if err != nil {
		return record.ComparisonRun{}, nil, err
	}
	for s := range benchSeconds {
		post := measure.NewWindow("post")
		for i := range 300 {
			d := time.Duration((10 + float64(i)/30) / factor * float64(time.Millisecond))
			post.Response.Record(d)
			post.Service.Record(d)
		}
		post.Classes[measure.OK] = 300
		all := []*measure.Window{post}
		if b.extra != nil {
			all = append(all, b.extra(c, s)...)
		}
		if err := w.Windows(s, all); err != nil {
			return record.ComparisonRun{}, nil, err
		}
	}
	b.tries[key]++
	valid := !b.invalid[fmt.Sprintf("%s %d", key, b.tries[key])]
	digest, err := w.Seal(ctx, record.Validity{Valid: valid}, "")
	b.starts = append(b.starts, c.Start)
	if c.Pilot && b.blind > 0 {
		b.blind--
		capacity = &record.Capacity{Kind: record.Invalid, Why: "the host was busy"}
	}
	run := record.ComparisonRun{Run: id, Digest: digest, Valid: valid}
	if !valid {
		run.Cause, run.Disturbed, run.TargetToo = b.cause, b.cause == record.ByHost, b.targetToo
	}
	return run, capacity, err
}

func (b *bench) load(id string) (*record.Run, error) { return record.Open(filepath.Join(b.dir, id)) }

// judge judges a comparison by the bench's plan.
func (b *bench) judge(c *record.Comparison, readers ...Reader) (arms, databases []Judgement) {
	b.t.Helper()
	return mustJudge(b.t, c, parse(b.t), b.load, readers...)
}

// config is of a comparison that is kept nowhere and whose runs take a minute each.
func (b *bench) config(p *plan.Plan) Config {
	return Config{ID: "c", Plan: p, Save: func(*record.Comparison) error { return nil },
		Now: func() time.Time { return b.clock }, Quiet: b.quiet, Run: b.run}
}

// compare carries out a comparison, with time to run so many blocks again.
func (b *bench) compare(repeats int) *record.Comparison {
	b.t.Helper()
	p := parse(b.t)
	p.Compare.Retry = time.Duration(repeats) * 4 * time.Minute
	return carriedOut(b.t.Context(), b.t, b.config(p))
}

func carriedOut(ctx context.Context, t *testing.T, cfg Config) *record.Comparison {
	t.Helper()
	c, err := Run(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComparisonFindsTheSlowArm(t *testing.T) {
	b := newBench(t)
	b.capacity["newmysql"] = 0.85
	c := b.compare(0)
	if len(c.Runs) != 2+24 || !c.Runs[0].Pilot || c.State != record.Sealed {
		t.Fatalf("%d runs, %+v", len(c.Runs), c.Runs[0])
	}
	for i, s := range b.starts {
		if i < 2 && s != 0 || i >= 2 && (s < 285 || s > 315) {
			t.Errorf("run %d searched from %d, want 60 %% of about 500", i, s)
		}
	}
	arms, databases := b.judge(c)
	got := map[string]verdict.Kind{}
	for _, j := range arms {
		got[j.Engine] = j.Verdict.Kind
	}
	if got["postgresql"] != verdict.Same || got["mysql"] != verdict.Worse {
		t.Errorf("verdicts %v", got)
	}
	capacity := arms[1].Verdict.Results[0]
	if arms[1].Engine != "mysql" || capacity.Name != "capacity" || math.Abs(capacity.Effect+0.15) > 0.02 {
		t.Errorf("%s %s effect %v, want -15 %%", arms[1].Engine, capacity.Name, capacity.Effect)
	}
	if why := arms[0].Skipped["p95(delivery)"]; why == "" {
		t.Error("p95(delivery) was judged without a delivery")
	}
	if len(databases) != 2 || databases[1].Arm != "new" || databases[1].Verdict.Kind != verdict.Worse {
		t.Errorf("databases %+v", databases)
	}
}

func TestVoidedBlockIsRepeatedWhole(t *testing.T) {
	b := newBench(t)
	b.invalid["3 new mysql 1"] = true
	c := b.compare(2)
	if len(c.Runs) != 2+24+4 {
		t.Fatalf("%d runs", len(c.Runs))
	}
	dropped, kept := 0, 0
	for _, r := range c.Runs {
		if r.Block == 3 && r.Dropped {
			dropped++
		} else if r.Block == 3 {
			kept++
		}
	}
	if dropped != 4 || kept != 4 {
		t.Errorf("block 3: %d dropped, %d kept; want 4 and 4", dropped, kept)
	}
	arms, _ := b.judge(c)
	if n := arms[1].Verdict.Results[0].N; n != 6 {
		t.Errorf("%d pairs judged", n)
	}
}

// TestOthersVoidABlock ends a search by the load of other processes on its host, which voids the block, and one by
// the generator's own limit, which is a bound like any other.
func TestOthersVoidABlock(t *testing.T) {
	b := newBench(t)
	b.ended = map[string]string{"2 base mysql": "steal", "4 new postgresql": "others", "5 new mysql": "lag"}
	c := b.compare(2)
	dropped := map[int]int{}
	for _, r := range c.Runs {
		if r.Dropped {
			dropped[r.Block]++
		}
	}
	if dropped[2] != 4 || dropped[4] != 4 || len(dropped) != 2 {
		t.Errorf("dropped runs by block: %v, want 4 of the blocks 2 and 4", dropped)
	}
	if why := c.Runs[2+4].Why + c.Runs[2+5].Why + c.Runs[2+6].Why + c.Runs[2+7].Why; !strings.Contains(why, "gate steal") {
		t.Errorf("the block says %q", why)
	}
}

func TestInvalidRunIsNeverJudged(t *testing.T) {
	b := newBench(t)
	for block := 1; block <= 6; block++ {
		b.invalid[fmt.Sprintf("%d new postgresql 1", block)] = true
	}
	c := b.compare(0)
	arms, _ := b.judge(c)
	if k := arms[0].Verdict.Kind; k != verdict.Invalid {
		t.Errorf("verdict %s on runs that are all void", k)
	}
}

func TestInterruptedComparisonKeepsItsRuns(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	b.began = func(cell Cell) {
		if cell.Block == 2 {
			cancel(errors.New("interrupt"))
		}
	}
	c := carriedOut(ctx, t, b.config(parse(t)))
	if c.State != record.Interrupted || c.Why != "interrupt" || len(c.Runs) != 2+4+1 {
		t.Errorf("state %s (%s), %d runs", c.State, c.Why, len(c.Runs))
	}
}

// A block of which a run is missing or not valid is not judged, on no database: its remaining runs wait for a
// repetition.
func TestOnlyWholeBlocksAreJudged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		invalid string
		block   int // in which it is interrupted,
		run     int // after this run
		n       int
	}{
		{"half of the last block", "", 6, 2, 5},
		{"a voided block that was not run again yet", "2 new mysql 1", 5, 1, 3},
		{"a voided block whose repeat is half done", "2 new mysql 1", 2, 4 + 2, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.invalid[tt.invalid] = true
			ctx, cancel := context.WithCancelCause(t.Context())
			runs := 0
			b.began = func(cell Cell) {
				if cell.Block == tt.block {
					if runs++; runs == tt.run {
						cancel(errors.New("interrupt"))
					}
				}
			}
			c := carriedOut(ctx, t, b.config(parse(t)))
			if c.State != record.Interrupted {
				t.Fatalf("state %s", c.State)
			}
			arms, databases := b.judge(c)
			for _, j := range slices.Concat(arms, databases) {
				if r := j.Verdict.Results[0]; r.N != tt.n || !r.Indicative || r.Kind != verdict.Inconclusive {
					t.Errorf("%s %s: %d pairs judged %s, want %d and no verdict", j.Engine, j.Arm, r.N, r.Kind, tt.n)
				}
				if f := j.Secondary; f.Tested != 0 {
					t.Errorf("%s %s: %d further metrics tested of %d pairs", j.Engine, j.Arm, f.Tested, tt.n)
				}
			}
			whole := 0
			for _, ok := range c.WholeBlocks() {
				if ok {
					whole++
				}
			}
			if whole != tt.n {
				t.Errorf("%d whole blocks, want %d", whole, tt.n)
			}
		})
	}
}

func TestTailNeedsOperations(t *testing.T) {
	w := measure.NewWindow("post")
	w.Response.RecordN(time.Millisecond, 400)
	if v, n, why := latency(plan.Endpoint{Stat: "p99", Of: "post"}, func(string) *measure.Window { return w }); !math.IsNaN(v) || n != 400 || !strings.Contains(why, "too few") {
		t.Errorf("p99 of %d operations is %v (%s)", n, v, why)
	}
}

// An arm that delivers nothing does not count as an arm with too few deliveries to judge, even where the other is
// one.
func TestOperationsThatOneArmLost(t *testing.T) {
	for _, tt := range []struct {
		name        string
		base, fresh uint32 // deliveries of a run; too few for p95 below 90
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
			b.extra = func(c Cell, second int) []*measure.Window {
				n := tt.base
				if c.Arm == "new" {
					n = tt.fresh
				}
				if second != 0 || n == 0 {
					return nil
				}
				w := measure.NewWindow(workload.Delivery)
				w.Response.RecordN(5*time.Millisecond, n)
				w.Classes[measure.OK] = uint64(n)
				return []*measure.Window{w}
			}
			arms, _ := b.judge(b.compare(0))
			const name = "p95(delivery)"
			v := arms[0].Verdict
			if v.Kind != tt.kind || arms[0].Skipped[name] != tt.skipped {
				t.Errorf("%s, skipped %q; want %s, %q", v.Kind, arms[0].Skipped[name], tt.kind, tt.skipped)
			}
			if tt.skipped != "" {
				if slices.ContainsFunc(v.Results, func(r verdict.Result) bool { return r.Name == name }) {
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

// TestSecondaryMetrics compares operations that are not primary endpoints: one is slower in the new arm, one is
// only there.
func TestSecondaryMetrics(t *testing.T) {
	b := newBench(t)
	b.extra = func(c Cell, s int) []*measure.Window {
		read, rare := measure.NewWindow("read"), measure.NewWindow("rare")
		level := math.Exp(0.004 * b.rng.NormFloat64())
		for i := range 400 {
			d := level * (20 + float64(i%400)/80) * math.Exp(0.02*b.rng.NormFloat64())
			if c.Arm == "new" {
				d *= 1.4
			}
			read.Response.Record(time.Duration(d * float64(time.Millisecond)))
		}
		read.Classes[measure.OK] = 400
		rare.Response.RecordN(time.Second, 15) // p99(op) of both arms
		rare.Classes[measure.OK] = 15
		if c.Arm == "new" {
			fresh := measure.NewWindow("thread")
			fresh.Response.RecordN(time.Millisecond, 60)
			fresh.Classes[measure.OK] = 60
			all := []*measure.Window{read, rare, fresh}
			if c.Block == 2 && s == 1 { // one in a comparison: as likely in the base
				once := measure.NewWindow("unlikely")
				once.Response.Record(time.Millisecond)
				once.Classes[measure.OK] = 1
				all = append(all, once)
			}
			return all
		}
		return []*measure.Window{read, rare}
	}
	c := b.compare(0)
	arms, databases := b.judge(c)
	f := arms[0].Secondary
	if got, want := names(f.Worsened), []string{"mean(read)", "p50(read)"}; !slices.Equal(got, want) {
		t.Errorf("worsened %v, want %v: %+v", got, want, f)
	}
	for _, w := range f.Worsened {
		if math.Abs(w.Effect-0.4) > 0.03 || math.Abs(w.Base-23.5) > 1.5 || w.N != 6 || w.BaseCalls != 2400 || w.NewCalls != 2400 {
			t.Errorf("%+v, want 40 %% more than 22 to 25 ms in 6 pairs of 2400", w)
		}
		if want := 2.4 * (w.New - w.Base); (w.Contribution != nil) != (w.Name == "mean(read)") || w.Contribution != nil && math.Abs(*w.Contribution-want) > 1e-9 {
			t.Errorf("%s adds %v s, want %v for the mean", w.Name, w.Contribution, want)
		}
	}
	if s := arms[0].Shifts; len(s) != 2 || s[0].Op != "op" || s[1].Op != "post" || !strings.HasPrefix(s[0].Sentence, "op: faster from p10 (-14.3 %) to p40 (-6.1 %), slower from p50 (+3") || !strings.Contains(s[1].Sentence, "no shift is shown anywhere") {
		t.Errorf("shifts %+v", s)
	}
	if got, want := names(f.Unclear), []string{"mean(post)", "mean(rare)", "p50(post)"}; !slices.Equal(got, want) {
		t.Errorf("unclear %v, want %v", got, want)
	}
	if !slices.Equal(f.Appeared, []string{"thread"}) || len(f.Vanished) > 0 {
		t.Errorf("appeared %v, vanished %v", f.Appeared, f.Vanished)
	}
	for _, r := range arms[0].Verdict.Results { // which read is a part of
		if want := r.Name == "typical(op)"; (r.Kind == verdict.Worse) != want || !want && r.Kind != verdict.Same {
			t.Errorf("a further metric decided the verdict: %s", r.Sentence)
		}
	}
	if f := databases[0].Secondary; len(f.Worsened)+len(f.Improved)+len(f.Appeared) > 0 {
		t.Errorf("the databases of one arm differ: %+v", f)
	}
}

// TestOtherLoads: databases that had other numbers of users in the bounded test are compared by their capacity alone.
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
		if r := j.Verdict.Results; len(r) != 1 || r[0].Name != "capacity" || j.Secondary.Tested != 0 || len(j.Shifts) > 0 {
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

// The count of remaining runs reaches zero even if blocks are run again.
func TestLeftWithAVoidedBlock(t *testing.T) {
	b := newBench(t)
	b.invalid["2 new mysql 1"] = true
	var left []int
	again := 0
	b.began = func(c Cell) {
		left = append(left, c.Left)
		if c.Again {
			again++
		}
	}
	if b.compare(1); len(left) != 2+24+4 {
		t.Fatalf("%d runs", len(left))
	}
	for i, n := range left {
		want := len(left) - 1 - i
		if i < 2+8 { // block 2 is not voided yet
			want -= 4
		}
		if n != want {
			t.Errorf("run %d: %d left, want %d", i, n, want)
		}
	}
	if again != 4 {
		t.Errorf("%d runs again, want 4", again)
	}
}
