package comparison

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// runBlock makes the runs of a duet.
func (w *world) runBlock(ctx context.Context, cells []Cell) ([]BlockRun, error) {
	return together(ctx, cells, func(ctx context.Context, c Cell) (record.ComparisonRun, *record.Capacity, error) {
		if w.gone && context.Cause(ctx) != nil {
			return record.ComparisonRun{}, nil, context.Cause(ctx)
		}
		return w.run(ctx, c)
	})
}

// together makes the runs of a block until one fails.
func together(ctx context.Context, cells []Cell,
	run func(context.Context, Cell) (record.ComparisonRun, *record.Capacity, error)) (out []BlockRun, err error) {
	for _, cell := range cells {
		made, capacity, err := run(ctx, cell)
		if err != nil {
			return out, err
		}
		out = append(out, BlockRun{made, capacity})
	}
	return out, nil
}

// duet carries out a comparison whose blocks take a minute each, with time to run so many again. saves counts how
// often it was put on disk.
func (b *bench) duet(repeats int, blocks func(cells []Cell)) (c *record.Comparison, saves int) {
	b.t.Helper()
	p := parse(b.t)
	p.Compare.Retry = time.Duration(repeats) * time.Minute
	b.each = 0
	cfg := b.config(p)
	cfg.ModeWhy, cfg.Save = "a test", func(*record.Comparison) error { saves++; return nil }
	cfg.Run = func(ctx context.Context, c Cell) (record.ComparisonRun, *record.Capacity, error) {
		if !c.Pilot {
			b.t.Errorf("%+v was made by itself", c)
		}
		return b.run(ctx, c)
	}
	cfg.RunBlock = func(ctx context.Context, cells []Cell) ([]BlockRun, error) {
		b.clock = b.clock.Add(time.Minute)
		if blocks != nil {
			blocks(cells)
		}
		return together(ctx, cells, b.run)
	}
	return carriedOut(b.t.Context(), b.t, cfg), saves
}

// TestDuetRunsWholeBlocks makes the runs of a block at once, each in its place of the record.
func TestDuetRunsWholeBlocks(t *testing.T) {
	b := newBench(t)
	b.capacity["newmysql"] = 0.85
	var left []int
	c, saves := b.duet(0, func(cells []Cell) {
		left = append(left, cells[len(cells)-1].Left)
		for _, cell := range cells {
			if cell.Start < 285 || cell.Start > 315 || cell.Again {
				t.Errorf("%+v, want a search from 60 %% of about 500", cell)
			}
		}
	})
	if c.Mode != plan.ModeDuet || c.ModeWhy != "a test" || !c.InTurns() || c.State != record.Sealed ||
		len(c.Runs) != 2+24 {
		t.Fatalf("mode %q (%s), state %s, %d runs", c.Mode, c.ModeWhy, c.State, len(c.Runs))
	}
	if fmt.Sprint(left) != "[20 16 12 8 4 0]" {
		t.Errorf("runs after each block: %v", left)
	}
	if saves != 1+2+6+1 {
		t.Errorf("%d times on disk, want once for each pilot and block, and at the begin and the end", saves)
	}
	for i, want := range Order(1, 6, []string{"base", "new"}, []string{"postgresql", "mysql"})[2] {
		run := c.Runs[2+2*4+i]
		if run.Block != 3 || run.Order != i+1 || run.Arm != want.Arm || run.Engine != want.Engine ||
			!run.Began.Equal(c.Runs[2+2*4].Began) || !run.Counts() {
			t.Errorf("run %d of block 3 is %+v", i+1, run)
		}
	}
	arms, _ := b.judge(c)
	if arms[0].Verdict.Kind != verdict.Same || arms[1].Verdict.Kind != verdict.Worse {
		t.Errorf("verdicts %s and %s; want same and worse", arms[0].Verdict.Kind, arms[1].Verdict.Kind)
	}
}

