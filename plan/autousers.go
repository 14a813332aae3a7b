package plan

import (
	"math"
	"strconv"
	"time"
)

// autoUsers is bounded.users of a test whose number of users a pilot finds.
const autoUsers = math.MinInt

// parseUsers reads a number of users for all engines.
func parseUsers(s string) (int, error) {
	if s == autoWord {
		return autoUsers, nil
	}
	n, err := parseInt(s)
	if err != nil {
		err = refuse(s, "is no number of users; want one such as 200, or auto")
	}
	return n, err
}

// users is the type of a number of users, or of the word auto.
var users = single("a number of users, or auto", parseUsers, func(n int) string {
	if n == autoUsers {
		return autoWord
	}
	return strconv.Itoa(n)
}, integer.schema(integer))

// AutoUsers reports whether a pilot finds the number of users, on each engine. [Bounded.UsersFor]
// has none until it has; see [Plan.WithUsers].
func (b *Bounded) AutoUsers() bool { return b != nil && b.Users[""] == autoUsers }

// WithUsers returns a copy of the plan whose bounded test, which it has, has these numbers of
// users.
func (p *Plan) WithUsers(users PerEngine) *Plan {
	q, b := *p, *p.Bounded
	b.Users = users
	q.Bounded = &b
	return &q
}

// WithUsersOf returns a plan with the numbers that another one has, which a pilot found, where it
// leaves them open.
func (p *Plan) WithUsersOf(found *Plan) *Plan {
	if !p.Bounded.AutoUsers() || found.Bounded == nil {
		return p
	}
	return p.WithUsers(found.Bounded.Users)
}

// MostAutoUsers is the largest number that a pilot may find: it leaves a search room above it.
func (p *Plan) MostAutoUsers() int {
	if p.Unbounded != nil {
		return max(p.Unbounded.MaxUsers-1, 1)
	}
	return MaxUsers
}

// loadIsChosen reports whether the plan leaves both the users and the lengths of its only test
// open.
func (d *decoder) loadIsChosen(p *Plan) bool {
	return p.Bounded.AutoUsers() && d.auto("bounded.measure") && p.Unbounded == nil
}

// fillLoad fills in the usual pace, ramp and settling. Where the load is chosen for the plan, few
// users who act fast put it on the target: accounts and arrivals cost a real server more than users
// do, and ramp and settling are as short as their number allows.
func (d *decoder) fillLoad(p *Plan) {
	pace := 1.0
	ramp := time.Minute
	settle := time.Minute
	if d.loadIsChosen(p) {
		pace = 0.03
		ramp = 4 * time.Second
		settle = 6 * time.Second
	}
	fill(d, "workload.pace", &p.Workload.Pace, pace)
	if b := p.Bounded; b != nil {
		fill(d, "bounded.ramp", &b.Ramp, ramp)
		fill(d, "bounded.settle", &b.Settle, settle)
	}
}

// checkAutoUsers refuses users of an unknown number where the load is not theirs alone, or not of
// any number.
func (d *decoder) checkAutoUsers(p *Plan) {
	const path = "bounded.users"
	switch {
	case !p.Bounded.AutoUsers() || !d.good(path):
	case p.Workload.Arrival != nil:
		d.at(path, "auto looks for the load by the number of users, and workload.arrival is load "+
			"without users; write a number, or remove it")
	case p.Workload.UsersFile != "":
		d.at(path, "auto leaves open how many accounts of workload.users_file are needed; "+
			"write a number")
	}
}
