package stats_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"plimsoll/internal/race"
	"plimsoll/stats"
)

// seriesReference is testdata/series.json, written by testdata/series.py with numpy and scipy.
type seriesReference struct {
	Series map[string]struct {
		Values, Batches []float64
		Tau             float64
	}
	Effective []struct {
		Hit               []uint64
		Per               uint64
		Effective, Direct float64
	}
	Quantiles []struct {
		Intervals [][]float64
		P, Q      []float64
	}
}

func TestSeriesAgainstNumpy(t *testing.T) {
	var ref seriesReference
	readJSON(t, "series.json", &ref)
	if len(ref.Series) < 8 || len(ref.Effective) < 3 {
		t.Fatal("testdata/series.json is not complete")
	}
	for name, want := range ref.Series {
		if got := stats.AutocorrelationTime(want.Values); !near(got, want.Tau) {
			t.Errorf("%s: autocorrelation time %v, want %v", name, got, want.Tau)
		}
		if got := stats.BatchMeans(want.Values, stats.TrendBatches); !slices.EqualFunc(
			got,
			want.Batches,
			near,
		) {
			t.Errorf("%s: batch means %v, want %v", name, got, want.Batches)
		}
	}
	for i, want := range ref.Effective {
		total := slices.Repeat([]uint64{want.Per}, len(want.Hit))
		got := stats.EffectiveCount(want.Hit, total)
		if !near(got, want.Effective) {
			t.Errorf("effective count %d: got %v, want %v", i, got, want.Effective)
		}
		// 60 intervals estimate their autocorrelation only roughly
		if r := got / want.Direct; r < 0.45 || r > 1.7 {
			t.Errorf(
				"effective count %d: %v from intervals, %v from the operations themselves",
				i,
				got,
				want.Direct,
			)
		}
	}
}

func TestRunDrift(t *testing.T) {
	values := make([]float64, 207)
	for i := range values {
		values[i] = 4 + 0.05*float64(i)/float64(len(values)) + 0.001*math.Sin(float64(7*i))
	}
	const rise = 0.05
	if d := stats.RunDrift(values, 0.95); math.Abs(d.Slope-rise) > 1e-3 || d.P > 1e-3 ||
		!(d.Lo < rise && rise < d.Hi) {
		t.Errorf("a rise of %v over the run: got %+v", rise, d)
	}
	if d := stats.RunDrift(values[:39], 0.95); d.Known() {
		t.Errorf("39 values: got %+v, want nothing", d)
	}
}

// counts makes SparseCounts of values.
func counts(values ...float64) stats.SparseCounts {
	var c stats.SparseCounts
	slices.Sort(values)
	for _, v := range values {
		if k := len(c.Value); k > 0 && c.Value[k-1] == v {
			c.N[k-1]++
			continue
		}
		c.Value, c.N = append(c.Value, v), append(c.N, 1)
	}
	return c
}

