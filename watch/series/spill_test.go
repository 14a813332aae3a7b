package series

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"plimsoll/internal/failure"
	"plimsoll/internal/race"
)

// cutting makes a DB that begins a new span after every interval of sample time.
func cutting(t testing.TB, every time.Duration) *DB {
	t.Helper()
	db := create(t)
	db.write.every = every
	return db
}

// put appends a batch and waits for the cut that it may have begun.
func put(t testing.TB, db *DB, second int, batch ...Sample) {
	t.Helper()
	failure.None(t, db.Append(at(second), batch))
	db.write.cuts.Wait()
}

type stored struct {
	T int64 // ms after t0
	V float64
}

// everything returns all samples of a DB by series, as its querier yields them.
func everything(t testing.TB, db *DB) map[string][]stored {
	t.Helper()
	q, err := db.Querier(math.MinInt64, math.MaxInt64)
	failure.None(t, err)
	defer q.Close()
	all := map[string][]stored{}
	set := q.Select(
		t.Context(),
		true,
		nil,
		labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"),
	)
	for set.Next() {
		key := set.At().Labels().String()
		if all[key] != nil {
			t.Errorf("series %s comes twice", key)
		}
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			ms, v := it.At()
			all[key] = append(all[key], stored{ms - t0.UnixMilli(), v})
		}
		failure.None(t, it.Err())
	}
	failure.None(t, set.Err())
	return all
}

// same requires that two DBs hold the same samples and answer alike.
func same(t *testing.T, what string, want, got *DB) {
	t.Helper()
	if d := cmp.Diff(everything(t, want), everything(t, got)); d != "" {
		t.Errorf("%s: samples (-want +got):\n%s", what, d)
	}
	for name, ask := range map[string]func(*DB) ([]RangeSeries, error){
		"rate": func(db *DB) ([]RangeSeries, error) {
			return db.Range(t.Context(), `rate(ops_total[1m])`, at(0), at(400), 7*time.Second)
		},
		"lookback": func(db *DB) ([]RangeSeries, error) {
			return db.Range(t.Context(), `{__name__=~"slow|pausing"}`, at(0), at(400), time.Second)
		},
		"SumRate": func(db *DB) ([]RangeSeries, error) {
			return db.SumRate(t.Context(), "ops_total", "op", time.Minute, at(0), at(400), 5*time.Second)
		},
	} {
		a, err := ask(want)
		b, err2 := ask(got)
		if err != nil || err2 != nil || len(a) == 0 {
			t.Fatalf("%s: %s: %d lines, %v, %v", what, name, len(a), err, err2)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, name, d)
		}
	}
	first, last, _ := want.Bounds()
	if f, l, ok := got.Bounds(); !ok || !f.Equal(first) || !l.Equal(last) {
		t.Errorf("%s: Bounds are %v and %v, want %v and %v", what, f, l, first, last)
	}
}

// play appends seconds of a run: series of several rhythms, one that pauses, some that come and go,
// and a page.
func play(t *testing.T, db *DB, from, to int) {
	t.Helper()
	for s := from; s < to; s++ {
		batch := []Sample{
			sampleOf("ops_total", float64(7*s), "op", "post"),
			sampleOf("ops_total", float64(31*s), "op", "read"),
			{
				Name:   "born",
				Labels: []Label{{"n", fmt.Sprint(s / 30)}},
				Value:  math.Sqrt(float64(s)),
			},
		}
		if s%7 == 0 {
			batch = append(batch, Sample{Name: "slow", Value: float64(s % 10)})
		}
		if s < 20 || s >= 200 {
			batch = append(batch, Sample{Name: "pausing", Value: float64(s)})
		}
		put(t, db, s, batch...)
		if s%2 == 0 {
			failure.None(t, failure.Of(db.AppendText(
				at(s),
				fmt.Appendf(nil, "page_total{a=\"b\"} %d\nup 1\n", s),
				"",
				map[string]string{"instance": "app-0"},
			)))
			db.write.cuts.Wait()
		}
	}
}

// TestCutsChangeNothing plays one run with and without cuts, and with a source that is read
// afterwards, as the telemetry of a service: its samples are older than all cuts.
func TestCutsChangeNothing(t *testing.T) {
	whole, cut := create(t), cutting(t, 40*time.Second)
	for _, db := range []*DB{whole, cut} {
		play(t, db, 0, 300)
		for s := 0; s < 300; s += 5 {
			put(t, db, s, Sample{Name: "late", Value: float64(s)})
		}
		play(t, db, 300, 330)
	}
	if len(whole.blocks) > 0 || len(cut.blocks) < 8 || len(cut.spans) != 1 {
		t.Fatalf(
			"%d blocks without cuts; with cuts %d blocks and %d spans in memory",
			len(whole.blocks),
			len(cut.blocks),
			len(cut.spans),
		)
	}
	same(t, "while it is written", whole, cut)
	killed := open(t, snapshot(t, cut.Dir()))
	if killed.Sealed() || killed.Damage() != nil {
		t.Errorf("of a killed writer: Sealed = %v, Damage = %v", killed.Sealed(), killed.Damage())
	}
	same(t, "of a killed writer", whole, killed)
	if cut.Sealed() {
		t.Error("a DB that is being written calls itself sealed")
	}
	same(t, "of the sealed run", whole, sealed(t, cut))
}

