package users

import (
	"fmt"
	"strings"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// ratings returns the members' ratings when the plan divides the users by them, and nil when it
// divides them equally. An error has a line for each member without one.
func ratings(p *plan.Plan, members []join.Member) ([]int, error) {
	if p.Placement.Share != plan.ShareRating {
		return nil, nil
	}
	var out []int
	var lines []string
	for _, m := range members {
		switch r := m.Rating; {
		case r == nil:
			lines = append(
				lines,
				fmt.Sprintf("agent %s (%s): it has no rating of its present hardware "+
					"and settings", m.Name, m.Host),
			)
		case r.Users < 1 || r.Users > workload.MostRated:
			lines = append(
				lines,
				fmt.Sprintf("agent %s (%s): its rating of %d users is not possible; "+
					"want 1 to %d", m.Name, m.Host, r.Users, workload.MostRated),
			)
		default:
			out = append(out, r.Users)
		}
	}
	if len(lines) == 0 {
		return out, nil
	}
	return nil, plan.Usagef("placement.share: users are divided by the hosts' ratings, and %d of "+
		"%d agents have none; run plimsoll calibrate -agent on each of their hosts "+
		"and start the agents again, or start them with -calibrate, or write share: equal\n  %s",
		len(lines), len(members), strings.Join(lines, "\n  "))
}

// NotRated is the reason for a load without a share of this host's rating.
const NotRated = "this host was not calibrated"

// Used returns a function that computes the share of a host's rating that users at a pace need,
// with their operations a second. Of several hosts, the host with the least left counts. here is
// the rating of this host, for users on it. Without ratings share is nil, and why has the reason.
func (y Layout) Used(here *calibration.Result,
	pace float64) (share func(users int, ops float64) float64, why string) {
	hosts, why := y.hosts(here)
	if why != "" {
		return nil, why
	}
	deal, err := workload.NewDeal(len(hosts), y.Ratings)
	if err != nil {
		return nil, err.Error()
	}
	return func(users int, ops float64) (most float64) {
		for i, n := range deal.Hosts(users) {
			// the operations of all are known, and go by the parts
			share, _ := hosts[i].Headroom(n, pace, ops*deal.Part(i))
			most = max(most, share)
		}
		return most
	}, ""
}

// hosts returns the ratings of the hosts that have the users, or why there are none.
func (y Layout) hosts(here *calibration.Result) (out []calibration.Result, why string) {
	if len(y.Members) == 0 {
		if here == nil {
			return nil, NotRated
		}
		return []calibration.Result{*here}, ""
	}
	var unrated []string
	for _, m := range y.Members {
		if m.Rating == nil {
			unrated = append(unrated, m.Name)
			continue
		}
		out = append(out, calibration.Result{PacedOps: m.Rating.OpsPerSecond,
			OpsPerUserSecond: m.Rating.OpsPerUserSecond})
	}
	if len(unrated) > 0 {
		return nil, fmt.Sprintf(
			"%d of %d agents' hosts were not calibrated, %s's first",
			len(unrated),
			len(y.Members),
			unrated[0],
		)
	}
	return out, ""
}
