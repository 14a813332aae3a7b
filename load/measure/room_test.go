package measure

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// A histogram has room for the powers of two that it needs. Whatever the order of its values,
// merges, resets and decodings, of broken encodings too, it holds what a list of its values holds.
func TestRoomGrowsWithTheRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range (*Histogram)(nil).Buckets {
		t.Fatal("no histogram has a bucket")
	}
	var h, again Histogram
	for round := range 300 {
		h.Reset()
		var list []int64
		some := func(into *Histogram) {
			low := rng.IntN(maxBits)
			for range rng.IntN(20) {
				v := rng.Int64N(1 << (low + rng.IntN(maxBits-low) + 1))
				n := 1 + rng.IntN(3)
				into.RecordN(time.Duration(v), uint32(n))
				list = append(list, slices.Repeat([]int64{v}, n)...)
			}
		}
		some(&h)
		for range rng.IntN(4) {
			var part Histogram
			some(&part)
			if rng.IntN(2) == 0 {
				h.Merge(&part)
				continue
			}
			b := part.AppendBinary(nil)
			if rest, err := h.mergeBinary(b); err != nil || len(rest) > 0 {
				t.Fatalf("round %d: %v, %d bytes left", round, err, len(rest))
			}
		}
		b := h.AppendBinary(nil)
		if len(b) > 1 {
			if _, err := again.Decode(b[:len(b)-1]); err == nil || again.Count() != 0 ||
				again.CountOver(0) != 0 {
				t.Fatalf("round %d: cut short, and %d values are left (%v)", round, again.Count(),
					err)
			}
		}
		if rest, err := again.Decode(append(b, 7)); err != nil || len(rest) != 1 {
			t.Fatal(rest, err)
		}
		for _, g := range []*Histogram{&h, &again, h.Clone()} {
			holds(t, g, list, rng.Int64N(1<<maxBits))
		}
	}
}

// holds fails the test unless h is the histogram of these values.
func holds(t *testing.T, h *Histogram, list []int64, over int64) {
	t.Helper()
	slices.Sort(list)
	want, got := make([]uint32, buckets), make([]uint32, buckets)
	n := uint64(0)
	all := int64(0)
	sum := 0.0
	for _, v := range list {
		b := bucketOf(v)
		want[b]++
		all += v
		if b > bucketOf(over) {
			n++
			sum += bucketMid(b)
		}
	}
	if h.Count() != uint64(len(list)) || h.Sum() != time.Duration(all) {
		t.Fatalf("%d values, %v in all, want %d, %v", h.Count(), h.Sum(), len(list),
			time.Duration(all))
	}
	if len(list) > 0 && (h.Min() != time.Duration(list[0]) ||
		h.Max() != time.Duration(list[len(list)-1])) {
		t.Fatalf("from %v to %v, want %v to %v", h.Min(), h.Max(), list[0], list[len(list)-1])
	}
	last := time.Duration(-1)
	for mid, c := range h.Buckets {
		if mid <= last {
			t.Fatalf("bucket %v after %v", mid, last)
		}
		last, got[bucketOf(int64(mid))] = mid, c
	}
	for range h.Buckets {
		break // it may be left
	}
	if !slices.Equal(got, want) {
		t.Fatal("the buckets hold other values")
	}
	if h.CountOver(time.Duration(over)) != n ||
		math.Abs(float64(h.SumOver(time.Duration(over)))-sum) > 1+sum/1e9 {
		t.Fatalf(
			"over %v: %d values, %v in all; want %d, %v",
			time.Duration(over),
			h.CountOver(time.Duration(over)),
			h.SumOver(time.Duration(over)),
			n,
			time.Duration(sum),
		)
	}
}

// Budget: 512 bytes for each power of two.
func TestRoomOfAHistogram(t *testing.T) {
	var h Histogram
	for v := time.Millisecond; v < 8*time.Millisecond; v += 10 * time.Microsecond {
		h.Record(v)
	}
	if got, most := 4*cap(h.counts), 5*512; got > most {
		t.Errorf("a histogram of 1 to 8 ms has %d bytes of counts, budget %d", got, most)
	}
}

// Budget of the windows of a second in which each of many ops was seen a few times: 2.5 KB an op.
func TestBytesOfACut(t *testing.T) {
	const ops, budget = 200, 2500
	r := NewRegistry(1)
	rec := r.Recorder(0)
	second := func() {
		for n := range Name(ops) {
			for _, d := range []time.Duration{5, 6, 7} {
				rec.Record(n, &Op{Due: 1, Sent: 1, Done: 1 + d*time.Millisecond})
			}
		}
	}
	for n := range ops {
		r.Name(strconv.Itoa(n))
	}
	for range 2 {
		second()
		r.Cut()
	}
	second()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	windows := r.Cut()
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / ops; len(windows) != ops || got > budget {
		t.Errorf(
			"%d windows of %d bytes each, want %d of at most %d",
			len(windows),
			got,
			ops,
			budget,
		)
	}
}

// Ops that were seen once hold nothing: their counts go from one to the next.
func TestRareOpsShareMemory(t *testing.T) {
	const ops, budget = 1000, 1 << 20 // 16 KiB each would be 16 MB
	r := NewRegistry(1)
	rec := r.Recorder(0)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, seen := heap(), 0
	for n := range Name(ops) {
		r.Name(strconv.Itoa(int(n)))
		rec.Record(n, &Op{Due: 1, Sent: 1, Done: time.Millisecond})
		seen += len(r.Cut())
	}
	for range 2 {
		r.Cut()
	}
	if after := heap(); seen != ops || after > before+budget {
		t.Errorf("%d ops seen, %d bytes held, budget %d", seen, int64(after)-int64(before), budget)
	}
	runtime.KeepAlive(r)
}
