package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrHistogram reports bytes that are not a histogram.
var ErrHistogram = errors.New("bad histogram encoding")

// AppendBinary appends h's encoding to b: uvarints n, and when n > 0: sum, min, max, over, under,
// first bucket, then for each run of buckets up to the last touched one: uvarint(count), where a
// zero count is followed by uvarint(further zeros). The format is documented in docs/format/run.md.
func (h *Histogram) AppendBinary(b []byte) []byte {
	if h == nil || h.n == 0 {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, h.n)
	b = binary.AppendUvarint(b, uint64(h.sum))
	b = binary.AppendUvarint(b, uint64(h.min))
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.AppendUvarint(b, h.over)
	b = binary.AppendUvarint(b, h.under)
	counts, lo := h.used()
	b = binary.AppendUvarint(b, uint64(lo))
	b = binary.AppendUvarint(b, uint64(len(counts)-1))
	for i := 0; i < len(counts); i++ {
		c := counts[i]
		b = binary.AppendUvarint(b, uint64(c))
		if c == 0 {
			zeros := 0
			for i+1 < len(counts) && counts[i+1] == 0 {
				i++
				zeros++
			}
			b = binary.AppendUvarint(b, uint64(zeros))
		}
	}
	return b
}

// Decode reads one histogram from the front of b into h, whose values it drops and whose memory it
// reuses, and returns the rest. It checks that the counts add up; errors wrap [ErrHistogram], and
// after one h is empty.
func (h *Histogram) Decode(b []byte) ([]byte, error) {
	h.Reset()
	rest, err := h.mergeBinary(b)
	if err != nil {
		clear(h.counts)
		*h = Histogram{counts: h.counts, first: h.first}
	}
	return rest, err
}

// mergeBinary is Merge of the histogram at the front of b, whose rest it returns. After an error h
// is in disorder; scan into nil has the same errors, for callers that may not lose h.
func (h *Histogram) mergeBinary(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == 0 {
		return b[1:], nil // empty, and needs no buckets
	}
	o, rest, err := scan(b, h)
	if err != nil || o.n == 0 {
		return rest, err
	}
	h.sums(&o)
	return rest, nil
}

// scan reads the histogram at the front of b and returns the rest. o is without counts; they are
// added to the ones of into, unless that is nil. After an error some may have been.
func scan(b []byte, into *Histogram) (o Histogram, _ []byte, bad error) {
	next := func(what string, limit uint64) uint64 {
		v, k := binary.Uvarint(b)
		switch {
		case bad != nil:
		case k <= 0:
			bad = fmt.Errorf("%w: %s: cut short", ErrHistogram, what)
		case v > limit:
			bad = fmt.Errorf("%w: %s is %d, at most %d", ErrHistogram, what, v, limit)
		default:
			b = b[k:]
			return v
		}
		return 0
	}
	o.n = next("count", math.MaxInt64)
	if bad != nil || o.n == 0 {
		return o, b, bad
	}
	o.sum = int64(next("sum", math.MaxInt64))
	o.min = int64(next("min", uint64(MaxValue)))
	o.max = int64(next("max", uint64(MaxValue)))
	o.over = next("over", o.n)
	o.under = next("under", o.n)
	lo := int(next("first bucket", buckets-1))
	hi := lo + int(next("buckets", uint64(buckets-1-lo)))
	if bad != nil {
		return o, b, bad
	}
	if o.min > o.max || bucketOf(o.min) != lo || bucketOf(o.max) != hi {
		return o, b, fmt.Errorf("%w: min and max do not fit the buckets", ErrHistogram)
	}
	var counts []uint32 // from lo to hi
	if into != nil {
		into.cover(lo, hi)
		counts = into.counts[lo-into.first:][:hi+1-lo]
	}
	var n uint64
	rest := b // which, unlike b, no other function holds
	for i := 0; i <= hi-lo; i++ {
		// Nearly all numbers have one byte, and the rest of the loop is for the others.
		if len(rest) > 1 && rest[0] < 0x80 {
			if c := rest[0]; c > 0 {
				if counts != nil {
					counts[i] += uint32(c)
				}
				n, rest = n+uint64(c), rest[1:]
				continue
			}
			if z := rest[1]; z < 0x80 && int(z) <= hi-lo-i {
				i, rest = i+int(z), rest[2:]
				continue
			}
		}
		b = rest
		c := next("bucket", math.MaxUint32)
		if bad == nil && c == 0 {
			i += int(next("zeros", uint64(hi-lo-i)))
			rest = b
			continue
		}
		if bad != nil {
			return o, b, bad
		}
		if counts != nil {
			counts[i] += uint32(c)
		}
		n, rest = n+c, b
	}
	if n != o.n {
		bad = fmt.Errorf("%w: buckets hold %d values, the header has %d", ErrHistogram, n, o.n)
	}
	return o, rest, bad
}

