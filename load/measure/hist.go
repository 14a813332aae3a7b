package measure

import (
	"math"
	"math/bits"
	"time"
)

const (
	subBits = 7            // 128 steps per power of two
	subs    = 1 << subBits // steps below which values are exact
	maxBits = 38           // values from 2^38 ns (274.9 s) on are out of range
	buckets = (maxBits-subBits)*subs + subs
)

// MaxValue is the largest duration that a Histogram resolves (about 274.9 s). Longer ones are
// counted in the last bucket and in [Histogram.Over].
const MaxValue = time.Duration(1<<maxBits - 1)

// A Histogram is a distribution of durations from 0 to [MaxValue] with a relative step of 1/128.
// The zero value is empty and ready to use. It has room for the powers of two between its smallest
// and its largest value, 512 bytes each: most histograms are of ops that take about as long as each
// other, and there are many of them. It is not safe for concurrent use.
type Histogram struct {
	counts []uint32 // of the buckets from first on; 0 outside of min and max
	first  int      // a multiple of subs
	n      uint64
	sum    int64 // nanoseconds
	// nanoseconds; exact; valid when n > 0. Their buckets are the first and the last in use.
	min, max int64
	over     uint64
	under    uint64
}

// bucketOf returns the bucket of v. A negative v gives a number far above the last bucket, as one
// above MaxValue does.
func bucketOf(v int64) int {
	e := bits.Len64(uint64(v)|(2*subs-1)) - subBits - 1
	return e<<subBits + int(uint64(v)>>uint(e))
}

// bucketMid returns the middle of bucket i in nanoseconds.
func bucketMid(i int) float64 {
	if i < 2*subs {
		return float64(i)
	}
	e := uint(i>>subBits) - 1
	low := int64(i-int(e)<<subBits) << e
	return float64(low) + float64(int64(1)<<e-1)/2
}

// Record adds one duration. A negative one counts as 0, and its encoding says so; one above
// [MaxValue] counts as MaxValue and in [Histogram.Over]: nothing is clamped silently.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN adds the same duration n times: the same as n calls of Record.
func (h *Histogram) RecordN(d time.Duration, n uint32) {
	if n == 0 {
		return
	}
	v := int64(d)
	if v < 0 {
		v = 0
		h.under += uint64(n)
	} else if v > int64(MaxValue) {
		v = int64(MaxValue)
		h.over += uint64(n)
	}
	if h.n == 0 {
		h.min, h.max = v, v
	}
	i := bucketOf(v)
	h.cover(i, i)
	h.counts[i-h.first] += n
	h.n += uint64(n)
	h.sum += v * int64(n)
	h.min, h.max = min(h.min, v), max(h.max, v)
}

// cover makes room for the buckets from lo to hi. It allocates when one lies in a power of two
// beyond those so far, at most 32 times in the life of h.
func (h *Histogram) cover(lo, hi int) {
	if lo >= h.first && hi < h.first+len(h.counts) {
		return
	}
	h.widen(lo, hi)
}

func (h *Histogram) widen(lo, hi int) {
	if len(h.counts) > 0 {
		lo, hi = min(lo, h.first), max(hi, h.first+len(h.counts)-1)
	}
	lo, hi = lo&^(subs-1), hi|(subs-1)
	counts := make([]uint32, hi+1-lo)
	if len(h.counts) > 0 {
		copy(counts[h.first-lo:], h.counts)
	}
	h.counts, h.first = counts, lo
}

// used returns the counts from the smallest to the largest value, and the bucket that the first is
// of; none of an empty h.
func (h *Histogram) used() (counts []uint32, lo int) {
	if h.n == 0 {
		return nil, 0
	}
	lo = bucketOf(h.min)
	return h.counts[lo-h.first : bucketOf(h.max)+1-h.first], lo
}

// Merge adds all of o's values to h. It loses nothing: merging parts equals recording the whole.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil || o.n == 0 {
		return
	}
	from, lo := o.used()
	h.cover(lo, lo+len(from)-1)
	into := h.counts[lo-h.first:][:len(from)]
	for i, c := range from {
		into[i] += c
	}
	h.sums(o)
}

// sums adds all of o, which is not empty, but its buckets.
func (h *Histogram) sums(o *Histogram) {
	if h.n == 0 {
		h.min, h.max = o.min, o.max
	}
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.n += o.n
	h.sum += o.sum
	h.over += o.over
	h.under += o.under
}

// Clone returns a copy that shares nothing with h.
func (h *Histogram) Clone() *Histogram {
	c := new(Histogram)
	c.Merge(h)
	return c
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	counts, _ := h.used()
	clear(counts)
	*h = Histogram{counts: h.counts, first: h.first}
}

// Count returns how many values were recorded.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.n
}

// Over returns how many values were above [MaxValue].
func (h *Histogram) Over() uint64 { return h.over }

// Min returns the smallest value, exactly; 0 when h is empty.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max returns the largest value, exactly; 0 when h is empty.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Sum returns the exact sum of all (clamped) values.
func (h *Histogram) Sum() time.Duration { return time.Duration(h.sum) }

// Mean returns the exact arithmetic mean; NaN seconds cannot be a Duration, so an empty h gives 0:
// check Count first.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(math.Round(float64(h.sum) / float64(h.n)))
}

// Quantile returns the smallest value v such that a share q of all values is <= v, q in [0, 1],
// within 0.4 % and inside [Min, Max]. An empty h gives 0: check Count first.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	if math.IsNaN(q) || q <= 0 {
		return h.Min()
	}
	rank := uint64(math.Ceil(q * float64(h.n)))
	if rank >= h.n {
		return h.Max()
	}
	var seen uint64
	counts, lo := h.used()
	for i, n := range counts {
		seen += uint64(n)
		if seen >= rank {
			v := int64(math.Round(bucketMid(lo + i)))
			return time.Duration(min(max(v, h.min), h.max))
		}
	}
	return h.Max()
}

// Buckets yields every bucket that holds something, ascending: its middle, and how many values lie
// in it. Middles ascend strictly. It is an iterator over h, which may not change meanwhile; a nil h
// has none.
func (h *Histogram) Buckets(yield func(mid time.Duration, n uint32) bool) {
	if h.Count() == 0 {
		return
	}
	counts, lo := h.used()
	for i, n := range counts {
		if n > 0 && !yield(time.Duration(math.Round(bucketMid(lo+i))), n) {
			return
		}
	}
}

// CountOver returns how many values lie in buckets wholly above d.
func (h *Histogram) CountOver(d time.Duration) uint64 {
	if h.Count() == 0 {
		return 0
	}
	var n uint64
	counts, _ := h.usedOver(d)
	for _, c := range counts {
		n += uint64(c)
	}
	return n
}

// usedOver is used without the buckets that hold values of d or below.
func (h *Histogram) usedOver(d time.Duration) (counts []uint32, lo int) {
	counts, lo = h.used()
	below := min(max(bucketOf(min(max(int64(d), 0), int64(MaxValue)))+1-lo, 0), len(counts))
	return counts[below:], lo + below
}

// SumOver returns the sum of the values in buckets wholly above d, within 0.4 %.
func (h *Histogram) SumOver(d time.Duration) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	sum := 0.0
	counts, lo := h.usedOver(d)
	for i, c := range counts {
		sum += float64(c) * bucketMid(lo+i)
	}
	return time.Duration(math.Round(sum))
}