func TestBlockBootstrap(t *testing.T) {
	var ref seriesReference
	readJSON(t, "series.json", &ref)
	for _, want := range ref.Quantiles {
		var intervals []stats.SparseCounts
		for _, v := range want.Intervals {
			intervals = append(intervals, counts(v...))
		}
		got, err := stats.BlockBootstrap(intervals, want.P, 0.95, 1)
		if !errors.Is(err, stats.ErrFewIntervals) {
			t.Errorf("%d intervals: got %v, want that they are few", len(intervals), err)
		}
		if !slices.Equal(got.Quantile, want.Q) {
			t.Errorf("quantiles of merged intervals: got %v, want %v", got.Quantile, want.Q)
		}
		many := slices.Concat(intervals, intervals, intervals, intervals, intervals)
		a, err := stats.BlockBootstrap(many, want.P, 0.95, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := stats.BlockBootstrap(many, want.P, 0.95, 1)
		c, _ := stats.BlockBootstrap(many, want.P, 0.95, 2)
		if !slices.Equal(a.SE, b.SE) || slices.Equal(a.SE, c.SE) {
			t.Error("the seed must decide what is drawn")
		}
		for k, i := range a.Intervals {
			if !(i.Lo <= a.Quantile[k]*(1+1e-9) && a.Quantile[k] <= i.Hi*(1+1e-9)) {
				t.Errorf("quantile %v: %v outside its interval %+v", want.P[k], a.Quantile[k], i)
			}
		}
	}
}

func TestBlockBootstrapRefuses(t *testing.T) {
	good := slices.Repeat([]stats.SparseCounts{counts(1, 2, 3)}, 40)
	for _, tt := range []struct {
		name      string
		intervals []stats.SparseCounts
		prob      float64
		level     float64
	}{
		{"no interval", nil, 0.5, 0.95},
		{"no operation", make([]stats.SparseCounts, 40), 0.5, 0.95},
		{"quantile 1", good, 1, 0.95},
		{"level 1", good, 0.5, 1},
		{"unsorted", append(slices.Clone(good), stats.SparseCounts{
			Value: []float64{2, 1},
			N:     []uint32{1, 1},
		}), 0.5, 0.95},
		{"zero", append(slices.Clone(good), stats.SparseCounts{
			Value: []float64{0},
			N:     []uint32{1},
		}), 0.5, 0.95},
		{"lengths", append(slices.Clone(good), stats.SparseCounts{Value: []float64{1}}), 0.5, 0.95},
	} {
		if _, err := stats.BlockBootstrap(tt.intervals, []float64{tt.prob}, tt.level, 1); err == nil ||
			errors.Is(err, stats.ErrFewIntervals) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	// Long pauses: resamples of empty intervals alone give no quantiles, and no panic.
	sparse := make([]stats.SparseCounts, 60)
	sparse[30] = counts(5)
	got, err := stats.BlockBootstrap(sparse, []float64{0.5}, 0.95, 1)
	if err != nil || got.Quantile[0] != 5 || got.SE[0] != 0 {
		t.Errorf("one operation: got %+v, %v", got, err)
	}
}

// TestBlockBootstrapMemory checks that the number of allocations does not grow with the size of the
// resampled data.
func TestBlockBootstrapMemory(t *testing.T) {
	race.SkipBudget(t)
	intervals := make([]stats.SparseCounts, 180)
	for i := range intervals {
		intervals[i] = counts(1, 2, float64(3+i%7), float64(10+i%40))
	}
	n := testing.AllocsPerRun(3, func() {
		if _, err := stats.BlockBootstrap(intervals, []float64{0.5, 0.9, 0.95, 0.99}, 0.95, 1); err != nil {
			t.Fatal(err)
		}
	})
	if n > 60 {
		t.Errorf("%.0f allocations, want at most 60", n)
	}
}

func TestQuantileSupported(t *testing.T) {
	for _, tt := range []struct {
		p         float64
		n         uint64
		effective float64
		want      bool
	}{
		{0.99, 458, 1e9, false}, {0.99, 459, 5000, true}, {0.99, 5000, 4999, false}, {0.99, 5000, 5000, true},
		{0.5, 100, 100, true}, {0.5, 99, 99, false}, {0.999, 50_000, 50_000, true}, {0.999, 4602, 50_000, false},
		{0, 1e9, 1e9, false}, {1, 1e9, 1e9, false}, {0.99, 1e9, math.NaN(), false},
	} {
		if got := stats.QuantileSupported(tt.p, tt.n, tt.effective); got != tt.want {
			t.Errorf("QuantileSupported(%v, %d, %v) = %v", tt.p, tt.n, tt.effective, got)
		}
	}
	if stats.LeastOps(0.99) != 459 || stats.LeastOps(0.95) != 90 || stats.LeastOps(0.5) != 7 ||
		stats.LeastOps(1) != 0 {
		t.Errorf(
			"LeastOps: %d, %d, %d, %d",
			stats.LeastOps(0.99),
			stats.LeastOps(0.95),
			stats.LeastOps(0.5),
			stats.LeastOps(1),
		)
	}
}

func TestShiftFunction(t *testing.T) {
	run := func(factor float64) []stats.SparseCounts {
		out := make([]stats.SparseCounts, 30)
		for i := range out {
			v := make([]float64, 100)
			for k := range v {
				v[k] = factor * float64(100+(37*k+11*i)%100)
			}
			out[i] = counts(v...)
		}
		return out
	}
	var pairs []stats.RunPair
	for _, f := range []float64{1.19, 1.21, 1.2, 1.22, 1.18, 1.2} {
		pairs = append(pairs, stats.RunPair{Base: run(1), New: run(f)})
	}
	s, err := stats.ShiftFunction(pairs, stats.ShiftProbs(), 0.95, 1)
	if err != nil {
		t.Fatal(err)
	}
	for k, d := range s.D {
		if math.Abs(d-math.Log(1.2)) > 0.01 || !(s.Lo[k] > 0 && s.Lo[k] < d && d < s.Hi[k]) {
			t.Errorf(
				"at %v: %v in [%v, %v], want about %v",
				s.P[k],
				d,
				s.Lo[k],
				s.Hi[k],
				math.Log(1.2),
			)
		}
	}
	swapped := make([]stats.RunPair, len(pairs))
	for i, p := range pairs {
		swapped[i] = stats.RunPair{Base: p.New, New: p.Base}
	}
	r, err := stats.ShiftFunction(swapped, stats.ShiftProbs(), 0.95, 1)
	if err != nil {
		t.Fatal(err)
	}
	for k := range r.D {
		if !near(r.D[k], -s.D[k]) {
			t.Errorf("swapped arms: %v, want %v", r.D[k], -s.D[k])
		}
	}
	few, err := stats.ShiftFunction(pairs[:5], stats.ShiftProbs(), 0.95, 1)
	if err != nil || !math.IsNaN(few.Lo[0]) || !math.IsNaN(few.Hi[0]) || math.IsNaN(few.D[0]) {
		t.Errorf("five pairs have a function and no band: %+v, %v", few, err)
	}
	if _, err := stats.ShiftFunction(nil, stats.ShiftProbs(), 0.95, 1); err == nil {
		t.Error("no pairs: no error")
	}
	if _, err := stats.ShiftFunction([]stats.RunPair{{Base: run(1)}}, []float64{0.5}, 0.95, 1); err == nil {
		t.Error("a run without operations: no error")
	}
}
