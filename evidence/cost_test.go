package evidence

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// costRun is [costRunAt] with samples a part of a second after the windows begin.
func costRun(
	t *testing.T,
	used func(at time.Duration) float64,
	ops func(second int) (ok, failed int),
	drained ...uint64,
) *record.Run {
	t.Helper()
	return costRunAt(t, 300*time.Millisecond, used, ops, drained...)
}

// costRunAt is a run with a measured phase from 3 to 11 s. used is the CPU time of the role app at
// an instant, which is sampled each second, a time after the windows begin; nil for a target whose
// processes are not visible. ops are the operations of a second.
func costRunAt(
	t *testing.T,
	after time.Duration,
	used func(at time.Duration) float64,
	ops func(second int) (ok, failed int),
	drained ...uint64,
) *record.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var tail *record.Tail
	for _, n := range drained {
		tail = new(record.Tail)
		tail.Add("post", record.TailOp{Drained: n, OK: n})
	}
	w, err := record.Create(dir, record.Manifest{
		ID:    "r",
		Epoch: epoch,
		Phases: []record.Phase{
			{
				Name: "ramp",
				To:   3 * time.Second,
			}, {Name: "measure", From: 3 * time.Second, To: 11 * time.Second, Tail: tail}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for s := range 15 {
		post := measure.NewWindow("post")
		good, bad := ops(s)
		for range good {
			post.Response.Record(time.Millisecond)
		}
		post.Classes[measure.OK], post.Classes[measure.Status5xx] = uint64(good), uint64(bad)
		if err := w.Windows(s, []*measure.Window{post}); err != nil {
			t.Fatal(err)
		}
	}
	db, err := series.Create(filepath.Join(dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	for s := range 15 {
		at := time.Duration(s)*time.Second + after
		samples := []series.Sample{{
			Name:   "plimsoll_process_cpu_seconds_total",
			Labels: labels("role", "generator"),
			Value:  float64(s),
		}}
		if used != nil {
			for mode, share := range map[string]float64{"user": 0.75, "system": 0.25} {
				samples = append(samples, series.Sample{
					Name:   "plimsoll_process_cpu_seconds_total",
					Value:  share * used(at),
					Labels: labels("role", "app", "mode", mode),
				})
			}
		}
		if err := db.Append(epoch.Add(at), samples); err != nil {
			t.Fatal(err)
		}
	}
	return sealed(t, w, db, dir)
}

// sealed ends a run whose series are written, and opens it.
func sealed(t *testing.T, w *record.Writer, db *series.DB, dir string) *record.Run {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// costs reads the costs of a run by name.
func costs(t *testing.T, r *record.Run) map[string]float64 {
	t.Helper()
	got, err := new(Catalog).Costs(t.Context())(r)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range got {
		out[f.Name] = f.Value
	}
	return out
}

// TestCost counts CPU time and operations of the same stretch, the measured phase, and of it the
// operations that succeeded.
func TestCost(t *testing.T) {
	sum := func(at time.Duration) (n float64) { // operations until then: 100, 110, ... a second
		for s := range 15 {
			n += float64(100+10*s) * min(max(at.Seconds()-float64(s), 0), 1)
		}
		return n
	}
	steady := func(at time.Duration) float64 { return 0.2 * at.Seconds() }
	for _, tt := range []struct {
		name    string
		used    func(at time.Duration) float64
		ops     func(second int) (ok, failed int)
		drained []uint64
		want    float64
	}{
		{"a ramp and an audit that cost ten times as much", func(at time.Duration) float64 {
			s := at.Seconds()
			return 2*min(s, 3) + 0.2*(min(max(s, 3), 11)-3) + 2*max(s-11, 0)
		}, func(int) (int, int) { return 100, 0 }, nil, 2},
		{"half of the operations fail at no cost", steady,
			func(int) (int, int) { return 100, 100 }, nil, 2},
		{"a load that rises", func(at time.Duration) float64 { return 0.003 * sum(at) },
			func(s int) (int, int) { return 100 + 10*s, 0 }, nil, 3},
		// They are counted in its last second.
		{"40 operations under way at the end of the phase", steady, func(s int) (int, int) {
			if s == 10 {
				return 140, 0
			}
			return 100, 0
		}, []uint64{40}, 2},
	} {
		got := costs(t, costRun(t, tt.used, tt.ops, tt.drained...))
		if v := got["cost(app)"]; math.Abs(v-tt.want) > 0.0001 || len(got) != 1 {
			t.Errorf("%s: costs %v, want cost(app) of %v ms alone", tt.name, got, tt.want)
		}
	}
}

// TestCostIsOfTheSameSeconds samples at whole seconds, some milliseconds early or late as the arms
// of a duet are. The first second of the phase has four times the operations of the others; it is
// in the cost in either case.
func TestCostIsOfTheSameSeconds(t *testing.T) {
	used := func(at time.Duration) float64 { return 0.11 * max(0, at.Seconds()) }
	ops := func(second int) (int, int) {
		if second == 3 {
			return 400, 0
		}
		return 100, 0
	}
	for _, after := range []time.Duration{-40 * time.Millisecond, -time.Millisecond, 0, 7 * time.Millisecond, 40 * time.Millisecond} {
		if v := costs(t, costRunAt(t, after, used, ops))["cost(app)"]; math.Abs(v-0.77) > 0.012 {
			t.Errorf(
				"samples %v after whole seconds: cost(app) %.3f ms, want 0.77 ms within 1.5 %%",
				after,
				v,
			)
		}
	}
}

// TestCostIsWithoutTheEndOfTheUsers has the target use 300 ms when the users leave, which is in the
// sample on the end of the phase: in a duet that may be taken a turn later.
func TestCostIsWithoutTheEndOfTheUsers(t *testing.T) {
	used := func(at time.Duration) float64 {
		if at < 11*time.Second-edge {
			return 0.2 * at.Seconds()
		}
		return 0.2*at.Seconds() + 0.3
	}
	for _, after := range []time.Duration{-5 * time.Millisecond, 0, 5 * time.Millisecond} {
		r := costRunAt(t, after, used, func(int) (int, int) { return 100, 0 })
		if v := costs(t, r)["cost(app)"]; math.Abs(v-2) > 0.001 {
			t.Errorf("samples %v after whole seconds: cost(app) %.3f ms, want 2 ms", after, v)
		}
	}
}

// TestCostIsLeftOutWhereItIsNotKnown takes a target that is not visible, one whose counter falls
// (it was started again), and one without an operation that succeeds.
func TestCostIsLeftOutWhereItIsNotKnown(t *testing.T) {
	steady := func(int) (int, int) { return 100, 0 }
	for name, r := range map[string]*record.Run{
		"not visible": costRun(t, nil, steady),
		"started again": costRun(t, func(at time.Duration) float64 {
			return 5 - 0.1*at.Seconds()
		}, steady),
		"nothing succeeded": costRun(t, func(at time.Duration) float64 {
			return at.Seconds()
		}, func(int) (int, int) {
			return 0, 100
		}),
	} {
		if got := costs(t, r); len(got) != 0 {
			t.Errorf("%s: costs %v, want none", name, got)
		}
	}
}
