package trial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/stats"
)

// A course holds the measured phase second by second, as needed to judge whether it was steady: 24
// bytes a second.
type course struct {
	seconds []courseSecond
	open    courseSecond
}

type courseSecond struct {
	response   time.Duration // sum
	timed, ops uint64
}

func (c *course) add(ws []*measure.Window) {
	for _, w := range ws {
		if workload.Steady(w.Name) {
			c.open.response += w.Response.Sum()
			c.open.timed += w.Response.Count()
			c.open.ops += w.Count()
		}
	}
}

// next ends a second.
func (c *course) next() {
	c.seconds = append(c.seconds, c.open)
	c.open = courseSecond{}
}

// series returns log mean response and log throughput of equal intervals, as [record.Course] cuts
// them. An interval without an answer takes both from the one before it, or at the beginning from
// the first that has any: a target that stood still for a moment must not hide its behavior before
// and after. With too many of those ([stats.FewHoles]) they keep values without a finite logarithm.
func (c *course) series() (latency, rate []float64, each time.Duration) {
	size := max((len(c.seconds)+record.MostIntervals-1)/record.MostIntervals, 1)
	var hole []bool
	holes := 0
	for i := 0; i+size <= len(c.seconds); i += size {
		var sum courseSecond
		for _, s := range c.seconds[i : i+size] {
			sum.response += s.response
			sum.timed += s.timed
			sum.ops += s.ops
		}
		latency = append(latency, math.Log(sum.response.Seconds()/float64(sum.timed)))
		rate = append(rate, math.Log(float64(sum.ops)/float64(size)))
		if hole = append(hole, sum.timed == 0); sum.timed == 0 {
			holes++
		}
	}
	if holes > 0 && stats.FewHoles(holes, len(hole)) {
		fill(latency, hole)
		fill(rate, hole)
	}
	return latency, rate, time.Duration(size) * time.Second
}

// fill gives every hole the value before it, and those at the beginning the first value. Not all
// are holes.
func fill(values []float64, hole []bool) {
	last := values[slices.Index(hole, false)]
	for i := range values {
		if hole[i] {
			values[i] = last
		}
		last = values[i]
	}
}

// stationary is the gate of the findings about a measured phase that was not steady from its
// beginning.
const stationary = "stationary"

// judgeSteady judges whether the measured phase was steady from its beginning. It skips phases
// below [stats.MinWarmup] seconds, phases in which too many intervals are without an answer, and
// phases with storms, which are meant to disturb it.
func (r *run) judgeSteady() {
	if r.Bounded == nil || len(r.Bounded.Storms) > 0 {
		return
	}
	// only the last part counts
	if n := int((r.now() - r.from) / time.Second); n < len(r.course.seconds) {
		r.course.seconds = r.course.seconds[len(r.course.seconds)-n:]
	}
	latency, rate, each := r.course.series()
	s := stats.SettlingOf(latency, rate)
	what, shift := "mean response", s.Shift
	if s.Rate {
		what = "throughput"
	}
	cut := time.Duration(s.Cut) * each
	share := 100 * float64(s.Cut) / float64(max(len(latency), 1))
	switch s.State {
	case stats.SettlingUnknown, stats.Settled:
	case stats.SettledLate:
		r.out.Validity.Add(record.Finding{
			Gate:  stationary,
			Level: record.Amber,
			Value: share,
			Unit:  "%",
			Text: fmt.Sprintf(
				"the first %v of the measured phase were still warm-up: their %s was %s than later, which moves that of the whole phase by %+.1f %%; set bounded.settle to %v",
				cut,
				what,
				apart(shift),
				100*math.Expm1(s.Bias),
				wholeSeconds(r.Bounded.Settle)+cut,
			),
		})
	case stats.NeverSettled:
		r.out.Validity.Add(record.Finding{
			Gate:  stationary,
			Level: record.Red,
			Value: share,
			Limit: 50,
			Unit:  "%",
			Text: fmt.Sprintf(
				"the measured phase was never steady: %s of its first %v was %s than of the rest, and no steady climb or fall explains it; find out what changed then, or measure longer",
				what,
				cut,
				apart(shift),
			),
		})
	}
}

// apart writes a difference of logarithms: "12.3 % higher".
func apart(d float64) string {
	word := "higher"
	if d < 0 {
		word = "lower"
	}
	return fmt.Sprintf("%.1f %% %s", 100*math.Abs(math.Expm1(d)), word)
}