// TestVoidDuetIsRunAgain runs a block again whole, whose time counts once for all of its runs.
func TestVoidDuetIsRunAgain(t *testing.T) {
	b := newBench(t)
	b.invalid["3 new mysql 1"] = true
	b.ended = map[string]string{"5 base postgresql": "steal"}
	again := 0
	c, _ := b.duet(3, func(cells []Cell) {
		for _, cell := range cells {
			if cell.Again {
				again++
			}
		}
	})
	dropped := map[int]int{}
	for _, r := range c.Runs {
		if r.Dropped {
			dropped[r.Block]++
		}
	}
	if len(c.Runs) != 2+24+8 || again != 8 || fmt.Sprint(dropped) != "map[3:4 5:4]" || c.Retried != 2*time.Minute {
		t.Errorf("%d runs, %d again, dropped by block %v, %v for what was run again", len(c.Runs), again, dropped, c.Retried)
	}
	if arms, _ := b.judge(c); arms[1].Verdict.Results[0].N != 6 {
		t.Errorf("%d pairs judged", arms[1].Verdict.Results[0].N)
	}
}

// TestResumedDuet kills and interrupts a duet at each of its moments. It ends as one that was left alone.
func TestResumedDuet(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := newWorld(t, cutPlan)
		w.duet, w.gone = true, gone
		resumedIsTheUninterrupted(t, w)
	}
}

// TestCutDuet interrupts a duet between two of its runs: all of the block are cut, and the resumption names the
// finished one.
func TestCutDuet(t *testing.T) {
	w := newWorld(t, cutPlan)
	w.duet = true
	// Events: the first save is 1 and 2, each pilot is four; the runs of a duet have two each.
	c, _ := w.attempt(false, 0, 2+2*4+2+1)
	if len(c.Runs) != 2+4 || c.State != record.Interrupted {
		t.Fatalf("%d runs, state %s", len(c.Runs), c.State)
	}
	for i, r := range c.Runs[2:] {
		if !r.Cut || !r.Dropped || r.Valid != (i == 0) || r.Valid && r.Why != cutInDuet {
			t.Errorf("run %d of the block: %+v", i+1, r)
		}
	}
	finished := c.Runs[2].Run
	if c, _ = w.attempt(true, 0, 0); len(c.Resumed) != 1 || c.State != record.Sealed {
		t.Fatalf("state %s, %+v", c.State, c.Resumed)
	}
	if re := c.Resumed[0]; re.Block != 1 || len(re.Runs) != 1 || re.Runs[0] != finished {
		t.Errorf("%+v, want block 1 with %s", re, finished)
	}
}

// TestDuetThatLacksARun ends a comparison, and cuts the block.
func TestDuetThatLacksARun(t *testing.T) {
	w := newWorld(t, looksPlan)
	w.duet = true
	cfg := w.config()
	cfg.RunBlock = func(ctx context.Context, cells []Cell) ([]BlockRun, error) {
		out, err := w.runBlock(ctx, cells)
		if cells[0].Block == 2 {
			out[1] = BlockRun{}
		}
		return out, err
	}
	c, err := Run(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "block 2: 1 of its 2 runs were made") {
		t.Fatalf("error %v", err)
	}
	if len(c.Runs) != 3 || c.Runs[1].Cut || !c.Runs[2].Cut || !c.Runs[2].Dropped || c.State != record.Interrupted {
		t.Errorf("state %s, %+v", c.State, c.Runs)
	}
	if c, lived := w.attempt(true, 0, 0); !lived || c.State != record.Sealed {
		t.Error("it does not go on")
	}
}

// TestDuetHasNoOrder judges the same runs as those of a sequence and of a duet: in a duet no run of a pair came first,
// and the interval has the degrees of freedom of a paired test.
func TestDuetHasNoOrder(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	for mode, ordered := range map[string]bool{"": true, plan.ModeSequence: true, plan.ModeDuet: false} {
		c.Mode = mode
		arms, _ := b.judge(c)
		r := resultOf(t, arms[0].Verdict, "capacity")
		if (r.Order != nil) != ordered || (r.Pairs[0].First != "") != ordered {
			t.Errorf("mode %q: order effect %+v, %q came first", mode, r.Order, r.Pairs[0].First)
		}
		if text := fmt.Sprint(r.Warnings); strings.Contains(text, "came first") {
			t.Errorf("mode %q: %s", mode, text)
		}
	}
}

