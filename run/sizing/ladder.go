package sizing

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/live"
	"plimsoll/run/session"
	"plimsoll/run/trial"
)

// A Ladder carries out the steps of a sizing on one deployment.
type Ladder struct {
	Session *session.Session // its plan becomes the one of the step under way
	Plan    *plan.Plan       // the whole one
	Part    session.RunPart
	Record  *record.Sizing
	Prefix  string // of the lines of progress
}

// searched are the steps of a ladder without given ones, as parts of the capacity that a first
// search finds: like the steps of the self-hosters' table around its own knee of 500 users (50,
// 200, 400, 500, 750).
var searched = []float64{0.1, 0.4, 0.8, 1, 1.5}

// stepsAround returns the steps for a capacity, with two significant digits, ascending, and at most
// most users. A capacity that is not an estimate has no meaningful step beyond it.
func stepsAround(c record.Capacity, most int) []int {
	var out []int
	for _, share := range searched {
		if share > 1 && c.Kind != record.Estimate {
			continue
		}
		v := share * c.Users
		unit := math.Pow(10, max(math.Floor(math.Log10(max(v, 1)))-1, 0))
		n := min(max(int(math.Round(v/unit)*unit), 1), most)
		if len(out) == 0 || n > out[len(out)-1] {
			out = append(out, n)
		}
	}
	return out
}

// Climb searches for steps if there are none, and carries out one after another. An error means
// that the tool failed. When ctx ends, the record has the steps so far.
func (l *Ladder) Climb(ctx context.Context, deployed *deploy.Deployments) (err error) {
	s, z := l.Session, l.Record
	if err := s.Store.SaveSizing(z); err != nil { // from now on it can be found and watched
		return err
	}
	like := live.Whole{
		Kind: live.KindSizing, ID: z.ID, Verb: s.Verb(), Plan: s.Plan.Name,
		Mode: "steps", Step: "beginning", Blocks: len(z.Planned),
	}
	broadcast, ended := s.Progress.Publish(ctx, s.Store.SizingDir(z.ID), like, s.Stop)
	defer func() { ended(ending(ctx, err)) }()
	most := l.mostUsers()
	pt := l.Part
	pt.Bounded, pt.Step = true, true
	s.Plan = l.Plan.AtStep(most) // for how many users the system is made
	s.Progress.What(l.Prefix, 0)
	sys, err := deployed.System(ctx, s.Need(pt))
	if err != nil {
		return err
	}
	if len(z.Planned) == 0 {
		if err := l.search(ctx, sys, most); err != nil || ctx.Err() != nil {
			return err
		}
	}
	broadcast.SetBlocks(len(z.Planned))
	for i, users := range z.Planned {
		broadcast.SetBlock(i+1, false)
		pt.Order = i + 1
		pt.Keep = i > 0 // the first step begins with the state that the plan names
		over, err := l.step(ctx, sys, pt, users)
		if over || err != nil {
			return err
		}
	}
	return nil
}

// ending returns how a sizing ended, for its console: "" for in order.
func ending(ctx context.Context, err error) string {
	switch cause := context.Cause(ctx); {
	case err != nil:
		return "the tool failed"
	case cause != nil:
		return cause.Error()
	}
	return ""
}

// mostUsers returns the users of the highest step: a planned one, or the end of the search for
// steps.
func (l *Ladder) mostUsers() int {
	most := 0
	if u := l.Plan.Unbounded; u != nil && len(l.Record.Planned) == 0 {
		most = u.MaxUsers
	}
	for _, n := range l.Record.Planned {
		most = max(most, n)
	}
	return most
}

// search plans steps of at most most users around the capacity that a search finds.
func (l *Ladder) search(ctx context.Context, sys *deploy.System, most int) error {
	s, z := l.Session, l.Record
	pt := l.Part
	pt.Unbounded = true
	s.Plan = l.Plan
	s.Progress.What(l.Prefix+"  search", 0)
	if err := s.Foretell(pt); err != nil {
		return err
	}
	r, _, err := s.Trial(ctx, sys, pt)
	if err != nil {
		return err
	}
	c := r.Manifest.Capacity
	z.Search, z.Capacity = r.Manifest.ID, c
	if ctx.Err() != nil {
		return nil
	}
	if c == nil || c.Kind == record.Invalid {
		return fmt.Errorf("run %s: the first search found no capacity to choose steps from; "+
			"look at \"plimsoll show\", or write sizing.steps", r.Manifest.ID)
	}
	around := *c
	if c.Kind == record.Unstable {
		if around.Users = c.Held; around.Users == 0 {
			around.Users = c.Reached
		}
	}
	z.Planned = stepsAround(around, most)
	s.Progress.Say("capacity %s users: steps %v", record.CapacityText(c.Kind, c.Users), z.Planned)
	return nil
}

// step carries out a step, the pt.Order-th, and reports whether the ladder ends with it.
func (l *Ladder) step(
	ctx context.Context,
	sys *deploy.System,
	pt session.RunPart,
	users int,
) (over bool, err error) {
	s, z := l.Session, l.Record
	s.Plan = l.Plan.AtStep(users)
	var after time.Duration
	for _, later := range z.Planned[pt.Order:] {
		b := l.Plan.AtStep(later).Bounded
		after += b.Ramp + b.Settle + b.Measure
	}
	s.Progress.What(
		fmt.Sprintf("%s  step %d/%d  %d users", l.Prefix, pt.Order, len(z.Planned), users),
		after,
	)
	r, out, err := l.run(ctx, sys, pt, users)
	switch {
	case err != nil && ctx.Err() != nil && pt.Order > 1:
		return true, nil // interrupted before the step began: the steps before it are reported
	case err != nil:
		return true, err
	}
	if err := l.note(&z.Steps, users, r); err != nil {
		return true, err
	}
	if out.Interrupted != "" && ctx.Err() != nil {
		return true, nil
	}
	if out.Hopeless != "" {
		z.Why = fmt.Sprintf("the steps end with the one of %d users: %s", users, out.Hopeless)
		s.Progress.Say("%s", z.Why)
		return true, nil
	}
	return false, nil
}

// run makes the run of a step. One in which an agent on another host was lost is made again with
// the agents left, as a block of a comparison is; the run that was void stays in the store and in
// the record: messages that the target lost in it are gone.
func (l *Ladder) run(
	ctx context.Context, sys *deploy.System, pt session.RunPart, users int,
) (*record.Run, trial.Outcome, error) {
	s := l.Session
	for {
		lost := s.Crew.Lost()
		r, out, err := s.Trial(ctx, sys, pt)
		if err != nil || ctx.Err() != nil || s.Crew.Lost() == lost {
			return r, out, err
		}
		if err := l.note(&l.Record.Repeated, users, r); err != nil {
			return r, out, err
		}
		s.Progress.Say("the step is repeated with the agents that are left")
	}
}

// note adds the run of a step to a list of the record, and saves it.
func (l *Ladder) note(list *[]record.SizingStep, users int, r *record.Run) error {
	digest, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile))
	if err != nil {
		return err
	}
	*list = append(*list, record.SizingStep{Users: users, Run: r.Manifest.ID, Digest: digest})
	return l.Session.Store.SaveSizing(l.Record)
}
