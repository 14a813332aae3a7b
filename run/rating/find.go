package rating

import (
	"context"
	"strings"
	"time"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
)

// A Result is the rating of a host.
type Result = calibration.Result

// Find returns the rating of this host: a kept one unless it is forced, or a new one, which takes
// length (0 for the default). known reports that it was kept.
func (x Rater) Find(ctx context.Context, force bool, length time.Duration) (
	r calibration.Result, known bool, err error,
) {
	if !force {
		if r, known, err = Kept(x.Root); known || err != nil {
			return r, known, err
		}
	}
	r, err = x.Measure(ctx, length)
	return r, false, err
}

// Rate returns the rating of this host, which is measured where none is kept, if that is allowed;
// nil without one. A rating that fails is reported and does not prevent a run: the gate headroom
// then has no reading.
func (x Rater) Rate(
	ctx context.Context, allowed bool, say func(format string, args ...any),
) *Result {
	if !allowed {
		if r, known, err := Kept(x.Root); err == nil && known {
			return &r
		}
		return nil
	}
	r, known, err := x.Find(ctx, false, 0)
	if err != nil {
		say("no rating of the generator: %v", err)
		return nil
	}
	if !known {
		for line := range strings.Lines(Describe(r)) { // a line of the progress is one line
			say("%s", strings.TrimSuffix(line, "\n"))
		}
	}
	return &r
}

// ForCoordinators returns the function that gives this host's rating to coordinators; its result is
// nil where there is none. With measure, a host without a rating is rated first.
func (x Rater) ForCoordinators(
	ctx context.Context, measure bool, say func(format string, args ...any),
) func() *join.Rating {
	return func() *join.Rating {
		r, known, err := Kept(x.Root)
		if err != nil {
			say("no rating of this host: %v", err)
			return nil
		}
		if known {
			return OfHost(r)
		}
		if !measure {
			return nil
		}
		if one := x.Rate(ctx, true, say); one != nil {
			return OfHost(*one)
		}
		return nil
	}
}
