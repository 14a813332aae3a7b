package measure

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestQuantileError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []float64
	for range 200_000 {
		v := time.Duration(math.Exp(rng.NormFloat64()*2+14)) + 1
		h.Record(v)
		all = append(all, float64(v))
	}
	slices.Sort(all)
	for _, q := range []float64{0, .01, .1, .5, .9, .95, .99, .999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all))))-1, 0)]
		got := float64(h.Quantile(q))
		if e := math.Abs(got/want - 1); e > 0.0041 {
			t.Errorf("q %v: got %v, want %v: off by %.2f %%", q, got, want, e*100)
		}
	}
	var sum float64
	for _, v := range all {
		sum += v
	}
	if got, want := float64(h.Mean()), sum/float64(len(all)); math.Abs(got-want) > 1 {
		t.Errorf("mean %v, want %v", got, want)
	}
}

func TestBucketsCoverTheRange(t *testing.T) {
	prev := -1
	for v := int64(0); v <= int64(MaxValue); v += 1 + v/500 {
		i := bucketOf(v)
		if i < prev || i >= buckets {
			t.Fatalf("bucket of %d is %d after %d", v, i, prev)
		}
		prev = i
		if m := bucketMid(i); math.Abs(m-float64(v)) > float64(v)/subs+1e-9 {
			t.Fatalf("value %d in bucket %d with middle %v", v, i, m)
		}
	}
	if got := bucketOf(int64(MaxValue)); got != buckets-1 {
		t.Fatalf("last bucket %d, want %d", got, buckets-1)
	}
}

func TestOutOfRangeIsCounted(t *testing.T) {
	var h Histogram
	h.Record(-time.Second)
	h.Record(time.Hour)
	h.Record(time.Millisecond)
	if h.under != 1 || h.Over() != 1 || h.Count() != 3 {
		t.Fatalf("under %d over %d count %d", h.under, h.Over(), h.Count())
	}
}

func FuzzDecodeHistogram(f *testing.F) {
	var h Histogram
	f.Add([]byte{0})
	for i := range 100 {
		h.Record(time.Duration(i*i) * time.Microsecond)
	}
	b := h.AppendBinary(nil)
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		var h, again Histogram
		rest, err := h.Decode(in)
		if err != nil {
			if !errors.Is(err, ErrHistogram) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		out := h.AppendBinary(nil)
		if _, err := again.Decode(append(out, rest...)); err != nil || again.Count() != h.Count() ||
			again.Sum() != h.Sum() {
			t.Fatalf("accepted %x, wrote %x, read back %v", in, out, err)
		}
	})
}

func TestRecordAllocatesNothing(t *testing.T) {
	r := NewRegistry(2)
	rec := r.Recorder(0)
	n := rec.Name("post")
	op := Op{Due: 1, Sent: 2, Done: time.Millisecond, Scheduled: true}
	rec.Record(n, &op)
	if a := testing.AllocsPerRun(1000, func() { rec.Record(n, &op) }); a != 0 {
		t.Fatalf("%v allocations per op", a)
	}
	b := rec.Batch()
	if a := testing.AllocsPerRun(1000, func() {
		c := rec.Batch()
		c.Record(n, &op)
		c.Close()
	}); a != 0 {
		t.Errorf("a batch that is used again makes %.2f allocations, budget 0", a)
	}
	if a := testing.AllocsPerRun(1000, func() { b.Record(n, &op); b.Lag(n, 1) }); a != 0 {
		t.Fatalf("%v allocations per op of a batch", a)
	}
}

// For each path of an op, through a batch or not and with a wait or not, the window equals plain
// histograms.
func TestWindowIsWhatPlainHistogramsSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	r := NewRegistry(2)
	rec, batch := r.Recorder(0), r.Recorder(1).Batch()
	n := r.Name("post")
	want := NewWindow("post")
	for k := range 20_000 {
		if k%3000 == 0 {
			batch.Flush()
			got := r.Cut()
			if k > 0 {
				same(t, got, []*Window{want})
			}
			want = NewWindow("post")
		}
		d := func(limit time.Duration) time.Duration {
			return time.Duration(rng.Int64N(int64(limit)))
		}
		op := Op{
			Intended:  d(time.Second),
			Scheduled: k%3 == 0,
			Bytes:     int64(k % 7),
			Class:     Class(k % NumClasses),
		}
		op.Due = op.Intended + d(time.Millisecond)
		op.Sent = op.Due
		if k%5 < 2 {
			op.Sent += d(time.Second)
		}
		op.Done = op.Sent + time.Duration(math.Exp(rng.NormFloat64()*3+14))
		switch k {
		case 100:
			op.Done += time.Hour // out of range
		case 101:
			op.Due = op.Intended - 1
			op.Sent = op.Due
		}
		if k%7 < 3 {
			rec.Record(n, &op)
		} else {
			batch.Record(n, &op)
		}
		want.Classes[op.Class]++
		want.Bytes += op.Bytes
		if op.Scheduled {
			want.Lag.Record(op.Lag())
		}
		if op.Class.Timed() {
			want.Response.Record(op.Response())
			want.Service.Record(op.Service())
			if op.Wait() > 0 {
				want.Wait.Record(op.Wait())
			}
		}
	}
}

