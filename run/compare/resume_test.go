package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
)

const worldTool, worldBuild = "v1", "sha256:b"

// A world makes runs whose outcome depends only on the cell and how often it was run for good, so
// that a comparison that was cut must end like one that was not. It can be killed at any of its
// steps.
type world struct {
	t       *testing.T
	dir     string
	plan    *plan.Plan
	effect  float64         // of the new arm on ln capacity
	sd      float64         // of runs
	invalid map[string]bool // "block arm engine try"
	saved   []byte          // the file on disk
	step    int             // events so far
	kill    int             // the event at which the process dies, 0 for none
	cancel  int             // the event at which it is interrupted, 0 for none
	stop    context.CancelCauseFunc
	made    map[string]int // attempts by cell and try
	starts  []int
	cache   map[string]record.ComparisonRun
	clock   time.Time
	duet    bool // whole blocks at once
	gone    bool // an interrupted duet leaves no runs of the cells that it had not begun
}

type killed struct{}

// tick is a moment at which the process may die.
func (w *world) tick() {
	w.step++
	w.clock = w.clock.Add(time.Minute)
	if w.step == w.cancel {
		w.stop(errors.New("interrupt"))
	}
	if w.step == w.kill {
		panic(killed{})
	}
}

func (w *world) save(c *record.Comparison) error {
	w.tick()
	b, err := json.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.saved = b
	w.tick()
	return nil
}

func (w *world) onDisk() *record.Comparison {
	c := new(record.Comparison)
	if err := json.Unmarshal(w.saved, c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) run(ctx context.Context, cell cell) (cellRun, error) {
	w.tick()
	tries := 1
	for _, r := range w.onDisk().Runs {
		if r.Block == cell.block && r.Arm == cell.arm && r.Engine == cell.engine &&
			r.Pilot == cell.pilot &&
			!r.Cut {
			tries++
		}
	}
	key := strings.TrimSpace(fmt.Sprintf("%d %s %s %d", cell.block, cell.arm, cell.engine, tries))
	w.made[key]++
	id := strings.ReplaceAll(fmt.Sprintf("%s %d", key, w.made[key]), " ", "-")
	w.starts = append(w.starts, cell.start)
	out, ok := w.cache[id]
	h := fnv.New64a()
	fmt.Fprint(h, key)
	capacity := &record.Capacity{
		Kind:  record.Estimate,
		Users: 500 * math.Exp(w.sd*rand.New(rand.NewPCG(h.Sum64(), 1)).NormFloat64()),
	}
	if cell.arm != plan.Base {
		capacity.Users *= math.Exp(w.effect)
	}
	if !ok {
		rw, err := record.Create(filepath.Join(w.dir, id), record.Manifest{
			ID:       id,
			Capacity: capacity,
		})
		if err != nil {
			w.t.Fatal(err)
		}
		valid := !w.invalid[key]
		digest, err := rw.Seal(context.Background(), record.Validity{Valid: valid}, "")
		if err != nil {
			w.t.Fatal(err)
		}
		out = record.ComparisonRun{Run: id, Digest: digest, Valid: valid}
		w.cache[id] = out
	}
	w.tick()
	if context.Cause(ctx) != nil {
		out.Valid = false // it was interrupted
	}
	return cellRun{out, capacity}, nil
}

func (w *world) load(id string) (*record.Run, error) {
	return record.Open(filepath.Join(w.dir, id))
}

func (w *world) judge(c *record.Comparison) (arms, databases []comparison.Judgement) {
	w.t.Helper()
	return mustJudge(w.t, c, w.plan, w.load)
}

func (w *world) config() config {
	cfg := config{
		id:    "c",
		tool:  worldTool,
		build: worldBuild,
		plan:  w.plan,
		run:   w.run,
		save:  w.save,
		load:  w.load,
		now:   func() time.Time { return w.clock },
	}
	if w.duet {
		cfg.runBlock = w.runBlock
	}
	return cfg
}

// attempt begins or goes on, and reports whether the process lived to its end.
func (w *world) attempt(resumed bool, kill, cancel int) (c *record.Comparison, lived bool) {
	w.t.Helper()
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	w.step = 0
	w.kill = kill
	w.cancel = cancel
	w.stop = stop
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
		}
	}()
	var err error
	if resumed && w.saved != nil {
		c = w.onDisk()
		if err = comparison.Resumable(c, w.plan, worldTool, worldBuild, w.load); err == nil {
			c, err = resume(ctx, w.config(), c, nil)
		}
	} else {
		c, err = begin(ctx, w.config())
	}
	if err != nil {
		w.t.Fatalf("killed at %d, canceled at %d: %v", kill, cancel, err)
	}
	return c, true
}

