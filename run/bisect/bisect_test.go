package bisect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/record"
)

// testPlan compares two arms.
const testPlan = `
name: tried
target: {driver: refchat, args: [-x]}
workload: {behavior: poster}
bounded: {users: 6, ramp: 1s, settle: 1s, measure: 10s}
compare: {arms: {base: {args: [-y], version: "1"}, new: {args: [-z]}}, looks: [6, 9, 12]}
`

// A bench carries out a bisection of builds that differ as a test says.
type bench struct {
	*Bisection
	dir      string
	levels   []float64 // of the endpoint, logarithms
	broken   map[string]error
	invalid  map[string]bool // builds without a valid block
	measured map[string][]float64
	said     strings.Builder
	cut      func(step int) bool // whether a step is cut after a block
	cancel   context.CancelCauseFunc
}

// newBench returns a bisection of builds, as often as it is called with the same directory.
func newBench(t *testing.T, dir string, levels ...float64) *bench {
	t.Helper()
	p, err := plan.Parse([]byte(testPlan))
	failure.None(t, err)
	var builds []Build
	for i := range levels {
		builds = append(builds, Build{Name: fmt.Sprintf("commit%d", i+1), Title: fmt.Sprint("title ", i+1)})
	}
	r := NewRecord(p, "cost(app)", []string{"make", "{commit}"}, builds)
	failure.None(t, r.Load(dir))
	w := &bench{dir: dir, levels: levels, measured: map[string][]float64{}}
	w.Bisection = &Bisection{
		Record:  r,
		Make:    w.build,
		Measure: w.measure,
		Recall:  func(id string) ([]float64, error) { return w.measured[id], nil },
		Save:    func() error { return r.Save(dir, nil) },
		Say:     func(format string, args ...any) { fmt.Fprintf(&w.said, format+"\n", args...) },
		Now:     time.Now,
	}
	return w
}

func (w *bench) build(_ context.Context, b Build) (string, error) {
	return "/builds/" + b.Name, w.broken[b.Name]
}

// measure returns blocks with noise of half a percent.
func (w *bench) measure(
	_ context.Context, id string, against, build Build, blocks int,
) (out []float64, err error) {
	at := func(b Build) (i int) {
		_, err := fmt.Sscanf(b.Binary, "/builds/commit%d", &i)
		if err != nil {
			panic(err)
		}
		return i - 1
	}
	if w.invalid[build.Name] {
		return nil, nil
	}
	rng := rand.New(rand.NewPCG(7, uint64(len(w.Steps))))
	for range blocks {
		out = append(out, w.levels[at(build)]-w.levels[at(against)]+0.005*rng.NormFloat64())
		if w.cut != nil && w.cut(len(w.Steps)) {
			w.measured[id] = out
			w.cancel(errors.New("interrupted by a test"))
			return out, nil
		}
	}
	return out, nil
}

// carry carries the bisection out, and returns its first line.
func (w *bench) carry(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	w.cancel = cancel
	failure.None(t, w.Carry(ctx))
	return w.Lines()[0]
}

func TestCarry(t *testing.T) {
	step := func(builds, first int, effect float64) []float64 {
		out := make([]float64, builds)
		for i := first - 1; i < builds; i++ {
			out[i] = effect
		}
		return out
	}
	two := step(16, 4, 0.05)
	for i := 11; i < 16; i++ {
		two[i] += 0.06
	}
	for _, tt := range []struct {
		name   string
		levels []float64
		setup  func(w *bench)
		want   []string // in the lines
	}{
		{"worse", step(12, 5, 0.05), nil,
			[]string{`the first worse build is 5 of 12: commit5 "title 5": cost(app) +5.`, "confirmed by 6 blocks against build 4"}},
		{"better", step(12, 12, -0.05), nil, []string{"the first better build is 12 of 12"}},
		{"alike", step(12, 13, 0), nil, []string{"nothing to find: cost(app) "}},
		{"nearly alike", step(12, 6, 0.006), nil,
			[]string{"nothing to find: cost(app) +0.", "it is not certain to be 1 % or more"}},
		{"two changes", two, nil,
			[]string{"the first worse build is 4 of 16", "more than one change, probability 99 %: cost(app) +11.", "bisect again from build 4"}},
		{"builds that fail", step(12, 5, 0.05), func(w *bench) {
			w.broken = map[string]error{
				"commit4": fmt.Errorf("%w: no compiler\nline", ErrMake),
				"commit5": fmt.Errorf("%w: no linker", ErrMake),
			}
		}, []string{"the first worse build is one of 4 to 6, of which only the last can be measured: 6 of 12",
			"against build 3", `skipped 4 of 12: commit4 "title 4": it cannot be made: no compiler`}},
		{"builds without a valid block", step(12, 5, 0.05), func(w *bench) {
			w.invalid = map[string]bool{"commit6": true}
		}, []string{"the first worse build is 5 of 12", "skipped 6 of 12"}},
		{"two builds", step(2, 2, 0.05), nil, []string{"the first worse build is 2 of 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newBench(t, t.TempDir(), tt.levels...)
			if tt.setup != nil {
				tt.setup(w)
			}
			w.carry(t)
			lines := strings.Join(w.Lines(), "\n")
			for _, want := range tt.want {
				if !strings.Contains(lines, want) {
					t.Errorf("no %q in\n%s\n%s", want, lines, w.said.String())
				}
			}
			if !w.Over() {
				t.Errorf("state %s", w.State)
			}
		})
	}
}

