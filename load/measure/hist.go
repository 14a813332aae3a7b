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

// MaxValue is the largest duration that a Histogram resolves (about 274.9 s). Longer ones are counted in
// the last bucket and in [Histogram.Over].
const MaxValue = time.Duration(1<<maxBits - 1)

// A Histogram is a distribution of durations from 0 to [MaxValue] with a relative step of 1/128.
// The zero value is empty and ready to use; its buckets (16 KiB) are allocated with the first value.
// It is not safe for concurrent use.
type Histogram struct {
	counts   []uint32
	n        uint64
	sum      int64 // nanoseconds
	min, max int64 // nanoseconds; exact; valid when n > 0. Their buckets are the first and the last in use.
	over     uint64
	under    uint64
}

// bucketOf returns the bucket of v. A negative v gives a number far above the last bucket, as one above MaxValue does.
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

// Record adds one duration. A negative one counts as 0 and in [Histogram.Under]; one above [MaxValue] counts
// as MaxValue and in [Histogram.Over]: nothing is clamped silently.
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
		h.begin(v)
	}
	h.counts[bucketOf(v)] += n
	h.n += uint64(n)
	h.sum += v * int64(n)
	h.min, h.max = min(h.min, v), max(h.max, v)
}

// begin readies an empty h for its first value.
func (h *Histogram) begin(v int64) {
	if h.counts == nil {
		h.counts = make([]uint32, buckets)
	}
	h.min, h.max = v, v
}

// used returns the first and the last bucket in use. h is not empty.
func (h *Histogram) used() (lo, hi int) { return bucketOf(h.min), bucketOf(h.max) }

// Merge adds all of o's values to h. It loses nothing: merging parts equals recording the whole.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil || o.n == 0 {
		return
	}
	if h.n == 0 {
		h.begin(o.min)
	}
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	lo, hi := o.used()
	into := h.counts[lo : hi+1]
	for i, c := range o.counts[lo : hi+1] {
		into[i] += c
	}
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
	if h.n > 0 {
		lo, hi := h.used()
		clear(h.counts[lo : hi+1])
	}
	*h = Histogram{counts: h.counts}
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

// Under returns how many values were below 0.
func (h *Histogram) Under() uint64 { return h.under }

// Min returns the smallest value, exactly; 0 when h is empty.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max returns the largest value, exactly; 0 when h is empty.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Sum returns the exact sum of all (clamped) values.
func (h *Histogram) Sum() time.Duration { return time.Duration(h.sum) }

// Mean returns the exact arithmetic mean; NaN seconds cannot be a Duration, so an empty h gives 0: check Count
// first.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(math.Round(float64(h.sum) / float64(h.n)))
}

// Quantile returns the smallest value v such that a share q of all values is <= v, q in [0, 1], within 0.4 %
// and inside [Min, Max]. An empty h gives 0: check Count first.
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
	lo, hi := h.used()
	for i := lo; i <= hi; i++ {
		seen += uint64(h.counts[i])
		if seen >= rank {
			v := int64(math.Round(bucketMid(i)))
			return time.Duration(min(max(v, h.min), h.max))
		}
	}
	return h.Max()
}

// Buckets yields every bucket that holds something, ascending: its middle, and how many values lie in it. Middles
// ascend strictly. It is an iterator over h, which may not change meanwhile; a nil h has none.
func (h *Histogram) Buckets(yield func(mid time.Duration, n uint32) bool) {
	if h.Count() == 0 {
		return
	}
	lo, hi := h.used()
	for i := lo; i <= hi; i++ {
		if n := h.counts[i]; n > 0 && !yield(time.Duration(math.Round(bucketMid(i))), n) {
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
	lo, hi := h.used()
	for i := max(lo, bucketOf(min(max(int64(d), 0), int64(MaxValue)))+1); i <= hi; i++ {
		n += uint64(h.counts[i])
	}
	return n
}

// SumOver returns the sum of the values in buckets wholly above d, within 0.4 %.
func (h *Histogram) SumOver(d time.Duration) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	sum := 0.0
	lo, hi := h.used()
	for i := max(lo, bucketOf(min(max(int64(d), 0), int64(MaxValue)))+1); i <= hi; i++ {
		sum += float64(h.counts[i]) * bucketMid(i)
	}
	return time.Duration(math.Round(sum))
}
