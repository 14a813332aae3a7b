package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
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

func mustJudge(
	t *testing.T,
	c *record.Comparison,
	p *plan.Plan,
	load func(id string) (*record.Run, error),
	readers ...comparison.Reader,
) (arms, databases []comparison.Judgement) {
	t.Helper()
	arms, databases, err := comparison.Judge(c, p, load, readers...)
	if err != nil {
		t.Fatal(err)
	}
	return arms, databases
}

// warned reports whether a result has a text among its warnings.
func warned(r verdict.Result, text string) bool {
	return strings.Contains(fmt.Sprint(r.Warnings), text)
}

// benchSeconds is the length of the measured phase of a bench.
const benchSeconds = 6

// A bench makes runs on disk: capacity and latency of the new arm are off by factors, with noise.
type bench struct {
	t        *testing.T
	dir      string
	rng      *rand.Rand
	capacity map[string]float64 // by arm+engine; default 1
	n        int
	invalid  map[string]bool   // "block arm engine try"
	ended    map[string]string // the gate that ends a search, by cell, once
	early    bool              // it ends them before any level was confirmed
	tries    map[string]int
	starts   []int
	blind    int // the number of pilots that find nothing
	quiet    func(ctx context.Context, most time.Duration) error
	// further operations, sorted by name; nil for none
	extra func(c cell, second int) []*measure.Window
	began func(c cell) // called before each run; nil for none
	clock time.Time
	each  time.Duration // of a run
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(1, 1)),
		capacity: map[string]float64{}, invalid: map[string]bool{}, tries: map[string]int{},
		clock: time.Unix(1e9, 0), each: time.Minute}
}

func (b *bench) run(ctx context.Context, c cell) (cellRun, error) {
	if b.began != nil {
		b.began(c)
	}
	b.clock = b.clock.Add(b.each)
	b.n++
	id := fmt.Sprintf("r%02d", b.n)
	key := fmt.Sprintf("%d %s %s", c.block, c.arm, c.engine)
	factor := 1.0
	if f, ok := b.capacity[c.arm+c.engine]; ok {
		factor = f
	}
	capacity := &record.Capacity{
		Kind:  record.Estimate,
		Users: 500 * factor * math.Exp(0.01*b.rng.NormFloat64()),
	}
	if gate := b.ended[key]; gate != "" && !c.pilot {
		capacity.Kind, capacity.Rule = record.AtLeast, record.ByGate+gate
		if b.early {
			*capacity = record.Capacity{
				Kind:    record.Unstable,
				Reached: 300,
				Rule:    record.ByGate + gate,
				Why:     "it ended early",
			}
		}
		delete(b.ended, key)
	}
	w, err := record.Create(filepath.Join(b.dir, id), record.Manifest{ID: id, Capacity: capacity,
		Phases: []record.Phase{{Name: "measure", From: 0, To: benchSeconds * time.Second}}})
	if err != nil {
		return cellRun{}, err
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
			return cellRun{}, err
		}
	}
	b.tries[key]++
	valid := !b.invalid[fmt.Sprintf("%s %d", key, b.tries[key])]
	digest, err := w.Seal(ctx, record.Validity{Valid: valid}, "")
	b.starts = append(b.starts, c.start)
	if c.pilot && b.blind > 0 {
		b.blind--
		capacity = &record.Capacity{Kind: record.Invalid, Why: "the host was busy"}
	}
	return cellRun{record.ComparisonRun{Run: id, Digest: digest, Valid: valid}, capacity}, err
}

func (b *bench) load(id string) (*record.Run, error) {
	return record.Open(filepath.Join(b.dir, id))
}

// judge judges a comparison by the bench's plan.
func (b *bench) judge(
	c *record.Comparison,
	readers ...comparison.Reader,
) (arms, databases []comparison.Judgement) {
	b.t.Helper()
	return mustJudge(b.t, c, parse(b.t), b.load, readers...)
}

// config returns a comparison that is stored nowhere and whose runs take a minute each.
func (b *bench) config(p *plan.Plan) config {
	return config{
		id: "c", plan: p, quiet: b.quiet, run: b.run,
		save: func(*record.Comparison) error { return nil },
		now:  func() time.Time { return b.clock },
	}
}

// compare carries out a comparison, with time to repeat this number of blocks.
func (b *bench) compare(repeats int) *record.Comparison {
	b.t.Helper()
	p := parse(b.t)
	p.Compare.Retry = time.Duration(repeats) * 4 * time.Minute
	return carriedOut(b.t.Context(), b.t, b.config(p))
}

func carriedOut(ctx context.Context, t *testing.T, cfg config) *record.Comparison {
	t.Helper()
	c, err := begin(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// decided reports whether a verdict of a kind ends a comparison at a look.
func decided(k verdict.Kind) bool {
	return slices.Contains([]verdict.Kind{verdict.Better, verdict.Worse, verdict.Same}, k)
}

func resultOf(t *testing.T, v verdict.Verdict, name string) verdict.Result {
	t.Helper()
	i := slices.IndexFunc(v.Results, func(r verdict.Result) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("%s was not judged", name)
	}
	return v.Results[i]
}
