package session

import (
	"context"
	"errors"
)

// profileTarget samples the target's processes in the bounded tests of a comparison.
func profileTarget(ctx context.Context, r *run) (err error) {
	c := r.Plan.Compare
	if c == nil || !c.Profile || r.Comparison == "" || r.Pilot || r.spec.Bounded == nil {
		return nil
	}
	r.profiles, err = r.opener().Profiles(ctx, r.sys, r.Cores.Of(r.sys), r.turns)
	r.closing(r.profiles.Close)
	r.spec.Phase = r.profiles.Phase
	return err
}

// writeProfiles puts the profiles beside the records of the run, and into its events why a role has
// none.
func writeProfiles(ctx context.Context, r *run) error {
	if r.profiles == nil || ctx.Err() != nil || r.out.Interrupted != "" {
		return nil
	}
	missing, err := r.profiles.Write(r.w)
	for _, e := range missing {
		e.At = r.clock.Now()
		err = errors.Join(err, r.w.Event(e))
	}
	return err
}
