package series

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }

// sampleOf makes a sample with labels, each a name and a value.
func sampleOf(name string, v float64, labels ...string) Sample {
	s := Sample{Name: name, Value: v}
	for i := 0; i < len(labels); i += 2 {
		s.Labels = append(s.Labels, Label{labels[i], labels[i+1]})
	}
	return s
}

// create makes a DB in a new directory and closes it at the end of the test.
func create(t testing.TB) *DB {
	t.Helper()
	db, err := Create(filepath.Join(t.TempDir(), "series"))
	failure.None(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func open(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(dir)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, db.Close()) })
	return db
}

// one evaluates expr and requires exactly one number.
func one(t testing.TB, db *DB, expr string, at time.Time) float64 {
	t.Helper()
	res, err := db.Query(t.Context(), expr, at)
	failure.None(t, err)
	if len(res) != 1 {
		t.Fatalf("%s: %d results %v, want 1", expr, len(res), res)
	}
	return res[0].Value
}

// fill writes 120 s of a counter that grows by 7 a second, of a gauge, and of a histogram whose
// observations lie evenly between 0 and 1 s.
func fill(t testing.TB, db *DB) {
	t.Helper()
	for s := range 121 {
		err := db.Append(at(s), []Sample{
			sampleOf("ops_total", float64(7*s), "op", "post", "empty", ""),
			{Name: "temperature", Value: float64(s % 10)},
		})
		failure.None(t, err)
		text := fmt.Sprintf(`# HELP api_time Time of a call.
# TYPE api_time histogram
api_time_bucket{handler="createPost",le="0.25"} %d
api_time_bucket{handler="createPost",le="0.5"} %d
api_time_bucket{handler="createPost",le="1"} %d
api_time_bucket{handler="createPost",le="+Inf"} %d
api_time_sum{handler="createPost"} %d
api_time_count{handler="createPost"} %d
`, 25*s, 50*s, 100*s, 100*s, 50*s, 100*s)
		n, err := db.AppendText(
			at(s),
			[]byte(text),
			"text/plain; version=0.0.4",
			map[string]string{"instance": "app-0:8067"},
		)
		failure.None(t, err)
		if n != 6 {
			t.Fatalf("AppendText stored %d samples, want 6", n)
		}
	}
}

// judge runs queries whose results are known from fill.
func judge(t *testing.T, db *DB) {
	t.Helper()
	for _, c := range []struct {
		expr string
		want float64
	}{
		{`rate(ops_total{op="post"}[1m])`, 7},
		{`sum(rate(api_time_count{instance=~"app.*"}[1m]))`, 100},
		{`histogram_quantile(0.99, sum(rate(api_time_bucket[1m])) by (le))`, 0.99},
		{`sum(rate(api_time_sum[1m])) / sum(rate(api_time_count[1m]))`, 0.5},
		{`max_over_time(temperature[30s])`, 9},
		{`1 + 1`, 2},
	} {
		if got := one(t, db, c.expr, at(120)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", c.expr, got, c.want)
		}
	}
	lines, err := db.Range(t.Context(), `temperature`, at(100), at(109), 3*time.Second)
	failure.None(t, err)
	want := []RangeSeries{{
		Labels: map[string]string{"__name__": "temperature"},
		T:      []time.Time{at(100), at(103), at(106), at(109)},
		V:      []float64{0, 3, 6, 9},
	}}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("range (-want +got):\n%s", d)
	}
	first, last, ok := db.Bounds()
	if !ok || !first.Equal(at(0)) || !last.Equal(at(120)) {
		t.Errorf("Bounds = %v, %v, %v", first, last, ok)
	}
}

// sealed closes db, and returns its one block as a reader has it.
func sealed(t *testing.T, db *DB) *DB {
	t.Helper()
	failure.None(t, db.Close())
	names, err := os.ReadDir(db.Dir())
	failure.None(t, err)
	if len(names) != 1 || !isULID(names[0].Name()) {
		t.Errorf("a sealed directory holds %v, want one block", names)
	}
	r := open(t, db.Dir())
	if !r.Sealed() || r.Damage() != nil {
		t.Errorf("Sealed = %v, Damage = %v", r.Sealed(), r.Damage())
	}
	return r
}

func TestWriteSealReopen(t *testing.T) {
	db := create(t)
	fill(t, db)
	judge(t, db) // while it is written
	if db.Sealed() {
		t.Error("a DB that is being written calls itself sealed")
	}
	failure.None(t, db.Close())
	r := sealed(t, db)
	judge(t, r)
	failure.Is(t, r.Append(at(200), []Sample{{Name: "x"}}), ErrReadOnly)
}