// TestModeIsKept carries a comparison out as its plan asks, and goes on in the mode that it began with.
func TestModeIsKept(t *testing.T) {
	w := newWorld(t, looksPlan)
	of := func(mode string) *plan.Plan {
		p := parsed(t, looksPlan)
		p.Compare.Mode = mode
		return p
	}
	asked := func(mode string, duet bool) (*record.Comparison, error) {
		w.fresh()
		w.duet = duet
		cfg := w.config()
		cfg.Plan = of(mode)
		return Run(t.Context(), cfg)
	}
	for _, tt := range []struct {
		mode string
		duet bool
		want string
	}{{"", false, plan.ModeSequence}, {"", true, plan.ModeDuet}, {plan.ModeSequence, false, plan.ModeSequence},
		{plan.ModeDuet, true, plan.ModeDuet}} {
		if c, err := asked(tt.mode, tt.duet); err != nil || c.Mode != tt.want {
			t.Errorf("mode %q, duet %v: %v, %v", tt.mode, tt.duet, c, err)
		}
	}
	for mode, duet := range map[string]bool{plan.ModeSequence: true, plan.ModeDuet: false} {
		if _, err := asked(mode, duet); err == nil || !strings.Contains(err.Error(), "compare.mode is "+mode) {
			t.Errorf("mode %q, duet %v: %v", mode, duet, err)
		}
	}

	w.fresh()
	w.duet = true
	w.attempt(false, 7, 0)
	w.duet = false
	before := string(w.saved)
	if _, err := Resume(t.Context(), w.config(), w.onDisk(), nil); err == nil || !strings.Contains(err.Error(),
		"began as a duet") || string(w.saved) != before {
		t.Errorf("a duet goes on as a sequence: %v", err)
	}
	slice := of("")
	slice.Compare.Slice = time.Second
	for want, p := range map[string]*plan.Plan{
		`mode is "duet", in its plan "sequence"`: of(plan.ModeSequence), "slice is 0s, in its plan 1s": slice,
	} {
		c := w.onDisk()
		c.Plan, c.PlanDigest = p.String(), p.Digest()
		if err := CheckPlan(c, p); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRunsThatTookTurns are not judged as those of a sequence.
func TestRunsThatTookTurns(t *testing.T) {
	b := newBench(t)
	b.turns = &record.Duet{Seats: 4, Turns: 9}
	c, _ := b.duet(0, nil)
	mustJudge(t, c, parse(t), Loader(c, b.load))
	c.Mode = plan.ModeSequence
	if _, _, err := Judge(c, parse(t), Loader(c, b.load)); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "it took turns with other runs") {
		t.Errorf("got %v", err)
	}
}

// TestNoiseOfDuets is of an environment of its own.
func TestNoiseOfDuets(t *testing.T) {
	b, p := newBench(t), parse(t)
	c, _ := b.duet(0, nil)
	arms, _ := mustJudge(t, c, p, b.load)
	env := Environment{Host: "h"}
	lines := AALines(c, p, arms, env, time.Unix(1e9, 0))
	c.Mode = plan.ModeSequence
	others := AALines(c, p, arms, env, time.Unix(1e9, 0))
	if len(lines) == 0 || len(lines) != len(others) {
		t.Fatalf("%d and %d lines", len(lines), len(others))
	}
	for i, l := range lines {
		if l.Environment == others[i].Environment || l.Load != others[i].Load+", duet" {
			t.Errorf("%+v and %+v", l, others[i])
		}
	}
	if n := NoiseOf(Pool(lines), p, env); len(n) != 0 {
		t.Errorf("a sequence has the noise of duets: %+v", n)
	}
	env.Duet = true
	if n := NoiseOf(Pool(lines), p, env); len(n) != len(lines) {
		t.Errorf("a duet has %d lines of noise, want %d", len(n), len(lines))
	}
}
