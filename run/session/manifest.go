package session

import (
	"encoding/json"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/users"
)

// manifest returns the manifest of the run before it begins.
func (r *run) manifest(epoch time.Time, processes int) (m record.Manifest, err error) {
	m = record.Manifest{
		ID:         store.NewID(epoch, r.Plan.Name),
		Name:       r.Plan.Name,
		Tool:       r.Version,
		Epoch:      epoch,
		Plan:       r.Plan.String(),
		PlanDigest: r.Plan.Digest(),
		Seed:       r.Plan.Seed,
		Arm:        r.Arm,
		Engine:     r.Engine,
		Comparison: r.Comparison,
		InDigests:  r.Comparison != "",
		Block:      r.Block,
		Order:      r.Order,
		Pilot:      r.Pilot,
		SharedHost: r.Cores.Shared(r.sys),
		Generator:  r.Cores.Generator,
		TargetCPUs: r.Cores.Of(r.sys),
		Processes:  processes,
		Accounts:   r.accountsOf(),
		Script:     users.ScriptOf(r.Plan, r.sys.Mix, r.Secrets),
	}
	m.Clock = users.Received{}.ClockText()
	if m.Target, err = json.Marshal(r.sys.Deployment.Describe()); err != nil {
		return m, err
	}
	m.Host, err = json.Marshal(r.Host)
	return m, err
}

// accountsOf returns the record of the accounts that the users have; nil where they were made.
func (r *run) accountsOf() *record.AccountsFile {
	if r.Session.Accounts == nil {
		return nil
	}
	installed := r.sys.Installation
	reset := r.Plan.Target.Driver != plan.External || installed != nil && installed.Resets()
	return r.Session.Accounts.Record(r.sys.Mix, r.sys.Env(), reset)
}

// describe completes the manifest of the run at its end.
func (r *run) describe(m *record.Manifest) {
	m.Phases = r.out.Phases
	m.Capacity = r.out.Capacity
	m.Exploratory = r.aud.Steered(&r.out)
	r.seen.OfAll = r.Place.OfAll()
	r.seen.Describe(m)
	if r.Place != nil {
		m.Duet = r.Place.Record()
	}
}