// fresh resets the world to its start; the runs on disk are kept, because the same runs would be
// made again.
func (w *world) fresh() {
	w.saved, w.made, w.starts, w.clock = nil, map[string]int{}, nil, time.Unix(1e9, 0).UTC()
}

// essence returns the parts of a comparison that must not depend on when it was cut.
func essence(t *testing.T, w *world, c *record.Comparison) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, c.State, c.Start)
	for _, r := range c.Runs {
		if r.Cut {
			continue
		}
		made, err := w.load(r.Run)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(
			&b,
			"%d.%d %s %s pilot %v valid %v dropped %v (%s) %.3f\n",
			r.Block,
			r.Order,
			r.Arm,
			r.Engine,
			r.Pilot,
			r.Valid,
			r.Dropped,
			r.Why,
			made.Manifest.Capacity.Users,
		)
	}
	for _, l := range c.Looks {
		fmt.Fprintln(&b, l.Blocks, l.Alpha, l.Taken(), l.Decided, l.Verdicts)
	}
	arms, databases := w.judge(c)
	for _, j := range slices.Concat(arms, databases) {
		fmt.Fprintln(&b, j.Engine, j.Arm, j.Verdict.Lead)
	}
	return b.String()
}

func newWorld(t *testing.T, text string) *world {
	t.Helper()
	w := &world{
		t:       t,
		dir:     t.TempDir(),
		plan:    parsed(t, text),
		effect:  -0.1,
		sd:      0.01,
		invalid: map[string]bool{},
		cache:   map[string]record.ComparisonRun{},
	}
	w.fresh()
	return w
}

const cutPlan = `
name: t
target: {driver: refchat}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster}
unbounded: {max_users: 1000, slo: ["mean(op) < 100ms"]}
compare: {arms: {base: {}, new: {}}, blocks: 2}
`

// Wherever a comparison is killed or interrupted, it ends with the same result.
func TestResumedIsTheUninterrupted(t *testing.T) {
	resumedIsTheUninterrupted(t, newWorld(t, cutPlan))
}

func resumedIsTheUninterrupted(t *testing.T, w *world) {
	t.Helper()
	w.invalid["2 new mysql 1"] = true // block 2 is voided and run again
	whole, lived := w.attempt(false, 0, 0)
	if !lived || whole.State != record.Sealed || len(whole.Runs) != 2+8+4 {
		t.Fatalf("state %s, %d runs", whole.State, len(whole.Runs))
	}
	want := essence(t, w, whole)
	steps := w.step
	starts := slices.Clone(w.starts)
	check := func(c *record.Comparison, how string) {
		t.Helper()
		if got := essence(t, w, c); got != want {
			t.Fatalf("%s: got\n%s\nwant\n%s", how, got, want)
		}
		for i, r := range c.Runs {
			if r.Cut && (!r.Dropped || r.Block == 0 && !r.Pilot) {
				t.Errorf("%s: run %d is cut and judged: %+v", how, i, r)
			}
		}
		// The runs of a block that counts were made in one go.
		var last record.ComparisonRun
		for _, r := range c.Runs {
			if !r.Cut && !r.Pilot && r.Order > 1 &&
				(last.Cut || last.Block != r.Block || last.Order != r.Order-1) {
				t.Fatalf("%s: run %d of block %d follows %+v", how, r.Order, r.Block, last)
			}
			last = r
		}
		if s := w.starts[len(w.starts)-1]; s != starts[len(starts)-1] {
			t.Errorf("%s: the last search began at %d, want %d", how, s, starts[len(starts)-1])
		}
	}
	if steps < 40 {
		t.Fatalf("only %d moments", steps)
	}
	for at := 1; at <= steps; at++ {
		w.fresh()
		if _, lived := w.attempt(false, at, 0); lived {
			t.Fatalf("lived at %d", at)
		}
		if w.saved != nil && w.onDisk().State == record.Sealed {
			continue // killed after the end
		}
		c, _ := w.attempt(true, 0, 0)
		check(c, fmt.Sprintf("killed at %d", at))
		if at > 2 && len(c.Resumed) != 1 {
			t.Errorf("killed at %d: %d resumptions", at, len(c.Resumed))
		}
		// Killed once more, on the way or again at once.
		for _, again := range []int{1, 4, 11} {
			w.fresh()
			w.attempt(false, at, 0)
			if _, lived := w.attempt(true, again, 0); lived ||
				w.saved != nil && w.onDisk().State == record.Sealed {
				continue
			}
			c, _ := w.attempt(true, 0, 0)
			check(c, fmt.Sprintf("killed at %d and then at %d", at, again))
		}
		w.fresh()
		c, _ = w.attempt(false, 0, at)
		if c.State == record.Sealed {
			continue // it was over
		}
		if c.State != record.Interrupted || c.Why != "interrupt" {
			t.Fatalf("interrupted at %d: state %s (%s)", at, c.State, c.Why)
		}
		c, _ = w.attempt(true, 0, 0)
		check(c, fmt.Sprintf("interrupted at %d", at))
	}
}

