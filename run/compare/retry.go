package compare

import (
	"context"
	"fmt"
	"time"

	"plimsoll/record"
)

// firstWait is the longest that the first wait for a quiet host takes; each further one may take
// twice as long as the one before.
const firstWait = 30 * time.Second

// again waits for a quiet host and reports whether something void is run again, after tries others:
// while the plan's time for it is not used up, and as often as there are blocks at most. In a
// resumed comparison, repetitions before the cut are repeated here: matches reports whether a
// recorded run belongs to the same one.
func (r *runner) again(
	ctx context.Context, tries int, matches func(next record.ComparisonRun) bool,
) (ok bool, err error) {
	for _, next := range r.past {
		if matches(next) || !next.Cut {
			return matches(next), nil
		}
	}
	left := r.plan.Compare.Retry - r.c.Retried
	if left <= 0 || tries >= r.c.Blocks {
		return false, nil
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if r.quiet == nil {
		return true, nil
	}
	most := min(firstWait<<min(tries, 10), left/2) // the other half stays for running
	began := r.now()
	err = r.quiet(ctx, most)
	took := r.now().Sub(began)
	r.c.Waited += took
	r.c.Retried += took
	if err != nil {
		return false, fmt.Errorf("waiting for a quiet host: %w", err)
	}
	return true, nil
}
