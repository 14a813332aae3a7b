package rig

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
	"plimsoll/run/trial"
)

// A Ladder carries out the steps of a sizing on one deployment.
type Ladder struct {
	*Session
	Plan   *plan.Plan // the whole one; session.plan is that of the step under way
	Part   RunPart
	Record *record.Sizing
	Prefix string
}

// searched are the steps of a ladder without given ones, as parts of the capacity that a first search finds: those of
// the self-hosters' table around its own knee of 500 users (50, 200, 400, 500, 750).
var searched = []float64{0.1, 0.4, 0.8, 1, 1.5}

// StepsAround returns the steps for a capacity, with two significant digits, ascending, and at most max users. A
// capacity that is not an estimate has no step beyond it that would mean anything.
func StepsAround(c record.Capacity, most int) []int {
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

// Climb searches for steps if there are none, and carries out one after another. An error means that the tool failed.
func (l *Ladder) Climb(ctx context.Context, deployed *deploy.Deployments) (err error) {
	if err := l.Store.SaveSizing(l.Record); err != nil { // from now on it can be found and watched
		return err
	}
	ended := l.openWhole(ctx, l.Store.SizingDir(l.Record.ID), live.Whole{Kind: live.KindSizing, ID: l.Record.ID, Mode: "steps", Step: "beginning", Blocks: len(l.Record.Planned)})
	defer func() {
		switch cause := context.Cause(ctx); {
		case err != nil:
			ended("the tool failed")
		case cause != nil:
			ended(cause.Error())
		default:
			ended("")
		}
	}()
	most := 0
	if u := l.Plan.Unbounded; u != nil && len(l.Record.Planned) == 0 {
		most = u.MaxUsers
	}
	for _, n := range l.Record.Planned {
		most = max(most, n)
	}
	pt := l.Part
	pt.Bounded, pt.step = true, true
	l.Session.Plan = l.Step(most) // for how many users the system is made
	l.Progress.What(l.Prefix, 0)
	sys, err := deployed.System(ctx, l.Need(pt))
	if err != nil {
		return err
	}
	if len(l.Record.Planned) == 0 {
		search := l.Part
		search.Unbounded = true
		l.Session.Plan = l.Plan
		l.Progress.What(l.Prefix+"  search", 0)
		if err := l.Foretell(search); err != nil {
			return err
		}
		r, _, err := l.Trial(ctx, sys, search)
		if err != nil {
			return err
		}
		l.Record.Search, l.Record.Capacity = r.Manifest.ID, r.Manifest.Capacity
		if ctx.Err() != nil {
			return nil
		}
		c := r.Manifest.Capacity
		if c == nil || c.Kind == record.Invalid {
			return fmt.Errorf("run %s: the first search found no capacity to choose steps from; look at \"plimsoll show\", or write sizing.steps", r.Manifest.ID)
		}
		around := *c
		if c.Kind == record.Unstable {
			if around.Users = c.Held; around.Users == 0 {
				around.Users = c.Reached
			}
		}
		l.Record.Planned = StepsAround(around, most)
		l.Progress.Say("capacity %s users: steps %v", record.CapacityText(c.Kind, c.Users), l.Record.Planned)
	}
	l.whole.steps(len(l.Record.Planned))
	for i, n := range l.Record.Planned {
		l.whole.at(i+1, false)
		pt.order = i + 1
		pt.keep = i > 0 // the first one begins with the state that the plan names, the others go on from there
		l.Session.Plan = l.Step(n)
		var after time.Duration
		for _, later := range l.Record.Planned[i+1:] {
			b := l.Step(later).Bounded
			after += b.Ramp + b.Settle + b.Measure
		}
		l.Progress.What(fmt.Sprintf("%s  step %d/%d  %d users", l.Prefix, i+1, len(l.Record.Planned), n), after)
		r, out, err := l.step(ctx, sys, pt, n)
		switch {
		case err != nil && ctx.Err() != nil && i > 0:
			return nil // interrupted before the step began: those before it are reported
		case err != nil:
			return err
		}
		if err := l.note(&l.Record.Steps, n, r); err != nil {
			return err
		}
		if out.Interrupted != "" && ctx.Err() != nil {
			return nil
		}
		if out.Hopeless != "" {
			l.Record.Why = fmt.Sprintf("the steps end with the one of %d users: %s", n, out.Hopeless)
			l.Progress.Say("%s", l.Record.Why)
			return nil
		}
	}
	return nil
}

// note adds the run of a step with n users to a list of the record, and saves it.
func (l *Ladder) note(list *[]record.SizingStep, n int, r *record.Run) error {
	digest, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile))
	if err != nil {
		return err
	}
	*list = append(*list, record.SizingStep{Users: n, Run: r.Manifest.ID, Digest: digest})
	return l.Store.SaveSizing(l.Record)
}

// step carries out one step. One in which an agent on another host was lost is carried out again with those left, as a
// block of a comparison is; the run that was void stays in the store and in the record: messages that the target lost in
// it are gone.
func (l *Ladder) step(ctx context.Context, sys *deploy.System, pt RunPart, n int) (*record.Run, trial.Outcome, error) {
	for {
		lost := l.lostAgents()
		r, out, err := l.Trial(ctx, sys, pt)
		if err != nil || ctx.Err() != nil || l.lostAgents() == lost {
			return r, out, err
		}
		if err := l.note(&l.Record.Repeated, n, r); err != nil {
			return r, out, err
		}
		l.Progress.Say("the step is repeated with the agents that are left")
	}
}

// Step is the plan of one step: a bounded test alone.
func (l *Ladder) Step(n int) *plan.Plan {
	q := *l.Plan
	z := q.Sizing
	q.Unbounded = nil
	q.Bounded = &plan.Bounded{Users: plan.PerEngine{"": n}, Ramp: z.Ramp.Ramp(n), Settle: z.Settle, Measure: z.Hold}
	steps := *z
	steps.Steps = []int{n}
	q.Sizing = &steps
	if q.Compare != nil {
		c := *q.Compare
		c.Combine = false
		q.Compare = &c
	}
	return &q
}