// AppendBinary appends w's encoding to b: uvarint(length of the name), the name, uvarint(number of
// classes), for each a uvarint, uvarint(bytes), and the encodings of Response, Service, Wait and
// Lag. The format is documented in docs/format/run.md.
func (w *Window) AppendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(w.Name)))
	b = append(b, w.Name...)
	b = binary.AppendUvarint(b, NumClasses)
	for _, c := range w.Classes {
		b = binary.AppendUvarint(b, c)
	}
	b = binary.AppendUvarint(b, uint64(w.Bytes))
	for _, h := range w.histograms() {
		b = h.AppendBinary(b)
	}
	return b
}

// histograms are w's in the order of its encoding.
func (w *Window) histograms() [4]*Histogram {
	return [...]*Histogram{w.Response, w.Service, w.Wait, w.Lag}
}

// Decode reads one window from the front of b into w, whose values it drops and whose memory it
// reuses, and returns the rest. After an error w's values are not valid.
func (w *Window) Decode(b []byte) ([]byte, error) {
	h, b, err := scanWindow(b)
	if err != nil {
		return b, err
	}
	w.Name = string(h.name)
	w.Classes = h.classes
	w.Bytes = h.bytes
	for _, h := range w.histograms() {
		if b, err = h.Decode(b); err != nil {
			return b, fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	return b, nil
}

// windowHead is the part of a window's encoding before its histograms. name is part of the
// encoding.
type windowHead struct {
	name    []byte
	classes [NumClasses]uint64
	bytes   int64
}

// ErrWindow reports bytes that are not a window.
var ErrWindow = errors.New("bad window encoding")

// scanWindow reads the head at the front of b and returns the rest.
func scanWindow(b []byte) (h windowHead, rest []byte, err error) {
	short := false
	next := func() uint64 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			short = true
			return 0
		}
		b = b[k:]
		return v
	}
	n := next()
	if short || n > uint64(len(b)) {
		return h, b, fmt.Errorf("%w: name", ErrWindow)
	}
	h.name, b = b[:n], b[n:]
	classes := next()
	if short || classes > uint64(len(b)) {
		return h, b, fmt.Errorf("%w: classes", ErrWindow)
	}
	for i := range classes {
		c := next()
		if i < NumClasses {
			h.classes[i] = c
		} else if c != 0 {
			return h, b, fmt.Errorf("%w: class %d is unknown here", ErrWindow, i)
		}
	}
	h.bytes = int64(next())
	if short {
		return h, b, fmt.Errorf("%w: cut short", ErrWindow)
	}
	return h, b, nil
}

// MaxMerged is the largest number of names that [Registry.MergeBinary] takes in the life of a
// registry: a window of 20 bytes can take 100 KB.
const MaxMerged = 2000

// checkMerge reports whether b holds the encodings of n windows, one after the other, and nothing
// else. It returns their names that were not merged before. The caller holds cutMu.
func (r *Registry) checkMerge(b []byte, n int) (fresh []string, err error) {
	for range n {
		h, rest, err := scanWindow(b)
		if err != nil {
			return nil, err
		}
		b = rest
		if !r.foreign[string(h.name)] && !slices.Contains(fresh, string(h.name)) {
			fresh = append(fresh, string(h.name))
		}
		if len(r.foreign)+len(fresh) > MaxMerged {
			return nil, fmt.Errorf("%w: it brings more than %d names", ErrWindow, MaxMerged)
		}
		for range 4 {
			if _, b, err = scan(b, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", h.name, err)
			}
		}
	}
	if len(b) != 0 {
		return nil, fmt.Errorf("%w: %d bytes left over", ErrWindow, len(b))
	}
	return fresh, nil
}

// MergeBinary is [Registry.Merge] of n windows in their encoding, one after the other. All are
// checked first: after an error nothing was merged. It allocates only for a name that it meets
// first since the last Cut. More than [MaxMerged] names are an error.
func (r *Registry) MergeBinary(b []byte, n int) error {
	r.cutMu.Lock()
	defer r.cutMu.Unlock()
	fresh, err := r.checkMerge(b, n)
	if err != nil {
		return err
	}
	for _, name := range fresh {
		r.foreign[name] = true
	}
	for range n {
		h, rest, err := scanWindow(b)
		if err != nil {
			return err
		}
		b = rest
		w := r.merged[string(h.name)]
		if w == nil {
			w = NewWindow(string(h.name))
			r.merged[w.Name] = w
		}
		w.count(&h.classes, h.bytes)
		for _, h := range w.histograms() {
			if b, err = h.mergeBinary(b); err != nil {
				return err
			}
		}
	}
	return nil
}
