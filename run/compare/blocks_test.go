package compare

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/record"
)

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
	if arms[1].Engine != "mysql" || capacity.Name != "capacity" ||
		math.Abs(capacity.Effect+0.15) > 0.02 {
		t.Errorf("%s %s effect %v, want -15 %%", arms[1].Engine, capacity.Name, capacity.Effect)
	}
	if why := arms[0].Skipped["p95(delivery)"]; why == "" {
		t.Error("p95(delivery) was judged without a delivery")
	}
	if len(databases) != 2 || databases[1].Arm != "new" ||
		databases[1].Verdict.Kind != verdict.Worse {
		t.Errorf("databases %+v", databases)
	}
}

// TestOthersVoidABlock ends a search by the load of other processes on its host, which voids the
// block, and one by the generator's own limit, which is a bound like any other.
func TestOthersVoidABlock(t *testing.T) {
	b := newBench(t)
	b.ended = map[string]string{
		"2 base mysql":     "steal",
		"4 new postgresql": "others",
		"5 new mysql":      "lag",
	}
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
	if why := c.Runs[2+4].Why + c.Runs[2+5].Why + c.Runs[2+6].Why + c.Runs[2+7].Why; !strings.Contains(
		why,
		"gate steal",
	) {
		t.Errorf("the block says %q", why)
	}
}

// A block of which a run is missing or not valid is not judged, on no database: its remaining runs
// wait for a repetition.
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
			b.began = func(cell cell) {
				if cell.block == tt.block {
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
				if r := j.Verdict.Results[0]; r.N != tt.n || !r.Indicative ||
					r.Kind != verdict.Inconclusive {
					t.Errorf(
						"%s %s: %d pairs judged %s, want %d and no verdict",
						j.Engine,
						j.Arm,
						r.N,
						r.Kind,
						tt.n,
					)
				}
				if f := j.Secondary; f.Tested != 0 {
					t.Errorf(
						"%s %s: %d further metrics tested of %d pairs",
						j.Engine,
						j.Arm,
						f.Tested,
						tt.n,
					)
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

// The count of remaining runs reaches zero even if blocks are run again.
func TestLeftWithAVoidedBlock(t *testing.T) {
	b := newBench(t)
	b.invalid["2 new mysql 1"] = true
	var left []int
	again := 0
	b.began = func(c cell) {
		left = append(left, c.left)
		if c.again {
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

// TestASearchThatOthersEndedIsNotTheArmsInstability ends a search of the new arm before any level
// was confirmed. By others on the host, or by the generator, the block is run again; a cause that
// may be the target's stays an unstable search of the arm.
func TestASearchThatOthersEndedIsNotTheArmsInstability(t *testing.T) {
	for gate, tt := range map[string]struct {
		cause record.Cause
		runs  int
	}{
		"others":       {record.ByHost, 30},
		"steal":        {record.ByHost, 30},
		"target_steal": {record.ByHost, 30},
		"lag":          {record.ByGenerator, 30},
		"memory":       {"", 26},
	} {
		b := newBench(t)
		b.early, b.ended = true, map[string]string{"2 new mysql": gate}
		c := b.compare(3)
		if len(c.Runs) != tt.runs {
			t.Errorf("%s: %d runs, want %d", gate, len(c.Runs), tt.runs)
		}
		for _, run := range c.Runs {
			if !run.Valid &&
				(run.Cause != tt.cause || run.Disturbed != (tt.cause == record.ByHost)) {
				t.Errorf(
					"%s: void by %q, disturbed %v; want %q",
					gate,
					run.Cause,
					run.Disturbed,
					tt.cause,
				)
			}
		}
		arms, _ := b.judge(c)
		r := resultOf(t, arms[1].Verdict, "capacity")
		if counted := warned(r, "are unstable"); counted != (tt.cause == "") || r.N != map[bool]int{
			true:  6,
			false: 5,
		}[tt.cause != ""] {
			t.Errorf("%s: %d pairs, warnings %q", gate, r.N, r.Warnings)
		}
	}
}