// same fails the test unless the windows are equal, value by value.
func same(t *testing.T, got, want []*Window) {
	t.Helper()
	if bytes.Equal(encodeWindows(got), encodeWindows(want)) {
		return
	}
	var lines [2]string
	for i, ws := range [][]*Window{got, want} {
		for _, w := range ws {
			lines[i] += fmt.Sprint("\n", w.Name, w.Classes, w.Bytes)
			for _, h := range w.histograms() {
				lines[i] += fmt.Sprint(" ", h.Count(), " of ", h.Mean())
			}
		}
	}
	t.Fatalf("got%s\nwant%s", lines[0], lines[1])
}

func TestCutLosesNothing(t *testing.T) {
	r := NewRegistry(3)
	var wg sync.WaitGroup
	const writers, each = 8, 5000
	for i := range writers {
		wg.Go(func() {
			rec := r.Recorder(i)
			n := rec.Name([]string{"post", "view", "react"}[i%3])
			record := rec.Record
			if i%2 == 0 {
				b := rec.Batch()
				defer b.Flush()
				record = b.Record
			}
			for k := range each {
				record(n, &Op{Done: time.Duration(k), Class: Class(k % NumClasses), Bytes: 1})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	total := map[string]uint64{}
	var bytes int64
	take := func() {
		for _, w := range r.Cut() {
			total[w.Name] += w.Count()
			bytes += w.Bytes
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			take()
		}
	}
	take()
	if total["post"] != 3*each || total["view"] != 3*each || total["react"] != 2*each ||
		bytes != writers*each {
		t.Fatalf("counted %v, %d bytes", total, bytes)
	}
}

// BenchmarkRecord is the figure of the design: one op, clock excluded, as a goroutine that is busy
// records it.
func BenchmarkRecord(b *testing.B) {
	r := NewRegistry(1)
	rec := r.Recorder(0).Batch()
	n := r.Name("post")
	op := Op{Intended: 1, Due: 2, Sent: 2, Done: time.Millisecond, Scheduled: true}
	b.ReportAllocs()
	for b.Loop() {
		rec.Record(n, &op)
	}
	rec.Flush()
}

// BenchmarkRecordAction is a user who rests after each action: its lag, one op that waited a
// little, and the flush.
func BenchmarkRecordAction(b *testing.B) {
	r := NewRegistry(1)
	rec := r.Recorder(0)
	n, s := r.Name("post"), r.Name("schedule")
	op := Op{Intended: 1, Due: 2, Sent: 2000, Done: time.Millisecond, Scheduled: true}
	b.ReportAllocs()
	for b.Loop() {
		batch := rec.Batch()
		batch.Lag(s, 1)
		batch.Record(n, &op)
		batch.Close()
	}
}

// BenchmarkRecordShared is one op through the lock of the shard, as goroutines record that share a
// Recorder.
func BenchmarkRecordShared(b *testing.B) {
	r := NewRegistry(1)
	rec := r.Recorder(0)
	n := rec.Name("post")
	op := Op{Intended: 1, Due: 2, Sent: 2, Done: time.Millisecond, Scheduled: true}
	b.ReportAllocs()
	for b.Loop() {
		rec.Record(n, &op)
	}
}

// Windows of two registries, merged, equal those of one.
func TestMergedRegistries(t *testing.T) {
	whole := NewRegistry(2)
	first := NewRegistry(2)
	second := NewRegistry(1)
	for i := range 1000 {
		op := &Op{
			Intended:  0,
			Due:       time.Duration(i),
			Sent:      time.Duration(2 * i),
			Done:      time.Duration(i*i + 2*i),
			Scheduled: true,
			Class:     Class(i % 3),
			Bytes:     7,
		}
		name := fmt.Sprint("op", i%4)
		whole.Recorder(i).Record(whole.Name(name), op)
		part := []*Registry{first, second}[i%2]
		part.Recorder(i).Record(part.Name(name), op)
	}
	first.Merge(second.Cut())
	got := first.Cut()
	if len(got) != 4 {
		t.Fatalf("%d windows, want 4", len(got))
	}
	same(t, got, whole.Cut())
	if again := first.Cut(); len(again) != 0 {
		t.Errorf("cut twice: %v", again)
	}
}
