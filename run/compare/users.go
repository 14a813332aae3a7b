package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/session"
	"plimsoll/run/trial"
)

const (
	firstLevel = 10 // users of the first window of a pilot
	// accountsPart is the part of the minutes of a comparison that its accounts may take,
	// pilotsPart the part that pilots may, and arrivalsPart the part of ramp and settling that the
	// work of arrivals may.
	accountsPart = 0.25
	pilotsPart   = 0.2
	arrivalsPart = 0.4
)

// FindUsers has a pilot find the number of users of a part, where the plan leaves it open, and
// makes it the plan's.
func FindUsers(ctx context.Context, s *session.Session, pt session.RunPart) error {
	if !pt.Bounded || !s.Plan.Bounded.AutoUsers() {
		return nil
	}
	l, err := findLevel(ctx, s, pt, 0)
	if err == nil {
		s.Plan = s.Plan.WithUsers(plan.PerEngine{"": l.Users})
	}
	return err
}

// findLevels is FindUsers for the base of a comparison on each database. The comparison takes so
// many minutes; 0 for any time.
func findLevels(
	ctx context.Context,
	s *session.Session,
	minutes int,
) (levels []record.UserLevel, err error) {
	p := s.Plan
	if !p.Bounded.AutoUsers() {
		return nil, nil
	}
	engines := comparison.Engines(p)
	users := plan.PerEngine{}
	for _, e := range engines {
		pt := session.RunPart{Arm: plan.Base, Engine: p.EngineOf(plan.Base, e), Bounded: true}
		l, err := findLevel(ctx, s, pt, minutes)
		if err != nil {
			return nil, err
		}
		l.Engine = e
		users[e] = l.Users
		levels = append(levels, l)
	}
	if len(engines) == 1 {
		users = plan.PerEngine{"": users[engines[0]]}
	}
	s.Plan = p.WithUsers(users)
	return levels, nil
}

// findLevel makes pilots of a part until one has enough accounts for the level. Each has its system
// for itself, all the time, in a duet too: a turn has the whole of the cores.
func findLevel(
	ctx context.Context,
	s *session.Session,
	pt session.RunPart,
	minutes int,
) (l record.UserLevel, err error) {
	if err := s.CheckVisible(s.Plan, pt.Arm); err != nil {
		return l, err
	}
	limit := s.Plan.MostAutoUsers()
	pt.Pilot = true
	pt.Unbounded = false
	pt.Start = firstLevel
	began := time.Now()
	for pt.Most = min(session.FirstAccounts, limit); ; {
		s.Progress.What("pilot  users of "+onEngine(cmp.Or(pt.Arm, "the target"), pt.Engine), 0)
		r, found, took, err := pilotUsers(ctx, s, pt)
		if err != nil {
			return l, err
		}
		limitFound(s.Plan, found, limit, minutes, accounts{pt.Most, took}, time.Since(began))
		if !found.Capped || pt.Most >= limit {
			l = record.UserLevel{
				Users: found.Users, Role: found.Role, Utilization: found.Utilization,
				Why: found.Short, Run: r.Manifest.ID,
			}
			s.Progress.Say("bounded.users: %s", named(pt.Engine, l.String()))
			return l, nil
		}
		pt.Start = pt.Most
		pt.Most = min(limit, max(2*pt.Most, found.Wanted+found.Wanted/2))
	}
}

// accounts is the number of accounts that a deployment made, and how long it took.
type accounts struct {
	made int
	took time.Duration
}

// limitFound limits the users of a level that a pilot found: by the plan, by the work of arrivals,
// and, in a comparison of requested minutes, by the time for accounts and for another pilot after
// pilots that took passed.
func limitFound(
	p *plan.Plan,
	found *trial.FoundLevel,
	limit, minutes int,
	of accounts,
	passed time.Duration,
) {
	found.Wanted = min(found.Wanted, limit)
	why := fmt.Sprintf(
		"each costs %v of the target's cores as it arrives; a longer bounded.ramp allows more, "+
			"and with a shorter workload.pace each does more",
		found.Arrival.Round(time.Millisecond),
	)
	limitUsers(found, arrivalsFor(p.Bounded, found.Arrival), why)
	if minutes == 0 {
		return
	}
	pilots := len(comparison.Engines(p))
	most := accountsFor(minutes, of.made, of.took, pilots, p.Seats())
	why = fmt.Sprintf("accounts for more would take over %.0f %% of the %d minutes; "+
		"with a shorter workload.pace each does more", 100*accountsPart, minutes)
	limitUsers(found, max(most, found.Users), why)
	if found.Capped && pilotsLast(minutes, pilots, passed) {
		from := fmt.Sprintf(" from %.0f %% at %d users", 100*found.Utilization, found.Users)
		found.Predict(min(found.Wanted, 2*found.Users), from)
	}
}

// accountsFor returns how many accounts each system of a comparison can have, at the pace of a
// deployment that made some. The pilots' systems and the arms' are deployed one after the other.
func accountsFor(minutes, made int, took time.Duration, pilots, seats int) int {
	each := took * time.Duration(pilots+seats) / time.Duration(max(made, 1))
	return int(accountsPart * float64(time.Duration(minutes)*time.Minute) / float64(max(each, 1)))
}

// arrivalsFor returns how many users have arrived before the measured phase of a test begins.
func arrivalsFor(b *plan.Bounded, each time.Duration) int {
	if each <= 0 {
		return math.MaxInt
	}
	return max(int(arrivalsPart*float64(b.Ramp+b.Settle)/float64(each)), firstLevel)
}

// limitUsers limits the users of a found level to most, for a reason, and predicts their use of the
// cores.
func limitUsers(f *trial.FoundLevel, most int, why string) {
	wanted := f.Users
	if f.Capped {
		wanted = f.Wanted
	}
	if wanted > most {
		f.Predict(most, "; "+why)
	}
}

// pilotsLast reports whether a first pilot of length took and another, twice as long, would
// together take more of the minutes of a comparison than pilots may.
func pilotsLast(minutes, pilots int, took time.Duration) bool {
	each := pilotsPart * float64(minutes) / float64(pilots)
	return 3*took.Minutes() > each
}

// pilotUsers carries out one pilot on a system of its own. took is the time of the deployment.
func pilotUsers(ctx context.Context, s *session.Session, pt session.RunPart) (
	r *record.Run, found *trial.FoundLevel, took time.Duration, err error,
) {
	deployed := s.NewDeployments()
	defer deployed.Close()
	began := time.Now()
	sys, err := deployed.System(ctx, s.Need(pt))
	if err != nil {
		return nil, nil, 0, err
	}
	took = time.Since(began)
	r, out, err := s.Trial(ctx, sys, pt)
	deployed.Close()
	if err != nil {
		return nil, nil, 0, err
	}
	deployed.Clear()
	if ctx.Err() != nil {
		return nil, nil, 0, context.Cause(ctx)
	}
	if out.Level != nil {
		return r, out.Level, took, nil
	}
	why := out.Interrupted
	for _, f := range out.Validity.Findings {
		if why == "" && f.Level == record.Red {
			why = f.Text
		}
	}
	return nil, nil, 0, fmt.Errorf("bounded.users: auto found no number of users: "+
		"pilot %s: %s; write a number", r.Manifest.ID, why)
}
