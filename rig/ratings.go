package rig

import (
	"context"
	"fmt"
	"math"
	"strings"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/watch/probe"
)

// ratingOf returns the rating of this host for coordinators, with all cores that this process may use; nil if it has
// none.
func (pr *Program) ratingOf(ctx context.Context, a Attendance, progress *Reporter) *join.Rating {
	host := probe.Fingerprint()
	r, known, err := keptRating(a.Store, ratedAs(host))
	if err == nil && !known && a.Calibrate {
		s := &Session{Program: pr, Progress: progress}
		if s.Store, err = store.Open(a.Store); err == nil {
			s.rate(ctx, true)
		}
		if s.rating != nil {
			r, known = *s.rating, true
		}
	}
	if err != nil {
		progress.Say("no rating of this host: %v", err)
	}
	if !known {
		return nil
	}
	users, _ := r.InProcesses(memoryOfUsers(host))
	return &join.Rating{Users: users, OpsPerSecond: r.PacedOps, OpsPerUserSecond: r.OpsPerUserSecond, Date: r.Date}
}

// ratings returns the hosts' ratings when the plan divides the users by them, and nil when it divides them equally. An
// error has a line for each host without one.
func (s *Session) ratings(members []join.Member) ([]int, error) {
	if s.Plan.Placement.Share != plan.ShareRating {
		return nil, nil
	}
	var out []int
	var lines []string
	for _, m := range members {
		switch r := m.Rating; {
		case r == nil:
			lines = append(lines, fmt.Sprintf("agent %s (%s): it has no rating of its present hardware and settings", m.Name, m.Host))
		case r.Users < 1 || r.Users > workload.MostRated:
			lines = append(lines, fmt.Sprintf("agent %s (%s): its rating of %d users is not possible; want 1 to %d", m.Name, m.Host, r.Users, workload.MostRated))
		default:
			out = append(out, r.Users)
		}
	}
	if len(lines) > 0 {
		return nil, plan.Usagef("placement.share: users are divided by the hosts' ratings, and %d of %d agents have none; run plimsoll calibrate -agent on each of their hosts "+
			"and start the agents again, or start them with -calibrate, or write share: equal\n  %s", len(lines), len(members), strings.Join(lines, "\n  "))
	}
	return out, nil
}

// split divides users and their connections among agents: how many processes each of them starts. All have as many as the
// one that needs most, so that an agent's number says on which host it is.
func (s *Session) split(members []join.Member, ratings []int, users, conns int) (int, error) {
	deal, err := workload.NewDeal(len(members), ratings)
	if err != nil {
		return 0, err
	}
	most := max(s.Plan.Placement.Processes, 1)
	for i, has := range deal.Hosts(users) {
		n, err := processes(has, int(math.Ceil(float64(conns)*float64(has)/float64(max(users, 1)))), probe.Limits{Files: members[i].Files})
		if err != nil {
			return 0, fmt.Errorf("agent %s: %w", members[i].Name, err)
		}
		most = max(most, n)
	}
	return most, nil
}

// driven returns which share of the calibrated ability a load needs: of this host, or of the other hosts' the one that
// has the least left. Without ratings it is nil, and why has the reason.
func (s *Session) driven(y layout) (share func(users int, ops float64) float64, why string) {
	pace := s.Plan.Workload.Pace
	if s.Plan.Workload.Behavior != s.Rated {
		pace = math.Inf(1) // the rating's users are of another kind: only operations compare
	}
	if s.fleet == nil {
		if s.rating == nil {
			return nil, notRated
		}
		return func(users int, ops float64) float64 {
			share, _ := s.rating.Headroom(users, pace, ops)
			return share
		}, ""
	}
	var unrated []string
	var hosts []calibration.Result
	for _, m := range y.members {
		if m.Rating == nil {
			unrated = append(unrated, m.Name)
			continue
		}
		hosts = append(hosts, calibration.Result{PacedOps: m.Rating.OpsPerSecond, OpsPerUserSecond: m.Rating.OpsPerUserSecond})
	}
	if len(unrated) > 0 {
		return nil, fmt.Sprintf("%d of %d agents' hosts were not calibrated, %s's first", len(unrated), len(y.members), unrated[0])
	}
	deal, err := workload.NewDeal(len(hosts), y.ratings)
	if err != nil {
		return nil, err.Error()
	}
	return func(users int, ops float64) (most float64) {
		for i, n := range deal.Hosts(users) {
			share, _ := hosts[i].Headroom(n, pace, ops*deal.Part(i)) // the operations of all are known, and go by the parts
			most = max(most, share)
		}
		return most
	}, ""
}
