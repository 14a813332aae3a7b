package mattermost

import (
	"math/rand/v2"
	"slices"
)

// An action is something that a person does. Each theme's file declares its own actions; the list
// actions is all of them. A new action is a row and two functions in such a file.
type action struct {
	name string
	// weight is the frequency relative to create_post in the default mix.
	weight float64
	// needs is the feature that the server must have.
	needs feature
	// do carries the action out. It returns nil if all its calls succeeded and showed their effect,
	// an *OpError (recorded already) if one did not, a skipError if its objects do not exist, or
	// the context's cause at the end of the run. Its chance is the person's choice, content and
	// pick alone, which begin again with each action: how much one action draws cannot change the
	// next.
	do func(a *act) error
	// prove makes do possible, calls it (s.act) and shows its effect through another client. It
	// ends at its first error, see [check].
	prove func(s *stage)
	// handlers are the handlers of a production server whose calls count for the action, by the
	// names in the server's api4; a minus takes off calls that stand for another action, and two
	// names for one call are of different versions. Actions with the same handlers share the calls
	// as their weights do. Without any, an imported mix has the default weight.
	handlers string
	calls    float64 // of the handlers, made by one action on average
}

// A skipError is the reason for skipping an action: its object does not exist.
type skipError string

// Error returns the reason.
func (s skipError) Error() string { return string(s) }

// The reasons.
const (
	errNoChannel skipError = "no other channel of the kind"
	errNoPost    skipError = "no post to choose from"
	errNoSocket  skipError = "the WebSocket is down"
	errNoUser    skipError = "no other user to choose from"
	errNoTeam    skipError = "no other team"
	errOnlyToken skipError = "a token of workload.users_file is not logged out, since it opens all sessions"
)

// actions are all actions of persons.
var actions = slices.Concat(
	channelActions, sessionActions, createActions, postActions, urgentActions, threadActions,
	draftActions, searchActions, profileActions, bookmarkActions, integrationActions,
)

// A chance is the three streams that an action draws from. Each action gets new ones, seeded by two
// draws from the user's own stream of actions, so that the user's next action does not depend on
// the state of the server.
type chance struct {
	choice, content, pick *rand.Rand
	src                   [3]rand.PCG
}

func newChance() *chance {
	c := &chance{}
	c.choice, c.content, c.pick = rand.New(&c.src[0]), rand.New(&c.src[1]), rand.New(&c.src[2])
	return c
}

// renew starts the streams for one action.
func (c *chance) renew(a, b uint64) {
	for i := range c.src {
		c.src[i].Seed(a, b+uint64(i)<<56)
	}
}

// speeds are the factors on the think times of twenty persons in a row: 1, 2, 3, 6 and 30 for 5, 10,
// 15, 40 and 30 % of them, the classes of load-test-ng's sample configuration. They are dealt, not
// drawn, each to the class that is furthest behind its share: any twenty consecutive persons have
// exactly the shares, and fewer nearly.
var speeds = [20]float64{6, 30, 3, 6, 2, 30, 6, 1, 30, 6, 3, 6, 30, 6, 2, 30, 6, 3, 30, 6}

func speedOf(rank int) float64 { return speeds[rank%len(speeds)] }

// one draws an element of a list that is not empty.
func one[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
