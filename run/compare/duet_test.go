package compare

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// runBlock makes the runs of a duet.
func (w *world) runBlock(ctx context.Context, cells []cell) ([]cellRun, error) {
	return together(ctx, cells, func(ctx context.Context, c cell) (cellRun, error) {
		if w.gone && context.Cause(ctx) != nil {
			return cellRun{}, context.Cause(ctx)
		}
		return w.run(ctx, c)
	})
}

// together makes the runs of a block until one fails.
func together(ctx context.Context, cells []cell,
	run func(context.Context, cell) (cellRun, error)) (out []cellRun, err error) {
	for _, cell := range cells {
		made, err := run(ctx, cell)
		if err != nil {
			return out, err
		}
		out = append(out, made)
	}
	return out, nil
}

// duet carries out a comparison whose blocks take a minute each, with time to repeat this number of
// blocks. saves counts its writes to disk.
func (b *bench) duet(repeats int, blocks func(cells []cell)) (c *record.Comparison, saves int) {
	b.t.Helper()
	p := parse(b.t)
	p.Compare.Retry = time.Duration(repeats) * time.Minute
	b.each = 0
	cfg := b.config(p)
	cfg.modeWhy, cfg.save = "a test", func(*record.Comparison) error { saves++; return nil }
	cfg.run = func(ctx context.Context, c cell) (cellRun, error) {
		if !c.pilot {
			b.t.Errorf("%+v was made by itself", c)
		}
		return b.run(ctx, c)
	}
	cfg.runBlock = func(ctx context.Context, cells []cell) ([]cellRun, error) {
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
	c, saves := b.duet(0, func(cells []cell) {
		left = append(left, cells[len(cells)-1].left)
		for _, cell := range cells {
			if cell.start < 285 || cell.start > 315 || cell.again {
				t.Errorf("%+v, want a search from 60 %% of about 500", cell)
			}
		}
	})
	if c.Mode != plan.ModeDuet || c.ModeWhy != "a test" || !c.InTurns() ||
		c.State != record.Sealed ||
		len(c.Runs) != 2+24 {
		t.Fatalf("mode %q (%s), state %s, %d runs", c.Mode, c.ModeWhy, c.State, len(c.Runs))
	}
	if fmt.Sprint(left) != "[20 16 12 8 4 0]" {
		t.Errorf("runs after each block: %v", left)
	}
	if saves != 1+2+6+1 {
		t.Errorf(
			"%d times on disk, want once for each pilot and block, and at the begin and the end",
			saves,
		)
	}
	for i, want := range order(1, 6, []string{"base", "new"}, []string{"postgresql", "mysql"})[2] {
		run := c.Runs[2+2*4+i]
		if run.Block != 3 || run.Order != i+1 || run.Arm != want.arm || run.Engine != want.engine ||
			!run.Began.Equal(c.Runs[2+2*4].Began) || !run.Counts() {
			t.Errorf("run %d of block 3 is %+v", i+1, run)
		}
	}
	arms, _ := b.judge(c)
	if arms[0].Verdict.Kind != verdict.Same || arms[1].Verdict.Kind != verdict.Worse {
		t.Errorf(
			"verdicts %s and %s; want same and worse",
			arms[0].Verdict.Kind,
			arms[1].Verdict.Kind,
		)
	}
}

// TestVoidDuetIsRunAgain runs a block again whole, whose time counts once for all of its runs.
func TestVoidDuetIsRunAgain(t *testing.T) {
	b := newBench(t)
	b.invalid["3 new mysql 1"] = true
	b.ended = map[string]string{"5 base postgresql": "steal"}
	again := 0
	c, _ := b.duet(3, func(cells []cell) {
		for _, cell := range cells {
			if cell.again {
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
	if len(c.Runs) != 2+24+8 || again != 8 || fmt.Sprint(dropped) != "map[3:4 5:4]" ||
		c.Retried != 2*time.Minute {
		t.Errorf(
			"%d runs, %d again, dropped by block %v, %v for what was run again",
			len(c.Runs),
			again,
			dropped,
			c.Retried,
		)
	}
	if arms, _ := b.judge(c); arms[1].Verdict.Results[0].N != 6 {
		t.Errorf("%d pairs judged", arms[1].Verdict.Results[0].N)
	}
}

// TestResumedDuet kills and interrupts a duet at each of its moments. It ends as one that was left
// alone.
func TestResumedDuet(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := newWorld(t, cutPlan)
		w.duet, w.gone = true, gone
		resumedIsTheUninterrupted(t, w)
	}
}

// TestCutDuet interrupts a duet between two of its runs: all of the block are cut, and the
// resumption names the finished one.
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
	cfg.runBlock = func(ctx context.Context, cells []cell) ([]cellRun, error) {
		out, err := w.runBlock(ctx, cells)
		if cells[0].block == 2 {
			out[1] = cellRun{}
		}
		return out, err
	}
	c, err := begin(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "block 2: 1 of its 2 runs were made") {
		t.Fatalf("error %v", err)
	}
	if len(c.Runs) != 3 || c.Runs[1].Cut || !c.Runs[2].Cut || !c.Runs[2].Dropped ||
		c.State != record.Interrupted {
		t.Errorf("state %s, %+v", c.State, c.Runs)
	}
	if c, lived := w.attempt(true, 0, 0); !lived || c.State != record.Sealed {
		t.Error("it does not go on")
	}
}