// TestSeriesThatReturns: time moves forward for each series alone, also for one that no head knows
// any more.
func TestSeriesThatReturns(t *testing.T) {
	db := cutting(t, 25*time.Second)
	y := func(v float64) Sample { return Sample{Name: "y", Value: v} }
	for s := range 100 {
		batch := []Sample{{Name: "x", Value: float64(s)}}
		if s == 3 {
			batch = append(batch, y(3))
		}
		put(t, db, s, batch...)
	}
	if len(db.blocks) != 3 {
		t.Fatalf("%d cuts", len(db.blocks))
	}
	for _, s := range []int{2, 3} { // in a batch that has a new sample too
		rejected, ok := errors.AsType[*RejectedError](db.Append(at(s), []Sample{{
			Name:  "z",
			Value: 1,
		}, y(9)}))
		if !ok || rejected.OutOfOrder != 1 || rejected.Of != 2 {
			t.Errorf("y at %d again: %v", s, rejected)
		}
	}
	put(t, db, 4, y(4)) // older than the cuts, but later than its last
	put(t, db, 100, y(100), Sample{Name: "x", Value: 100})
	if rejected, ok := errors.AsType[*RejectedError](db.Append(at(50), []Sample{y(50)})); !ok {
		t.Errorf("y at 50 after 100: %v", rejected)
	}
	got := everything(t, db)
	if d := cmp.Diff([]stored{{3000, 3}, {4000, 4}, {100_000, 100}}, got[`{__name__="y"}`]); d != "" {
		t.Errorf("y (-want +got):\n%s", d)
	}
	if n := len(got[`{__name__="x"}`]); n != 101 || len(got) != 2 {
		t.Errorf("%d samples of x, %d series", n, len(got))
	}
}

// appendDuringCuts appends n seconds of four series whose value is the second, also while a cut is
// under way. appended is how many seconds are stored.
func appendDuringCuts(t *testing.T, db *DB, n int, appended *atomic.Int64) {
	t.Helper()
	every := int(db.write.every / time.Second)
	for s := range n {
		var batch []Sample
		for i := range 4 {
			batch = append(batch, sampleOf("x", float64(s), "i", fmt.Sprint(i)))
		}
		if err := db.Append(at(s), batch); err != nil {
			t.Error(err)
			return
		}
		appended.Store(int64(s + 1))
		if (s+1)%every == 0 {
			db.write.cuts.Wait()
		}
	}
}

// TestQueriesDuringCuts: each query sees all that was appended before it, without a gap.
func TestQueriesDuringCuts(t *testing.T) {
	const n = 200
	db := cutting(t, 50*time.Second)
	var appended atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := 0; i < 10 || !over.Load(); i++ {
				least := appended.Load()
				gaps, err := db.Query(
					t.Context(),
					`max_over_time(x[1h]) - count_over_time(x[1h])`,
					at(n),
				)
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range gaps {
					if r.Value != -1 {
						t.Errorf(
							"%v: the last sample is of second %v + their number",
							r.Labels,
							r.Value,
						)
					}
				}
				counts, err := db.Query(t.Context(), `count_over_time(x[1h])`, at(n))
				if err != nil || least > 0 && (len(gaps) != 4 || len(counts) != 4) {
					t.Errorf("%d and %d series, %v", len(gaps), len(counts), err)
					return
				}
				for _, r := range counts {
					if int64(r.Value) < least {
						t.Errorf(
							"%v: %v samples, %d were appended before",
							r.Labels,
							r.Value,
							least,
						)
					}
				}
			}
		})
	}
	appendDuringCuts(t, db, n, &appended)
	over.Store(true)
	wg.Wait()
	if len(db.blocks) < n/50-2 {
		t.Errorf("%d cuts", len(db.blocks))
	}
}

