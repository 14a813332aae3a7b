package plan

import (
	"math"
	"time"

	"plimsoll/stats"
)

// Within returns the plan of a comparison with as many blocks as take no more than left, six at
// least, when a run takes between besides its test; with "measure: auto", also with measured phases
// of one length. It is nil where left is less than least, the time of six blocks of the shortest
// runs. The plan has no search.
//
// The length leaves a difference the least variance in a given time (Kalibera and Jones 2013): the
// root of the time of a run outside its measured phase, times MeasureMax, by which the inside of a
// run leaves about as much variance as deployments have.
func (p *Plan) Within(left, between time.Duration) (q *Plan, least time.Duration) {
	b, c := *p.Bounded, *p.Compare
	outside, seats := between+b.Ramp+b.Settle, time.Duration(p.Seats())
	measure := b.Measure
	if b.Auto() {
		measure = b.MeasureMin
	}
	if least = stats.MinPairs * seats * (outside + measure); left < least {
		return nil, least
	}
	if b.Auto() {
		best := math.Sqrt(float64(outside) * float64(b.MeasureMax))
		measure = max(measure, min(time.Duration(best), b.MeasureMax))
	}
	c.Blocks = int(min(max(left/(seats*(outside+measure)), stats.MinPairs), maxBlocks))
	if b.Auto() {
		each := left/(seats*time.Duration(c.Blocks)) - outside
		measure = max(min(each, b.MeasureMax).Truncate(time.Second), b.MeasureMin)
		b.MeasureMin = 0
		b.MeasureMax = 0
	}
	b.Measure = measure
	q = new(*p)
	q.Bounded = &b
	q.Compare = &c
	c.Retry = min(c.Retry, q.defaultRetry())
	return q, least
}
