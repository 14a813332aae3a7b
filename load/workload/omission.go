package workload

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/load/measure"
)

// An Omission counts the operations that users did not begin because they waited. They are a closed
// loop: a user that waits for an answer sends nothing, so that a target that stands still gets
// fewer requests, and its latencies hold few operations from that time.
//
// Of each operation the median response is its usual time, which a stall moves little as long as it
// meets less than half of the operations. The time of an operation beyond the usual one of its name
// is lost to its user. With n operations in the users' time U, of which they lost E, an operation
// and the pause before it take (U - E)/n as a rule, so that in all of U
//
//	intended = n · U/(U - E)
//
// operations would have begun. Those that were not would have begun evenly over the time lost, and
// each would still have had to wait for the rest of it: an answer that came e later than usual
// hides e·n/(U - E) operations that wait between 0 and e, and then take their usual time. That is
// the correction of G. Tene's HdrHistogram for an expected interval, with the interval taken from
// the run.
//
// Because the usual time is the target's own, an evenly slow target loses no time here: its
// latencies show that.
type Omission struct {
	Achieved uint64
	Intended float64
	// Never holds those that were not begun, by name: as response times, in no class.
	Never []*measure.Window
}

// LateResponses sums the operations that ended after a phase: the responses of one name, and the
// time by which they reach beyond its end, added up.
type LateResponses struct {
	Response *measure.Histogram
	Beyond   time.Duration
}

// mostLost is the part of the users' time that is taken as lost at most: without any left, the rate
// of their requests is unknown.
const mostLost = 0.99

// A wait is a part of the users' time that n operations lost: the rest of each lies between
// most-length and most.
type wait struct{ most, length, n float64 }

// beyond calls f for the times of operations that took longer than usual, with the excess and their
// number.
func beyond(h *measure.Histogram, usual time.Duration, f func(excess, n float64)) {
	for v, n := range h.Buckets {
		if e := float64(v) - float64(usual); e > 0 {
			f(e, float64(n))
		}
	}
}

// waits holds the waits of a phase, and the users' time in them.
type waits struct {
	all []wait
	sum float64
}

// add takes in the operations of one name. For one of the tail only the first part of its excess
// falls into the phase.
func (l *waits) add(w *measure.Window, usual time.Duration, tail LateResponses) {
	if tail.Response != nil {
		whole, part := 0.0, 1.0
		beyond(tail.Response, usual, func(e, n float64) { whole += e * n })
		if whole > 0 {
			part = max(0, whole-float64(tail.Beyond)) / whole
		}
		beyond(tail.Response, usual, func(e, n float64) {
			// All of them come again below, among those that count whole.
			l.all = append(l.all, wait{e, e, -n}, wait{e, e * part, n})
			l.sum += e * n * (part - 1)
		})
	}
	beyond(w.Response, usual, func(e, n float64) {
		l.all = append(l.all, wait{e, e, n})
		l.sum += e * n
	})
}

// NewOmission returns the omission of a phase in which users were active for the given time, added
// up over them. windows are the phase's, of which those of the steady state count, with the
// operations under way at its end; tails holds the part of those after the end.
func NewOmission(
	windows []*measure.Window,
	tails map[string]LateResponses,
	users time.Duration,
) Omission {
	var o Omission
	var lost waits
	usual := map[string]time.Duration{}
	counts := map[string]uint64{}
	for _, w := range windows {
		n := max(w.Count(), w.Response.Count())
		if !Steady(w.Name) || n == 0 {
			continue
		}
		o.Achieved += n
		counts[w.Name] = n
		usual[w.Name] = w.Response.Quantile(0.5)
		lost.add(w, usual[w.Name], tails[w.Name])
	}
	if o.Achieved == 0 || users <= 0 {
		o.Intended = float64(o.Achieved)
		return o
	}
	free := max(float64(users)-lost.sum, (1-mostLost)*float64(users))
	o.Intended = float64(o.Achieved) * float64(users) / free
	omitted := o.Intended - float64(o.Achieved)
	if omitted < 0.5 || lost.sum <= 0 {
		return o
	}
	steps := stepsOf(lost.all)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		k := math.Round(omitted * float64(counts[name]) / float64(o.Achieved))
		if k > 0 {
			o.Never = append(o.Never, never(name, usual[name], k, lost.sum, steps))
		}
	}
	return o
}

// A step is one of the curve of how many operations wait for longer than a time, at which it rises
// by so many.
type step struct{ at, by float64 }

// stepsOf returns the curve of waits, which steps at both ends of each.
func stepsOf(all []wait) (steps []step) {
	for _, l := range all {
		steps = append(steps, step{l.most - l.length, l.n}, step{l.most, -l.n})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// never returns the responses of the k operations of a name that were not begun. How many of them
// wait for longer than t is the area, from t on, under the curve, whose whole area is sum.
func never(name string, usual time.Duration, k, sum float64, steps []step) *measure.Window {
	w := measure.NewWindow(name)
	at := 0.0
	height := 0.0
	area := 0.0
	done := 0.0
	for _, s := range steps {
		for height > 1e-9 && done < k {
			want := (done + 0.5) / k * sum
			x := at + (want-area)/height
			if x > s.at {
				break
			}
			w.Response.Record(usual + time.Duration(x))
			done++
		}
		area += height * (s.at - at)
		at = s.at
		height += s.by
	}
	return w
}
