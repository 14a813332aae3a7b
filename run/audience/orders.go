package audience

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/run/live"
	"plimsoll/run/trial"
)

const (
	mostOver = 600 // seconds over which users may come
	// mostTimes bounds the users that a person may set, in multiples of the plan's: sockets and
	// memory are for the plan's.
	mostTimes = 10
)

// Orders implements [trial.Audience].
func (a *Viewers) Orders() []live.Order {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.orders
	a.orders = nil
	return out
}

// LastOrders implements [trial.Audience].
func (a *Viewers) LastOrders() []live.Order {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	return a.Orders()
}

// order accepts or refuses an order.
func (a *Viewers) order(o live.Order) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.Over < 0 || o.Over > mostOver {
		return "", fmt.Errorf("over %g s: want 0 to %d", o.Over, mostOver)
	}
	if a.over && (o.Do == live.OrderUsers || o.Do == live.OrderStorm) {
		return "", errors.New(
			"users can be set, and storms injected, until the bounded test ends, and it has ended",
		)
	}
	switch o.Do {
	case live.OrderStop:
		if a.stop == nil {
			return "", errors.New("this program cannot be stopped from here")
		}
		a.hand = cmp.Or(a.hand, "it was stopped by hand")
		a.stop(errStopped)
		return "It ends in order: users, servers and databases are stopped.", nil
	case live.OrderUsers:
		switch {
		case o.Users < 0 || o.Users > a.most:
			return "", fmt.Errorf("%d users: want 0 to %d, %s", o.Users, a.most, a.bound)
		case !slices.Contains([]string{"ramp", "settle", "soak", "measure"}, a.phase):
			return "", fmt.Errorf(
				"users can be set while a bounded test has its users, and this is the phase %q: a search sets them itself",
				a.phase,
			)
		}
		a.orders = append(a.orders, o)
		return fmt.Sprintf(
			"%d users are wanted from the next tick on. The run is exploratory now.",
			o.Users,
		), nil
	case live.OrderStorm:
		switch {
		case !slices.Contains(a.like.Storms, o.Kind):
			return "", fmt.Errorf("storm %q: these users take part in %v", o.Kind, a.like.Storms)
		case !(o.Share > 0 && o.Share <= 1):
			return "", fmt.Errorf("share %g: want more than 0, at most 1", o.Share)
		case a.phase != "measure":
			return "", fmt.Errorf(
				"a storm can be injected in the phase measure, and this is the phase %q",
				a.phase,
			)
		}
		a.orders = append(a.orders, o)
		return fmt.Sprintf(
			"The storm %s begins with the next tick. The run is exploratory now.",
			o.Kind,
		), nil
	}
	return "", fmt.Errorf(
		"order %q: want %s, %s or %s",
		o.Do,
		live.OrderStop,
		live.OrderUsers,
		live.OrderStorm,
	)
}

// errStopped is the cause of the end of an invocation that was stopped from a console.
var errStopped = errors.New("stopped by hand in the console")

// Steered returns how the run was steered; empty when it was not.
func (a *Viewers) Steered(out *trial.Outcome) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(out.Exploratory, a.hand)
}

// mostUsers returns how many users a person may set in a run that was made ready for so many, and
// why no more.
func mostUsers(ready int, mix []engine.Part) (most int, bound string) {
	most = max(mostTimes*ready, 1000)
	bound = fmt.Sprintf("the most that a run of %d users takes", ready)
	for _, part := range mix {
		b, ok := part.Behavior.(workload.Limited)
		if !ok || part.Share <= 0 {
			continue
		}
		// One more was provisioned than the share, for what rounding deals to a part.
		if n, ok := b.Most(); ok && float64(n-1)/part.Share < float64(most) {
			most = int(float64(n-1) / part.Share)
			bound = "the users that have accounts: a plan for more makes more"
		}
	}
	return max(most, ready), bound
}

// stormKinds are the kinds of storms that the users of a mix take part in.
func stormKinds(mix []engine.Part) []string {
	var out []string
	for _, part := range mix {
		if x, ok := part.Behavior.(workload.StormKinds); ok {
			out = append(out, x.StormKinds()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
