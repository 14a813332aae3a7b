package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/load/fleet/join"
	"plimsoll/plan"
	"plimsoll/run/users"
)

// watchers are the agents that have probes and no users, for a plan's probes of kind agent.
type watchers struct {
	hall  *join.Hall
	names map[string][]string // by role, in the order of the probes that name none
}

// of returns the name of the agent of a probe, by its index: the one that it names, or the one after those of the
// probes before it that name none and have its role.
func (w *watchers) of(p *plan.Plan, probes []plan.Probe, index int) (string, error) {
	x := probes[index]
	if w == nil {
		return "", errors.New("this verb lets no agents join")
	}
	if x.Agent != "" {
		return x.Agent, nil
	}
	before := 0
	for _, y := range probes[:index] {
		if y.OfAgent() && y.Agent == "" && y.Role == x.Role {
			before++
		}
	}
	have := w.names[x.Role]
	for _, m := range w.hall.Members() {
		if m.Role == x.Role && !slices.Contains(have, m.Name) && !namesAgent(p, m.Name) {
			have = append(have, m.Name)
		}
	}
	w.names[x.Role] = have
	if before >= len(have) {
		return "", fmt.Errorf("%d agents of role %s have joined, want %d; on each host: %s -role %[2]s",
			len(have), x.Role, before+1, users.JoinCommand(w.hall))
	}
	return have[before], nil
}

// namesAgent reports whether a probe of the plan names an agent.
func namesAgent(p *plan.Plan, agent string) bool {
	return p.AnyProbe(func(x plan.Probe) bool { return x.Agent == agent })
}

// awaitWatchers waits until each probe of kind agent has its agent. The error names the first that
// is missing.
func (s *Session) awaitWatchers(ctx context.Context, probes []plan.Probe) error {
	if s.watchers == nil || !slices.ContainsFunc(probes, plan.Probe.OfAgent) {
		return nil
	}
	var missing error
	_, err := s.watchers.hall.Await(ctx, s.Plan.Fleet.Join, func(ms []join.Member) bool {
		missing = s.missingWatcher(probes, ms)
		return missing == nil
	})
	if errors.Is(err, join.ErrMissing) {
		return fmt.Errorf("%w (waited %v)", missing, s.Plan.Fleet.Join.Round(time.Second))
	}
	return err
}

func (s *Session) missingWatcher(probes []plan.Probe, here []join.Member) error {
	for i, x := range probes {
		if !x.OfAgent() {
			continue
		}
		_, err := s.watchers.of(s.Plan, probes, i)
		if x.Agent != "" && !slices.ContainsFunc(here, func(m join.Member) bool { return m.Name == x.Agent }) {
			err = fmt.Errorf("agent %s has not joined; on its host: %s -role %s", x.Agent, users.JoinCommand(s.watchers.hall), x.Role)
		}
		if err != nil {
			return fmt.Errorf("probes[%d] of the plan (agent, role %s): %w", i, x.Role, err)
		}
	}
	return nil
}
