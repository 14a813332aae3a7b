package workload

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"plimsoll/load/clock"
)

// StormPrefix is the prefix of the series of storms: [Storm.Series].
const StormPrefix = "storm_"

// A Storm is something that many users do at nearly the same time, apart from their own behavior.
type Storm struct {
	// Kind is one of the kinds of the users' behavior.
	Kind string
	// Index is the storm's place in the plan, from 0. With the seed it decides which users take
	// part.
	Index int
	// Share of the users of behaviors that support the kind, 0 to 1. 0 is a single one of them, for
	// an action of one user that affects all others.
	Share float64
	// Over is the time from the first user to the last.
	Over time.Duration
	// Params are the kind's own settings.
	Params map[string]string
	// Number is the place among those who take part, from 0, and Of their number. The engine sets
	// both for each user.
	Number, Of int
}

// Series returns the name of the series for an operation of the storm: storm_KIND_op.
func (s Storm) Series(op string) string { return StormPrefix + s.Kind + "_" + op }

// A Stormer is an Actor that can take part in storms.
type Stormer interface {
	// Storm does one user's part. The engine calls it like Act, between two actions, interrupting a
	// think time; its operations are recorded under Storm.Series. It returns nil when the user is
	// back where it was, and [ErrNotBack] when it is not but goes on, as after a failure of the
	// server, which is recorded. Any other error means that the user cannot go on.
	Storm(ctx context.Context, s Storm) error
}

// ErrNotBack is returned by [Stormer.Storm] for a user whose part in the storm was not carried out.
var ErrNotBack = errors.New("the user's part in the storm was not carried out")

// StormKinds is implemented by behaviors whose actors are Stormers.
type StormKinds interface {
	// StormKinds returns the kinds that the actors support. It may be called at any time.
	StormKinds() []string
}

// StormUsers returns which of n users, numbered from 0 within their behavior, take part in a storm,
// in ascending order: share of them, rounded, or one if share is 0. It is a function of its
// arguments alone; no user's stream is touched. Of every 20 consecutive users the share takes part
// as closely as whole users allow, and chance decides which, so that no class that is dealt by
// number is spared or hit.
func StormUsers(seed uint64, index, n int, share float64) []int {
	const block = 20
	rnd := rand.New(rand.NewPCG(seed, 0x570f<<32|uint64(uint32(index))))
	if share == 0 && n > 0 {
		return []int{rnd.IntN(n)}
	}
	var out []int
	for from := 0; from < n; from += block {
		to := min(from+block, n)
		want := int(math.Round(share*float64(to))) - int(math.Round(share*float64(from)))
		// always the whole block: the choice of a user does not depend on how many follow
		perm := rnd.Perm(block)
		var chosen []int
		for _, k := range perm {
			if from+k < to && len(chosen) < want {
				chosen = append(chosen, from+k)
			}
		}
		slices.SortFunc(chosen, cmp.Compare[int])
		out = append(out, chosen...)
	}
	return out
}

// A StormState is the progress of a storm. Methods are safe for concurrent use.
type StormState struct {
	// Affected is the number of users who take part.
	Affected int
	clock    *clock.Clock
	began    time.Duration

	mu           sync.Mutex
	done, missed int
	last         time.Duration
}

// NewStormState returns the state of a storm that begins now with so many users, in the time of a
// clock.
func NewStormState(affected int, c *clock.Clock) *StormState {
	return &StormState{Affected: affected, clock: c, began: c.Now()}
}

// Done records that one user is back.
func (s *StormState) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.last = s.clock.Now()
}

// Miss records that one user will not take part, or did not come back.
func (s *StormState) Miss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed++
}

// Report replaces the state: the users are in other processes.
func (s *StormState) Report(done, missed int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = done
	s.missed = missed
	s.last = s.began + took
}

// Progress returns how many users are back, how many will not be, and how long after the storm's
// beginning the last came back.
func (s *StormState) Progress() (done, missed int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done > 0 {
		took = s.last - s.began
	}
	return s.done, s.missed, took
}
