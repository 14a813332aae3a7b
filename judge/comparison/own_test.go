package comparison

import (
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
)

const ownText = `
name: t
target: {driver: refchat}
database: {engine: postgresql}
workload: {behavior: poster}
bounded: {users: 10, ramp: 1s, settle: 1s, measure: 4s}
compare: {arms: {base: {database: mysql}, new: {}}, blocks: 6, margin: {throughput(story): 5%}}
`

// TestArmsOnTheirOwnDatabases: there is one column and no matrix, and an arm on one engine is
// judged against one on another, by its throughput, too: acknowledged operations per minute of the
// measured phase.
func TestArmsOnTheirOwnDatabases(t *testing.T) {
	p, b := parsed(t, ownText), newBench(t)
	b.extra = func(c record.ComparisonRun, second int) []*measure.Window {
		n := 200 + second%2 + c.Block
		if c.Arm == "new" {
			n = n * 9 / 10
		}
		w := opsOf("story", time.Millisecond, n)
		w.Classes[measure.Status5xx] = 7 // which count nowhere
		return []*measure.Window{w}
	}
	c := b.compareBy(p, 0)
	if len(c.Runs) != 12 || !slices.Equal(c.Engines, []string{""}) {
		t.Fatalf("%d runs in the columns %q, want 12 in one without a name", len(c.Runs), c.Engines)
	}
	arms, databases := mustJudge(t, c, p, b.load)
	if len(arms) != 1 || len(databases) != 0 || arms[0].Engine != "" {
		t.Fatalf("judged %+v and %+v, want one arm and no database", arms, databases)
	}
	r := resultOf(t, arms[0].Verdict, "throughput(story)")
	if r.Kind != verdict.Worse || math.Abs(r.Effect+0.1) > 0.01 || r.Better != plan.Higher ||
		r.Unit != "1/min" {
		t.Errorf("%s by %v in %s, want 10 %% worse", r.Kind, r.Effect, r.Unit)
	}
	if want := 60 * 201.5; math.Abs(r.Pairs[0].Base-want) > 0.01 {
		t.Errorf(
			"block %d of base has %v a minute, want %v",
			r.Pairs[0].Block,
			r.Pairs[0].Base,
			want,
		)
	}
}

// TestJudgeKnowsTheOrder has runs whose throughput is 10 % lower when they come second in their
// block, whichever arm they are: the judgment reports it, and finds the arms the same.
func TestJudgeKnowsTheOrder(t *testing.T) {
	p, b := parsed(t, ownText), newBench(t)
	b.extra = func(c record.ComparisonRun, second int) []*measure.Window {
		n := 1000 + second%2 + c.Block
		if c.Order == 2 {
			n = n * 9 / 10
		}
		return []*measure.Window{opsOf("story", time.Millisecond, n)}
	}
	c := b.compareBy(p, 0)
	arms, _ := mustJudge(t, c, p, b.load)
	r := resultOf(t, arms[0].Verdict, "throughput(story)")
	if r.Kind != verdict.Same || r.Order == nil || math.Abs(r.Order.Effect+0.1) > 0.01 {
		t.Errorf("%s, order effect %+v, want the same and -10 %%", r.Sentence, r.Order)
	}
	for _, pair := range r.Pairs {
		if pair.First != verdict.FirstBase && pair.First != verdict.FirstNew ||
			(pair.First == verdict.FirstBase) != (pair.New < pair.Base) {
			t.Errorf(
				"block %d: %s came first, base %v, new %v",
				pair.Block,
				pair.First,
				pair.Base,
				pair.New,
			)
		}
	}
}
