package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// Watchers are the agents that have probes and no users, for a plan's probes of kind agent.
type Watchers struct {
	hall  *join.Hall
	join  string              // the command that an agent needs, without its role
	names map[string][]string // by role, in the order of the probes that name none
}

// NewWatchers returns the agents that join a hall by a command.
func NewWatchers(hall *join.Hall, command string) *Watchers {
	return &Watchers{hall: hall, join: command, names: map[string][]string{}}
}

// of returns the name of the agent of a probe, by the probe's index: the agent that the probe
// names, or else the next agent of its role after the agents of earlier probes of that role that
// name none.
func (w *Watchers) of(p *plan.Plan, probes []plan.Probe, index int) (string, error) {
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
		if m.Role == x.Role && !slices.Contains(have, m.Name) &&
			!p.AnyProbe(func(x plan.Probe) bool { return x.Agent == m.Name }) {
			have = append(have, m.Name)
		}
	}
	w.names[x.Role] = have
	if before >= len(have) {
		return "", fmt.Errorf(
			"%d agents of role %s have joined, want %d; on each host: %s -role %[2]s",
			len(have),
			x.Role,
			before+1,
			w.join,
		)
	}
	return have[before], nil
}

// Await waits until each probe of kind agent has its agent. The error names the first that is
// missing. w may be nil.
func (w *Watchers) Await(ctx context.Context, p *plan.Plan, probes []plan.Probe) error {
	if w == nil || !slices.ContainsFunc(probes, plan.Probe.OfAgent) {
		return nil
	}
	var missing error
	_, err := w.hall.Await(ctx, p.Fleet.Join, func(ms []join.Member) bool {
		missing = w.missing(p, probes, ms)
		return missing == nil
	})
	if errors.Is(err, join.ErrMissing) {
		return fmt.Errorf("%w (waited %v)", missing, p.Fleet.Join.Round(time.Second))
	}
	return err
}

func (w *Watchers) missing(p *plan.Plan, probes []plan.Probe, here []join.Member) error {
	for i, x := range probes {
		if !x.OfAgent() {
			continue
		}
		_, err := w.of(p, probes, i)
		is := func(m join.Member) bool { return m.Name == x.Agent }
		if x.Agent != "" && !slices.ContainsFunc(here, is) {
			err = fmt.Errorf(
				"agent %s has not joined; on its host: %s -role %s",
				x.Agent,
				w.join,
				x.Role,
			)
		}
		if err != nil {
			return fmt.Errorf("probes[%d] of the plan (agent, role %s): %w", i, x.Role, err)
		}
	}
	return nil
}
