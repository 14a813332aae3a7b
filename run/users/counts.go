package users

import (
	"plimsoll/load/wire"
)

// A Counter counts what the users of a run receive, since they began. A [Population] is one.
type Counter interface {
	// Stamps returns how the bytes were dated.
	Stamps() wire.Clocks
	// Refused returns what was refused, and the most bytes that answers under way held at once.
	Refused() (wire.Refusals, int64)
}

// A Receipt counts what the users of a run receive from its beginning on.
type Receipt struct {
	counter Counter
	stamps  wire.Clocks
	refused wire.Refusals
}

// Count begins a receipt now.
func Count(c Counter) Receipt {
	refused, _ := c.Refused()
	return Receipt{counter: c, stamps: c.Stamps(), refused: refused}
}

// Dated returns how the bytes were dated so far.
func (x Receipt) Dated() Received {
	return Received{Stamps: x.counter.Stamps().Sub(x.stamps)}
}

// Refused sets what was refused so far.
func (x Receipt) Refused(r *Received) {
	refused, held := x.counter.Refused()
	r.Refused = refused.Sub(x.refused)
	r.Held = held
}
