package comparison

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
)

// A bench makes runs on disk: capacity and latency of the new arm are off by factors, with noise.
type bench struct {
	t        *testing.T
	dir      string
	rng      *rand.Rand
	capacity map[string]float64 // by arm+engine; default 1
	n        int
	invalid  map[string]bool // "block arm engine try"
	unstable map[string]bool // searches that contradict themselves, by cell
	tries    map[string]int
	cause    record.Cause // of the runs that are not valid
	// targetToo: with a red gate of the target
	targetToo bool
	// further operations, sorted by name; nil for none
	extra func(c record.ComparisonRun, second int) []*measure.Window
	turns *record.Duet // of all runs
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(1, 1)),
		capacity: map[string]float64{}, invalid: map[string]bool{}, tries: map[string]int{}}
}

// run makes the run of a cell, which is the run before it was made.
func (b *bench) run(c record.ComparisonRun) record.ComparisonRun {
	b.t.Helper()
	b.n++
	id := fmt.Sprintf("r%02d", b.n)
	key := fmt.Sprintf("%d %s %s", c.Block, c.Arm, c.Engine)
	factor := 1.0
	if f, ok := b.capacity[c.Arm+c.Engine]; ok {
		factor = f
	}
	capacity := &record.Capacity{
		Kind:  record.Estimate,
		Users: 500 * factor * math.Exp(0.01*b.rng.NormFloat64()),
	}
	if b.unstable[key] {
		*capacity = record.Capacity{
			Kind:    record.Unstable,
			Reached: 500,
			Held:    300,
			Why:     "two levels",
		}
	}
	w, err := record.Create(filepath.Join(b.dir, id), record.Manifest{
		ID:       id,
		Capacity: capacity,
		Duet:     b.turns,
		Phases:   []record.Phase{{Name: "measure", From: 0, To: benchSeconds * time.Second}},
	})
	if err != nil {
		b.t.Fatal(err)
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
			b.t.Fatal(err)
		}
	}
	b.tries[key]++
	c.Run = id
	c.Valid = !b.invalid[fmt.Sprintf("%s %d", key, b.tries[key])]
	if c.Digest, err = w.Seal(b.t.Context(), record.Validity{Valid: c.Valid}, ""); err != nil {
		b.t.Fatal(err)
	}
	if !c.Valid {
		c.Cause = b.cause
		c.Disturbed = b.cause == record.ByHost
		c.TargetToo = b.targetToo
	}
	return c
}

// void makes runs of an arm on an engine invalid in these blocks, the second one too of a block
// that is listed twice.
func (b *bench) void(arm, engine string, blocks ...int) {
	times := map[int]int{}
	for _, block := range blocks {
		times[block]++
		b.invalid[fmt.Sprintf("%d %s %s %d", block, arm, engine, times[block])] = true
	}
}

// opsOf returns the window of n operations that succeeded and took as long each.
func opsOf(name string, took time.Duration, n int) *measure.Window {
	w := measure.NewWindow(name)
	w.Response.RecordN(took, uint32(n))
	w.Classes[measure.OK] = uint64(n)
	return w
}

func (b *bench) load(id string) (*record.Run, error) {
	return record.Open(filepath.Join(b.dir, id))
}

// judge judges a comparison by the bench's plan.
func (b *bench) judge(c *record.Comparison, readers ...Reader) (arms, databases []Judgement) {
	b.t.Helper()
	return mustJudge(b.t, c, parse(b.t), b.load, readers...)
}

// compare makes a comparison by the bench's plan, and repeats up to repeats of its void blocks.
func (b *bench) compare(repeats int) *record.Comparison {
	b.t.Helper()
	return b.compareBy(parse(b.t), repeats)
}

func (b *bench) compareBy(p *plan.Plan, repeats int) *record.Comparison {
	b.t.Helper()
	c := &record.Comparison{
		ID:         "c",
		Name:       p.Name,
		Tool:       "v1",
		Build:      "sha256:b",
		Plan:       p.String(),
		PlanDigest: p.Digest(),
		State:      record.Sealed,
		Arms:       ArmNames(p),
		Engines:    Engines(p),
		Blocks:     p.Compare.Blocks,
		Mode:       plan.ModeSequence,
	}
	var void []int
	for block := 1; block <= c.Blocks; block++ {
		if !b.block(c, block) {
			void = append(void, block)
		}
	}
	for ; len(void) > 0; repeats-- {
		block := void[0]
		void = void[1:]
		for i := range c.Runs {
			if c.Runs[i].Block == block {
				c.Runs[i].Dropped = true
			}
		}
		if repeats > 0 && !b.block(c, block) {
			void = append(void, block)
		}
	}
	return c
}

// block makes the runs of a block, in every second one in the reverse order.
func (b *bench) block(c *record.Comparison, block int) (valid bool) {
	arms := slices.Clone(c.Arms)
	if block%2 == 0 {
		slices.Reverse(arms)
	}
	valid = true
	order := 0
	for _, engine := range c.Engines {
		for _, arm := range arms {
			order++
			run := b.run(record.ComparisonRun{Block: block, Order: order, Arm: arm, Engine: engine})
			valid = valid && run.Valid
			c.Runs = append(c.Runs, run)
		}
	}
	return valid
}
