package users

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// Progress reports the waits of a run to people.
type Progress interface {
	// Say writes a line that stays.
	Say(format string, args ...any)
	// Doing reports a step and the longest time that it takes; 0 if that is not known.
	Doing(step string, left time.Duration)
}

// A Crew is the agents on other hosts that have the users of the runs of one invocation. All runs
// have the same agents, except lost ones: the runs are compared with each other. It is for one
// goroutine.
type Crew struct {
	hall     *join.Hall
	want     plan.Agents
	times    plan.Fleet
	progress Progress
	names    []string // of the agents of the run before; nil before the first
	lost     []string
}

// NewCrew returns the crew of a plan with placement.agents, of agents who come to a hall. The hall
// is the caller's to close.
func NewCrew(hall *join.Hall, p *plan.Plan, progress Progress) *Crew {
	return &Crew{hall: hall, want: *p.Placement.Agents, times: *p.Fleet, progress: progress}
}

// Lost returns how many agents were lost so far; 0 of a nil crew.
func (c *Crew) Lost() int {
	if c == nil {
		return 0
	}
	return len(c.lost)
}

// choose returns the agents of a run among all that answer, and whether they suffice; missing is
// the number of agents that do not answer. One that is busy is waited for: it may still end the
// users of the run before.
func (c *Crew) choose(all []join.Member, missing int) ([]join.Member, bool) {
	same := slices.DeleteFunc(slices.Clone(c.names),
		func(name string) bool { return slices.Contains(c.lost, name) })
	var out []join.Member
	busy := 0
	for _, m := range all {
		switch {
		case m.Role != "", !c.want.Matches(m.Labels), slices.Contains(c.lost, m.Name):
		case len(same) > 0 && !slices.Contains(same, m.Name):
		case m.Busy:
			busy++
		default:
			out = append(out, m)
		}
	}
	switch {
	case len(same) > 0:
		return out, len(out) == len(same)
	case c.want.Count == 0:
		return out, len(out) > 0 && missing == 0 && busy == 0
	}
	want := max(c.want.Count-len(c.lost), 1)
	if len(out) < want {
		return out, false
	}
	return out[:want], true
}

// await waits for the agents of a run. With some missing at its end, the error has a line for each.
func (c *Crew) await(ctx context.Context) ([]join.Member, error) {
	var got []join.Member
	c.progress.Doing("waiting for agents", c.times.Join)
	all, err := c.hall.Await(ctx, c.times.Join, func(ms []join.Member) (ok bool) {
		got, ok = c.choose(ms, len(c.missing()))
		return ok
	})
	if !errors.Is(err, join.ErrMissing) {
		return got, err
	}
	var lines []string
	for _, m := range c.missing() {
		lines = append(lines, m.String())
	}
	for _, m := range all {
		switch {
		case m.Role != "":
			lines = append(lines,
				fmt.Sprintf("agent %s: it has the probes of role %s and no users", m.Name, m.Role))
		case m.Busy:
			lines = append(lines, fmt.Sprintf("agent %s: another run has it", m.Name))
		case !c.want.Matches(m.Labels):
			lines = append(lines, fmt.Sprintf("agent %s: its labels do not match", m.Name))
		}
	}
	want := "all that are known"
	if c.want.Count > 0 {
		want = fmt.Sprint(c.want.Count)
	}
	if n := len(lines) + len(got); n < c.want.Count {
		lines = append(
			lines,
			fmt.Sprintf("the key file knows %d agents; to add one: plimsoll fleet "+
				"-new-token FILE", n),
		)
	}
	return nil, fmt.Errorf("%d agents have joined within %v, want %s; on each host: %s\n  %s",
		len(got), c.times.Join, want, JoinCommand(c.hall), strings.Join(lines, "\n  "))
}

// missing returns the agents that do not answer, except lost ones.
func (c *Crew) missing() []join.MissingAgent {
	return slices.DeleteFunc(c.hall.Missing(),
		func(a join.MissingAgent) bool { return slices.Contains(c.lost, a.Name) })
}

// lead opens links to the agents of a run and returns them with their names. They have answered a
// moment ago: one that is silent now is waited for as it is in a run.
func (c *Crew) lead(ctx context.Context, members []join.Member) (links []io.ReadWriteCloser,
	names []string, err error) {
	_, err = c.hall.Await(ctx, c.times.Resend, func(here []join.Member) bool {
		return !slices.ContainsFunc(members, func(m join.Member) bool {
			return !slices.ContainsFunc(here, func(h join.Member) bool { return h.Name == m.Name })
		})
	})
	if err != nil && !errors.Is(err, join.ErrMissing) { // which a link will name
		return nil, nil, err
	}
	for _, m := range members {
		to, err := c.hall.Link(m.Name)
		if err != nil {
			closeLinks(links)
			return nil, nil, err
		}
		links = append(links, to)
		names = append(names, m.Name)
	}
	c.names = names
	return links, names, nil
}

// dismiss notes which agents were lost in a run that has ended.
func (c *Crew) dismiss(driver *fleet.RemoteDriver) {
	for _, name := range driver.Lost() {
		if !slices.Contains(c.lost, name) {
			c.lost = append(c.lost, name)
			c.progress.Say("agent %s is lost: runs after this one do without it", name)
		}
	}
}