// TestCutThatCannotBegin: with a file in the way of the blocks the run goes on in memory, as
// without cuts.
func TestCutThatCannotBegin(t *testing.T) {
	whole, db := create(t), cutting(t, 10*time.Second)
	failure.None(t, os.WriteFile(filepath.Join(db.Dir(), spillDir), nil, 0o600))
	var stuck []error
	db.OnStuck(func(err error) { stuck = append(stuck, err) })
	play(t, whole, 0, 100)
	play(t, db, 0, 100)
	if db.write.failed != cutTries || db.write.failure == nil || len(db.spans) != 1 {
		t.Errorf("%d attempts, %v, %d spans", db.write.failed, db.write.failure, len(db.spans))
	}
	if len(stuck) != 1 || !errors.Is(stuck[0], db.write.failure) ||
		!strings.Contains(stuck[0].Error(), "3 attempts") {
		t.Errorf("OnStuck: %v, want the reason once", stuck)
	}
	same(t, "while it is written", whole, db)
	same(t, "of a killed writer", whole, open(t, snapshot(t, db.Dir())))
	failure.None(t, db.Close())
	same(t, "of the sealed run", whole, open(t, db.Dir()))
}

// block puts a directory in which nothing can be made in place of that of a span's block, and
// returns what ends that.
func block(t *testing.T, db *DB, n int) (unblock func()) {
	t.Helper()
	failure.None(t, os.MkdirAll(filepath.Join(db.Dir(), spillDir), 0o700))
	failure.None(t, os.Symlink("/proc/self", db.blockDir(n)))
	return func() {
		if err := os.Remove(db.blockDir(n)); err != nil {
			t.Error(err)
		}
	}
}

// TestCutThatCannotEnd: a block that cannot be written, as on a full disk, is tried again; its span
// stays in memory.
func TestCutThatCannotEnd(t *testing.T) {
	whole, db := create(t), cutting(t, 10*time.Second)
	play(t, whole, 0, 60)
	unblock := block(t, db, 1)
	play(t, db, 0, 40) // a cut at 10, and two attempts for the second span
	if db.write.failed != 2 || len(db.spans) != 2 || len(db.blocks) != 1 {
		t.Fatalf(
			"%d attempts, %d spans, %d blocks; %v",
			db.write.failed,
			len(db.spans),
			len(db.blocks),
			db.write.failure,
		)
	}
	unblock()
	killed := snapshot(t, db.Dir())
	block(t, db, 1)
	play(t, db, 40, 60) // the third, which is the last
	same(t, "while it is written", whole, db)
	err := db.Close()
	failure.Says(t, err, "the log is kept")
	r := open(t, db.Dir())
	if r.Sealed() || r.Damage() != nil {
		t.Errorf("Sealed = %v, Damage = %v", r.Sealed(), r.Damage())
	}
	same(t, "that could not be sealed", whole, r)

	if all := everything(t, open(t, killed)); len(all[`{__name__="ops_total", op="post"}`]) != 40 {
		t.Errorf("of a killed writer: %v", all)
	}

	again := cutting(t, 10*time.Second)
	again.OnStuck(func(err error) { t.Errorf("two attempts failed, and the DB gave up: %v", err) })
	unblock = block(t, again, 1)
	play(t, again, 0, 40)
	unblock()
	play(t, again, 40, 60)
	if again.write.failed != 0 || again.write.failure != nil || len(again.spans) != 1 ||
		len(again.blocks) != 3 {
		t.Errorf(
			"%d attempts, %v, %d spans, %d blocks",
			again.write.failed,
			again.write.failure,
			len(again.spans),
			len(again.blocks),
		)
	}
	same(t, "after the mending", whole, again)
	failure.None(t, again.Close())
	same(t, "sealed after the mending", whole, open(t, again.Dir()))
}

// TestMemoryStaysFlat appends 75 minutes of 500 series that change at random, about nine bytes a
// sample.
func TestMemoryStaysFlat(t *testing.T) {
	race.SkipBudget(t)
	const most = 8 << 20
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // the first one empties pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	grown := func(every time.Duration) int64 {
		before := heap()
		db := cutting(t, every)
		random := rand.New(rand.NewPCG(1, 2))
		batch := make([]Sample, 500)
		for i := range batch {
			batch[i] = sampleOf("x", 0, "i", fmt.Sprint(i))
		}
		for s := range 4500 {
			for i := range batch {
				batch[i].Value = random.Float64()
			}
			failure.None(t, db.Append(at(s), batch))
			db.write.cuts.Wait() // a run's seconds take longer than a cut
		}
		after := heap()
		failure.None(t, db.Close())
		return after - before
	}
	if whole := grown(24 * time.Hour); whole < 2*most {
		t.Errorf("without cuts %d bytes of memory are held: the bound shows nothing", whole)
	}
	if cut := grown(cutEvery); cut > most {
		t.Errorf("%d bytes of memory are held, want at most %d", cut, most)
	} else {
		t.Logf("%d bytes of memory are held", cut)
	}
}