func TestResumptionIsRecorded(t *testing.T) {
	w := newWorld(t, cutPlan)
	w.attempt(false, 0, 0)
	w.fresh()
	// Events: the first save is 1 and 2; each run is four. Two pilots, then the second run of block
	// 1 begins.
	if _, lived := w.attempt(false, 2+3*4+1, 0); lived {
		t.Fatal("lived")
	}
	cut := w.onDisk()
	w.clock = w.clock.Add(3 * time.Hour)
	c, _ := w.attempt(true, 0, 0)
	if len(c.Resumed) != 1 {
		t.Fatalf("%d resumptions", len(c.Resumed))
	}
	re := c.Resumed[0]
	if re.Block != 1 || len(re.Runs) != 1 || !re.Cut.Equal(cut.Saved) ||
		re.At.Sub(re.Cut) < 3*time.Hour ||
		re.Why != "" {
		t.Errorf("%+v; the file was last saved at %v", re, cut.Saved)
	}
	if run := c.Runs[2]; run.Run != re.Runs[0] || !run.Cut ||
		!strings.Contains(run.Why, "cut in this block") {
		t.Errorf("%+v", run)
	}
}

// A record whose runs do not follow the plan is not made to fit, and the file is left as it is.
func TestStrayRecord(t *testing.T) {
	w := newWorld(t, cutPlan)
	w.attempt(false, 40, 0)
	c := w.onDisk()
	c.Runs[3], c.Runs[4] = c.Runs[4], c.Runs[3]
	before := string(w.saved)
	if _, err := resume(t.Context(), w.config(), c, nil); !errors.Is(err, errStray) {
		t.Errorf("got %v", err)
	}
	if string(w.saved) != before {
		t.Error("the file was written")
	}
}

// survivesEveryKill kills a comparison at each of its steps, and resumes it after later. Left alone
// it is as the test needs it.
func (w *world) survivesEveryKill(later time.Duration, fit func(whole *record.Comparison) bool) {
	t := w.t
	t.Helper()
	whole, _ := w.attempt(false, 0, 0)
	want, steps := essence(t, w, whole), w.step
	if !fit(whole) {
		t.Fatalf("the scene is not what the test needs: %+v", whole.Looks)
	}
	for at := 1; at <= steps; at++ {
		w.fresh()
		w.attempt(false, at, 0)
		if w.saved != nil && w.onDisk().State == record.Sealed {
			continue
		}
		w.clock = w.clock.Add(later)
		c, _ := w.attempt(true, 0, 0)
		if got := essence(t, w, c); got != want {
			t.Fatalf("killed at %d: got\n%s\nwant\n%s", at, got, want)
		}
	}
}
