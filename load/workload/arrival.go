package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"plimsoll/load/clock"
)

// Arrival is the series of arrivals that no server had: those dropped, because more of them waited
// than the plan allows, and those that still waited when the phase and its drain were over, with
// their age.
const Arrival = "arrival"

// An ArrivalBehavior is a [Behavior] whose actions do not depend on who does them, so that they can
// come by a schedule.
type ArrivalBehavior interface {
	Behavior
	// NewServer returns a server of arrivals with connections of its own. u has a rank and a number
	// of its own, beyond what all users have.
	NewServer(env Env, u *User) (Server, error)
}

// A Server is an Actor that serves arrivals, one at a time. Its Think and Act are not called.
type Server interface {
	Actor
	// Serve performs the work of arrival k, which is a function of the user's streams: the engine
	// has turned them to the arrival. Otherwise it is as Act.
	Serve(ctx context.Context, k int64) error
}

// firstServer is the number of the first user that serves arrivals.
const firstServer = 1 << 40

// streamArrivals is the stream of the moments of arrivals, of no user.
const streamArrivals = 1<<63 | 1

// NewServerUser returns the i-th user that serves arrivals.
func NewServerUser(i int, env Env, c *clock.Clock) *User {
	return NewUser(firstServer+i, i, env.Seed, env.Pace, env.Registry.Recorder(i), c)
}

// Become turns the user's streams to arrival k: they are a function of seed and k alone.
func (u *User) Become(k int64) {
	for i, p := range u.sources {
		p.Seed(u.seed, 1<<62|uint64(k)<<8|uint64(i+1))
	}
}

// ArrivalTimes are the moments of one agent's arrivals as offsets from the epoch: those that a deal
// gives it of the one sequence of the seed, so that any number of agents together have the same
// arrivals. It is not safe for concurrent use.
type ArrivalTimes struct {
	rate   float64
	agent  int
	deal   *Deal
	k      int64 // of the next arrival of the whole sequence
	at     float64
	chance *rand.Rand // nil: even intervals
}

// NewArrivals returns the schedule of one agent of a deal of rate arrivals per second of all
// agents.
func NewArrivals(rate float64, poisson bool, seed uint64, agent int, d *Deal) *ArrivalTimes {
	a := &ArrivalTimes{rate: rate, agent: agent, deal: d}
	if poisson {
		a.chance = rand.New(rand.NewPCG(seed, streamArrivals))
	}
	return a
}

// Next returns the next arrival's number in the whole sequence, and its moment.
func (a *ArrivalTimes) Next() (k int64, at time.Duration) {
	for {
		k = a.k
		a.k++
		agent, _ := a.deal.Of(int(k))
		if a.chance == nil {
			// From k alone, so that no error adds up.
			if agent == a.agent {
				return k, time.Duration(float64(k) / a.rate * float64(time.Second))
			}
			continue
		}
		a.at += a.chance.ExpFloat64() / a.rate
		if agent == a.agent {
			return k, time.Duration(a.at * float64(time.Second))
		}
	}
}
