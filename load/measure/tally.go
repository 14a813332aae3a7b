package measure

import "sync"

// A tally is a [Histogram] in the making, for the hot path: values that can be computed from the
// buckets later are not kept. The zero value is empty.
type tally struct {
	counts      *[buckets]uint32
	sum         int64
	low, span   int64 // the values so far lie in [low, low+span); span is 0 while there is none
	over, under uint64
}

// hit counts v if it lies between the smallest and the largest value so far, as nearly every value
// does, and reports whether it did. It is small enough to be inlined.
func (t *tally) hit(v int64) bool {
	if uint64(v-t.low) >= uint64(t.span) {
		return false
	}
	t.counts[bucketOf(v)]++
	t.sum += v
	return true
}

// miss counts any v.
func (t *tally) miss(v int64) {
	switch {
	case v < 0:
		v = 0
		t.under++
	case v > int64(MaxValue):
		v = int64(MaxValue)
		t.over++
	}
	switch {
	case t.counts == nil:
		t.counts = idleCounts.Get().(*[buckets]uint32)
		fallthrough
	case t.span == 0:
		t.low, t.span = v, 1
	case v < t.low:
		t.low, t.span = v, t.span+t.low-v
	default:
		t.span = max(t.span, v-t.low+1)
	}
	t.counts[bucketOf(v)]++
	t.sum += v
}

func (t *tally) add(v int64) {
	if !t.hit(v) {
		t.miss(v)
	}
}

// used returns the buckets between the smallest and the largest value.
func (t *tally) used() []uint32 {
	if t.span == 0 {
		return nil
	}
	return t.counts[bucketOf(t.low) : bucketOf(t.low+t.span-1)+1]
}

// reset empties t. It keeps its memory if it has held a value.
func (t *tally) reset() {
	if t.span == 0 && t.counts != nil {
		idleCounts.Put(t.counts)
		t.counts = nil
	}
	clear(t.used())
	*t = tally{counts: t.counts}
}

// idleCounts are of tallies that saw nothing for a while, all 0: most ops are rare, and each has 16
// KiB for each of its times.
var idleCounts = sync.Pool{New: func() any { return new([buckets]uint32) }}

// addTo merges t into h.
func (t *tally) addTo(h *Histogram) {
	if t.span == 0 {
		return
	}
	part := Histogram{
		counts: t.counts[:],
		sum:    t.sum,
		min:    t.low,
		max:    t.low + t.span - 1,
		over:   t.over,
		under:  t.under,
	}
	for _, c := range t.used() {
		part.n += uint64(c)
	}
	h.Merge(&part)
}
