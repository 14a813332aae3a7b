package rig

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet/join"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/run/health"
	"plimsoll/run/rating"
	"plimsoll/watch/probe"
)

// ratingOf returns the rating of this host for coordinators, with all cores that this process may use; nil if it has
// none.
func (pr *Program) ratingOf(ctx context.Context, a Attendance, progress *Reporter) *join.Rating {
	r, known, err := rating.Kept(a.Store)
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
	return rating.OfHost(r)
}

// rate makes sure that the session has a rating, if it may take the time. A rating that fails is reported and does not
// prevent a run: the gate headroom then has no reading.
func (s *Session) rate(ctx context.Context, allowed bool) {
	if !allowed {
		if r, known, err := rating.Kept(s.Store.Root()); err == nil && known {
			s.rating = &r
		}
		return
	}
	r, known, err := s.Calibrated(ctx, false, 0)
	if err != nil {
		s.Progress.Say("no rating of the generator: %v", err)
		return
	}
	if !known {
		for line := range strings.Lines(rating.Describe(r)) { // a line of the progress is one line
			s.Progress.Say("%s", strings.TrimSuffix(line, "\n"))
		}
	}
	s.rating = &r
}

// Calibrated returns the rating of this host with the session's cores: a kept one unless it is forced, or a new one,
// which takes length.
func (s *Session) Calibrated(ctx context.Context, force bool, length time.Duration) (r calibration.Result, known bool, err error) {
	if !force {
		if r, known, err = rating.Kept(s.Store.Root()); known || err != nil {
			return r, known, err
		}
	}
	r, err = rating.Rater{
		Root: s.Store.Root(), Version: s.Version, Null: s.null(), CPUs: s.generator,
		Behavior: s.Dialects.Behaviors()[s.Rated](), Timeout: opTimeout, Doing: s.Progress.Doing,
	}.Measure(ctx, length)
	return r, false, err
}

// null returns the null server, on the target's cores.
func (s *Session) null() rating.Null { return rating.Null{Verb: s.Program.Null, CPUs: s.targets} }

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

// headroom returns which share of the calibrated ability a load needs: of this host, or of the other host that has the
// least left.
func (s *Session) headroom(y layout) (out health.Headroom) {
	pace := s.Plan.Workload.Pace
	if s.Plan.Workload.Behavior != s.Rated {
		pace = math.Inf(1) // the rating's users are of another kind: only operations compare
	}
	var share rating.Share
	if s.fleet == nil {
		share, out.Why = rating.Here(s.rating, pace)
	} else {
		share, out.Why = rating.Elsewhere(y.members, y.ratings, pace)
	}
	out.Share = share
	return out
}