func TestOneBlockForLongRun(t *testing.T) {
	db := create(t)
	for h := range 30 { // tsdb would cut a block every two hours
		failure.None(t, db.Append(t0.Add(time.Duration(h)*time.Hour), []Sample{{
			Name:  "x",
			Value: float64(h),
		}}))
	}
	// Time moves forward per series, however far another series is ahead.
	failure.None(t, db.Append(t0, []Sample{{Name: "y", Value: 1}}))
	failure.None(t, db.Close())
	names, _ := os.ReadDir(db.Dir())
	if len(names) != 1 {
		t.Errorf("a run of 30 h holds %v, want one block", names)
	}
	if got := one(t, open(t, db.Dir()), `count_over_time(x[40h])`, t0.Add(30*time.Hour)); got != 30 {
		t.Errorf("%v samples, want 30", got)
	}
}

func TestEmptyRun(t *testing.T) {
	db := create(t)
	failure.None(t, db.Close())
	r := open(t, db.Dir())
	if res, err := r.Query(t.Context(), "x", at(0)); err != nil || len(res) != 0 {
		t.Errorf("query of an empty run: %v, %v", res, err)
	}
	if _, _, ok := r.Bounds(); ok {
		t.Error("an empty run has bounds")
	}
}

// snapshot copies a directory as it lies on disk, in the state that a killed writer leaves.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "killed")
	failure.None(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func listing(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	m := map[string]int64{}
	err := filepath.Walk(dir, func(p string, i os.FileInfo, err error) error {
		if err == nil && i.Mode().IsRegular() {
			m[p] = i.Size()
		}
		return err
	})
	failure.None(t, err)
	return m
}

func TestTornLog(t *testing.T) {
	db := create(t)
	fill(t, db)
	dir := snapshot(t, db.Dir())
	seg := filepath.Join(dir, walDir, "00000000")
	info, err := os.Stat(seg)
	failure.None(t, err)
	failure.None(t, os.Truncate(seg, info.Size()-info.Size()/3-1))
	before := listing(t, dir)
	r := open(t, dir)
	if r.Damage() == nil {
		t.Error("a torn log shows no damage")
	}
	if got := one(t, r, `count_over_time(temperature[10m])`, at(120)); got < 40 || got > 115 {
		t.Errorf("%v samples of the first two thirds are left", got)
	}
	if d := cmp.Diff(before, listing(t, dir)); d != "" {
		t.Errorf("Open changed the directory:\n%s", d)
	}
}

func TestCloseThatFailsKeepsLog(t *testing.T) {
	db := create(t)
	fill(t, db)
	// Something in the way of the block stands for a full disk: the tests run as root, so taking
	// away permissions would not stop the writer. Moving the directory does.
	moved := db.Dir() + "-moved"
	failure.None(t, os.Rename(db.Dir(), moved))
	failure.None(t, os.WriteFile(db.Dir(), nil, 0o666))
	err := db.Close()
	failure.Says(t, err, "the log is kept")
	judge(t, open(t, moved))
}

// A log of garbage opens, holds nothing, and is reported as damaged.
func TestGarbageLog(t *testing.T) {
	db := create(t)
	fill(t, db)
	dir := snapshot(t, db.Dir())
	failure.None(t, os.WriteFile(
		filepath.Join(dir, walDir, "00000000"),
		[]byte(strings.Repeat("garbage ", 5000)),
		0o666,
	))
	r := open(t, dir)
	if r.Damage() == nil || strings.Contains(r.Damage().Error(), "\n") {
		t.Errorf("Damage = %v", r.Damage())
	}
	if _, _, ok := r.Bounds(); ok {
		t.Error("garbage has bounds")
	}
}

func TestDamagedDirectories(t *testing.T) {
	sealed := create(t)
	fill(t, sealed)
	failure.None(t, sealed.Close())
	block := func(dir string) string {
		names, _ := os.ReadDir(dir)
		return filepath.Join(dir, names[0].Name())
	}
	for name, spoil := range map[string]func(dir string) error{
		"no index": func(d string) error {
			return os.Remove(filepath.Join(block(d), "index"))
		},
		"short index": func(d string) error {
			return os.Truncate(filepath.Join(block(d), "index"), 100)
		},
		"empty index": func(d string) error {
			return os.Truncate(filepath.Join(block(d), "index"), 0)
		},
		"no meta": func(d string) error {
			return os.Remove(filepath.Join(block(d), "meta.json"))
		},
		"meta is garbage": func(d string) error {
			return os.WriteFile(filepath.Join(block(d), "meta.json"), []byte("{"), 0o666)
		},
		"no chunks": func(d string) error {
			return os.RemoveAll(filepath.Join(block(d), "chunks"))
		},
		"short chunks": func(d string) error {
			return os.Truncate(filepath.Join(block(d), "chunks", "000001"), 5)
		},
		"no block":     func(d string) error { return os.RemoveAll(block(d)) },
		"no directory": os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			dir := snapshot(t, sealed.Dir())
			failure.None(t, spoil(dir))
			db, err := Open(dir)
			if err == nil {
				db.Close()
				t.Fatal("a damaged directory opens")
			}
			if !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q does not name the directory in one line", err)
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	failure.None(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o666))
	failure.Says(t, failure.Of(Create(dir)), "not empty")
	if _, err := Create(filepath.Join(dir, "x", "y")); err == nil {
		t.Error("Create below a file succeeds")
	}
}

func TestAbsenceIsSeenSoon(t *testing.T) {
	db := create(t)
	failure.None(t, db.Append(at(0), []Sample{{Name: "x", Value: 1}}))
	for after, want := range map[time.Duration]int{
		0:                      1,
		Lookback - time.Second: 1,
		Lookback + time.Second: 0,
	} {
		res, err := db.Query(t.Context(), "x", at(0).Add(after))
		failure.None(t, err)
		if len(res) != want {
			t.Errorf("%v after the last sample: %d results, want %d", after, len(res), want)
		}
	}
}

func TestBadQueries(t *testing.T) {
	db := create(t)
	fill(t, db)
	for _, expr := range []string{"rate(", "x[1m]", `"text"`, "", "sum(rate(ops_total))"} {
		if _, err := db.Query(t.Context(), expr, at(10)); err == nil ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("query %q: ", expr)) {
			t.Errorf("Query(%q): %v", expr, err)
		}
	}
	for name, q := range map[string]func() error{
		"no step": func() error {
			_, err := db.Range(t.Context(), "x", at(0), at(1), 0)
			return err
		},
		"backwards": func() error {
			_, err := db.Range(t.Context(), "x", at(1), at(0), time.Second)
			return err
		},
		"too many steps": func() error {
			_, err := db.Range(t.Context(), "x", at(0), at(MaxPoints), time.Second)
			return err
		},
		"canceled": func() error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := db.Query(ctx, "ops_total", at(1))
			return err
		},
		"closed": func() error {
			db := create(t)
			db.Close()
			_, err := db.Query(t.Context(), "x", at(1))
			return err
		},
	} {
		if err := q(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := db.Range(t.Context(), "x", at(0), at(MaxPoints-1), time.Second); err != nil {
		t.Errorf("exactly %d points: %v", MaxPoints, err)
	}
}

func TestResultsAreOrdered(t *testing.T) {
	db := create(t)
	var batch []Sample
	for i := range 50 {
		batch = append(batch, Sample{
			Name:   "x",
			Labels: []Label{{"i", fmt.Sprintf("%02d", (i*37)%50)}},
			Value:  1,
		})
	}
	failure.None(t, db.Append(at(0), batch))
	res, err := db.Query(t.Context(), "x", at(1))
	failure.None(t, err)
	for i, r := range res {
		if want := fmt.Sprintf("%02d", i); r.Labels["i"] != want {
			t.Fatalf("result %d is %v, want i=%s", i, r.Labels, want)
		}
	}
	lines, err := db.Range(t.Context(), "x", at(0), at(1), time.Second)
	failure.None(t, err)
	for i, l := range lines {
		if want := fmt.Sprintf("%02d", i); l.Labels["i"] != want {
			t.Fatalf("line %d is %v, want i=%s", i, l.Labels, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	db := create(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for s := range 50 {
				if err := db.Append(at(s), []Sample{sampleOf("x", 1, "g", fmt.Sprint(g))}); err != nil {
					t.Error(err)
				}
				if _, err := db.Query(t.Context(), "sum(x)", at(s)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := one(t, db, `sum(count_over_time(x[5m]))`, at(60)); got != 200 {
		t.Errorf("%v samples, want 200", got)
	}
	failure.None(t, db.Close())
	failure.Is(t, db.Append(at(99), nil), ErrClosed)
}

// state is everything a DB answers, to see that nothing changed.
func state(t testing.TB, db *DB) map[string]float64 {
	t.Helper()
	res, err := db.Query(context.Background(), `count_over_time({__name__=~".+"}[1h])`, at(600))
	failure.None(t, err)
	m := map[string]float64{}
	for _, r := range res {
		m[fmt.Sprint(slicesOf(r.Labels))] = r.Value
	}
	return m
}

func slicesOf(m map[string]string) []string {
	var s []string
	for k := range maps.Keys(m) {
		s = append(s, k+"="+m[k])
	}
	slices.Sort(s)
	return s
}
