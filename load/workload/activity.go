package workload

import "time"

// Activity sums the time of all users of a driver since the previous call.
type Activity struct {
	// Begun counts the actions and arrivals that began in each 100 ms that has passed.
	Begun []uint32
	// Think and Busy are the planned pauses before, and the lengths of, the actions that ended;
	// Actions is their number.
	Think, Busy time.Duration
	// Open is the growth of the time in pauses and actions that have not ended: their part before
	// now, less their part before the previous call. Without it, long pauses that a stretch cuts at
	// its ends would be missed.
	Open    time.Duration
	Actions uint64
	// Wanted counts the arrivals of the schedule, Served the ones that began in time or waited for
	// the target; the others were dropped or are still to begin although there is room.
	Wanted, Served uint64
}

// Add returns the sum of both.
func (c Activity) Add(o Activity) Activity {
	return Activity{
		Begun:   append(c.Begun, o.Begun...),
		Think:   c.Think + o.Think,
		Busy:    c.Busy + o.Busy,
		Open:    c.Open + o.Open,
		Actions: c.Actions + o.Actions,
		Wanted:  c.Wanted + o.Wanted,
		Served:  c.Served + o.Served,
	}
}
