package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
	"plimsoll/run/users"
)

// The processes that have a run's users begin agentsStart before its epoch.
const agentsStart = 2 * time.Second

// Trial resets the system, runs one trial on it, and leaves a sealed run. An error means that the
// tool failed.
func (s *Session) Trial(ctx context.Context, sys *deploy.System, pt RunPart) (
	*record.Run, trial.Outcome, error,
) {
	r := &run{Session: s, RunPart: pt, sys: sys, spec: pt.Tests(s.Plan)}
	if void, err := r.prepare(ctx); void != nil || err != nil {
		return void, trial.Outcome{}, err
	}
	if err := r.layOut(ctx); err != nil {
		return nil, trial.Outcome{}, err
	}
	users.Look(ctx, sys.Mix, sys.Env())
	ctx, leave, err := r.start(ctx)
	if err != nil {
		return nil, trial.Outcome{}, err
	}
	defer leave()
	if err := r.create(); err != nil {
		return nil, trial.Outcome{}, err
	}
	return r.seal(ctx, r.carryOut(ctx))
}

// layOut divides the users of the run among addresses, processes and hosts, and sees to ports for
// their connections.
func (r *run) layOut(ctx context.Context) (err error) {
	r.sys.HideSecrets()
	if err := r.Cores.Locate(ctx, r.sys, r.Place != nil, r.Progress); err != nil {
		return err
	}
	most := r.Users(r.RunPart)
	if a := users.Arrivals(r.Plan, r.sys.Mix); a != nil {
		most += a.InFlight // connections
	}
	url := r.sys.Deployment.URL()
	if r.lay, err = users.LayOut(ctx, r.Plan, r.Crew, url, r.sys.Mix, most); err != nil {
		return err
	}
	sockets := users.Sockets(r.sys.Mix, r.lay.Users)
	return r.lay.FreePorts(ctx, r.Plan.Gates.All(), sockets, r.Progress)
}

// start begins the time of the run. It is carried out under the context that start returns; the
// caller calls leave when the run is sealed.
func (r *run) start(ctx context.Context) (_ context.Context, leave func(), err error) {
	if r.Place != nil {
		return r.takePlace(ctx)
	}
	soon := 100 * time.Millisecond
	if r.lay.Apart() { // the users' processes begin before the epoch
		soon = agentsStart
	}
	r.clock = clock.New(time.Now().Add(soon))
	return ctx, func() {}, nil
}

// create makes the run in the store, and shows it to those who watch.
func (r *run) create() error {
	m, err := r.manifest(r.clock.Epoch(), r.lay.Processes)
	if err != nil {
		return err
	}
	for _, a := range r.lay.Members {
		m.Agents = append(m.Agents, a.Name)
	}
	m.Ratings = r.lay.Ratings
	m.SharedHost = m.SharedHost && len(m.Agents) == 0
	if r.w, err = r.Store.Create(m); err != nil {
		return err
	}
	r.starts = 0
	conf := audience.Config{
		Writer:    r.w,
		Clock:     r.clock,
		Mix:       r.sys.Mix,
		Users:     r.Users(r.RunPart),
		Verb:      r.Verb(),
		Broadcast: r.Progress.Broadcast(),
		Turn:      r.Place.Turn(),
		Stop:      r.Stop,
	}
	if c := r.Plan.Compare; c != nil {
		conf.Blocks = c.Blocks
	}
	r.aud = audience.Open(conf)
	return nil
}

// seal seals the run, which failed with err; nil if it did not fail. A run is always sealed: its
// records stay readable.
func (r *run) seal(ctx context.Context, err error) (*record.Run, trial.Outcome, error) {
	err = errors.Join(err, r.w.Update(r.describe))
	why := r.out.Interrupted
	if err != nil {
		why = "the tool failed: " + err.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if why == "" && r.out.Validity.Valid && r.Comparison != "" && !r.Pilot {
		// Without them, the report draws them again, and reports a problem of the series if it
		// cannot either.
		_ = r.AtSeal(ctx, r.w.Dir(), r.w.Manifest(), r.Plan.Workload.Pace)
	}
	_, unsealed := r.w.Seal(ctx, r.out.Validity, why)
	if unsealed != nil && why == "" {
		why = "the run could not be sealed: " + unsealed.Error()
	}
	r.aud.End(r.out.Validity, why)
	if err := errors.Join(err, unsealed); err != nil {
		return nil, r.out, fmt.Errorf("run %s: %w", r.w.Manifest().ID, err)
	}
	sealed, err := record.Open(r.w.Dir())
	return sealed, r.out, err
}
