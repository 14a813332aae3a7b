package compare

import (
	"context"
	"fmt"
	"math"

	"plimsoll/record"
)

// pilots finds where the searches begin. A pilot that finds nothing is made once more, when the
// host is quiet and there is time; after that the searches begin at the plan's start.
func (r *runner) pilots(ctx context.Context) error {
	u := r.plan.Unbounded
	if u == nil {
		return nil
	}
	for i, engine := range r.c.Engines {
		if n, ok := u.Start.For(engine); ok {
			r.c.Start[engine] = n
			continue
		}
		pilots := len(r.c.Engines)
		runs := r.c.Blocks * len(r.c.Arms) * pilots
		left := runs + pilots - i - 1
		pilot := cell{
			arm:    r.c.Arms[0],
			engine: engine,
			pilot:  true,
			index:  i + 1,
			of:     pilots,
			left:   left,
		}
		if err := r.pilot(ctx, pilot); err != nil {
			return err
		}
	}
	return nil
}

// pilot makes a pilot, and once more where it finds no capacity.
func (r *runner) pilot(ctx context.Context, pilot cell) error {
	found, err := r.startBy(ctx, pilot)
	if found || err != nil {
		return err
	}
	ok, err := r.again(ctx, 0, func(next record.ComparisonRun) bool {
		return next.Pilot && next.Engine == pilot.engine
	})
	if err != nil || !ok {
		return err
	}
	pilot.again = true
	_, err = r.startBy(ctx, pilot)
	return err
}

// startBy sets the start of searches on the engine of a pilot by the capacity that it finds. It
// notes the reason if it finds none.
func (r *runner) startBy(ctx context.Context, pilot cell) (found bool, err error) {
	run, err := r.runCell(ctx, pilot)
	if err != nil {
		return false, err
	}
	if start, ok := searchStart(run.capacity); ok {
		r.c.Start[pilot.engine] = start
		delete(r.c.Unguided, pilot.engine)
		return true, nil
	}
	why := "it has none"
	if run.capacity != nil {
		why = run.capacity.Why
	}
	if r.c.Unguided == nil {
		r.c.Unguided = map[string]string{}
	}
	r.c.Unguided[pilot.engine] = fmt.Sprintf("pilot %s found no capacity: %s", run.Run, why)
	return false, nil
}

// pilotShare is the start of searches, as a share of the discarded pilot's capacity.
const pilotShare = 0.6

// searchStart returns the number of users at which searches begin after a pilot with this capacity.
func searchStart(c *record.Capacity) (users int, ok bool) {
	if c == nil || c.Kind == record.Invalid {
		return 0, false
	}
	known := c.Users
	switch c.Kind {
	case record.AtLeast: // a start may lie above the level of the bound
		known = max(known, c.Reached)
	case record.Unstable: // where the target held in any case, or else where it held once
		if known = c.Held; known == 0 {
			known = c.Reached
		}
	}
	if known < 1 {
		return 0, false
	}
	return max(int(math.Round(known*pilotShare)), 1), true
}