// TestCut: a search that is cut in each of its steps goes on with the blocks that were made, and
// comes to the same answer.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	levels := []float64{0, 0, 0, 0.05, 0.05, 0.05, 0.05, 0.05}
	measured := map[string][]float64{}
	for calls := 1; ; calls++ {
		w := newBench(t, dir, levels...)
		w.measured = measured
		if w.Over() {
			if !strings.HasPrefix(w.Lines()[0], "the first worse build is 4 of 8") || calls < 5 {
				t.Errorf("%q after %d calls", w.Lines(), calls)
			}
			return
		}
		began := len(w.Steps)
		w.cut = func(step int) bool { return step > began }
		line := w.carry(t)
		if w.State == record.Interrupted && !strings.Contains(line, "interrupted by a test") {
			t.Errorf("call %d: %s", calls, line)
		}
		if calls > 100 {
			t.Fatal("no end")
		}
	}
}

// TestEnds: an end that cannot be made ends the search as bad usage, before anything is measured.
func TestEnds(t *testing.T) {
	w := newBench(t, t.TempDir(), 0, 0, 0.1)
	w.broken = map[string]error{"commit3": fmt.Errorf("%w: no", ErrMake)}
	var bad plan.UsageError
	if err := w.MakeEnds(t.Context()); !errors.As(err, &bad) || !strings.Contains(err.Error(), "build 3 of 3") {
		t.Errorf("error %v", err)
	}
	w.broken = map[string]error{"commit3": errors.New("the disk is full")}
	if err := w.MakeEnds(t.Context()); err == nil || errors.As(err, &bad) {
		t.Errorf("error %v", err)
	}
}

// TestBudget: when the time is over no step begins, and the same arguments go on.
func TestBudget(t *testing.T) {
	dir := t.TempDir()
	w := newBench(t, dir, 0, 0, 0, 0.1)
	w.Until = w.Now()
	if line := w.carry(t); !strings.Contains(line, "its budget was used up") || !w.OverBudget() || len(w.Steps) > 0 {
		t.Errorf("%s, steps %+v", line, w.Steps)
	}
	w = newBench(t, dir, 0, 0, 0, 0.1)
	if line := w.carry(t); !strings.HasPrefix(line, "the first worse build is 4 of 4") || w.OverBudget() {
		t.Error(line)
	}
}

// TestSuspects: the search starts from a suspect, once the ends are known to differ.
func TestSuspects(t *testing.T) {
	levels := make([]float64, 400)
	for i := 299; i < len(levels); i++ {
		levels[i] = 0.05
	}
	plain := newBench(t, t.TempDir(), levels...)
	plain.carry(t)
	w := newBench(t, t.TempDir(), levels...)
	w.Suspects = func(_ context.Context, comparison string) (*suspects.SuspectSearch, error) {
		if len(w.Steps) != 1 || w.Steps[0].Comparison != comparison {
			t.Errorf("comparison %s, steps %+v", comparison, w.Steps)
		}
		return &suspects.SuspectSearch{Suspects: []suspects.SuspectCommit{
			{Commit: "commit300", Weight: 0.7, Reason: "changes f"}, {Commit: "elsewhere", Weight: 1},
		}}, nil
	}
	if line := w.carry(t); !strings.HasPrefix(line, "the first worse build is 300 of 400") {
		t.Error(line)
	}
	if len(w.Steps) >= len(plain.Steps) || !strings.Contains(w.said.String(), `"title 300" changes f`) {
		t.Errorf("%d steps, and %d without a suspect\n%s", len(w.Steps), len(plain.Steps), w.said.String())
	}
	for _, want := range []string{"## Suspects", "changes f", "| 300 | commit300 | title 300 | 99 % |", "| 1 | ends | 400 | 1 | 6 | +5."} {
		if !strings.Contains(w.Markdown(), want) {
			t.Errorf("no %q in the report", want)
		}
	}
}

// TestLoad: a file that was damaged, or is of another range, is refused with its path.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	w := newBench(t, dir, 0, 0.1)
	w.carry(t)
	r := newBench(t, t.TempDir(), 0, 0.1).Record
	for name, change := range map[string]func(){
		"another range": func() { r.ID = "else" },
		"a build beyond": func() {
			w.Steps[0].Build = 7
			failure.None(t, w.Save())
			r.ID = w.ID
		},
	} {
		change()
		failure.Says(t, r.Load(dir), "move it away to begin again", "bisect.json")
		_ = name
	}
}

func TestBetween(t *testing.T) {
	p, err := plan.Parse([]byte(testPlan))
	failure.None(t, err)
	q := Between(p, "p95(post)", Build{Name: "a", Binary: "/a"}, Build{Name: "b", Binary: "/b"}, 3)
	base, fresh := q.Compare.Arms[0], q.Compare.Arms[1]
	if base.Name != plan.Base || base.Binary != "/a" || fresh.Binary != "/b" ||
		fresh.Args[0] != "-y" || fresh.Version != "b" || q.Compare.Blocks != 3 ||
		len(q.Compare.Looks) > 0 || !q.Insists("p95(post)") {
		t.Errorf("%+v", q.Compare)
	}
	if _, err := plan.Parse([]byte(q.String())); err != nil {
		t.Error(err)
	}
	if p.Insists("p95(post)") || len(p.Compare.Looks) != 3 {
		t.Error("the plan was changed")
	}
	for given, want := range map[string]string{"": "cost(app)", "typical(op)": "typical(op)"} {
		if got, err := EndpointOf(p, given); got != want || err != nil {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	failure.Says(t, failure.Of(EndpointOf(p, "errors")), "-endpoint errors", "cost(app)")
}
