package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"plimsoll/stats"
)

// A Tally counts, for each behavior, which actions its users began and how they ended, so that the
// requested mix can be compared with the achieved one. The zero value is ready. A nil Tally counts
// nothing. All methods are safe for concurrent use.
type Tally struct {
	mu        sync.Mutex
	list      []*Counts
	elsewhere map[int]Snapshot
	sum       Snapshot // of elsewhere
}

// A TallyAction is an action of a behavior's mix.
type TallyAction struct {
	Name string
	// Weight is relative to the other actions of the behavior.
	Weight float64
	// Absent is the reason why this server cannot do the action; it is then not part of the
	// requested mix. Empty: it can.
	Absent string
}

// Counts is one behavior's part of a Tally. Its methods take the index of an action in the list
// given to [Tally.Behavior]; they neither lock nor allocate, and do nothing on a nil Counts.
//
// Every action that is drawn is attempted; the attempt ends in exactly one of Succeed, Fail and
// Skip, or in none if the run's end cuts it off.
type Counts struct {
	behavior string
	actions  []TallyAction
	cells    []tallyCell
	mu       sync.Mutex // of new reasons
}

type tallyCell struct {
	attempts, ok, failed atomic.Int64
	by                   [userGroups]atomic.Int64 // of ok
	skips                [mostReasons]struct {
		reason atomic.Pointer[string]
		n      atomic.Int64
	}
}

// mostReasons is the number of reasons for skipping one action that are kept apart; the last place
// is for all others.
const mostReasons = 6

const otherReasons = "other reasons"

// Behavior returns the counts of the behavior of that name. A further call with the same actions
// returns the same Counts; with other actions (another server) it starts again.
func (t *Tally) Behavior(name string, actions []TallyAction) *Counts {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &Counts{
		behavior: name,
		actions:  slices.Clone(actions),
		cells:    make([]tallyCell, len(actions)),
	}
	for i, have := range t.list {
		if have.behavior == name {
			if slices.Equal(have.actions, actions) {
				return have
			}
			t.list[i] = c
			return c
		}
	}
	t.list = append(t.list, c)
	return c
}

// Attempt counts an action that a user begins.
func (c *Counts) Attempt(k int) {
	if c != nil {
		c.cells[k].attempts.Add(1)
	}
}

// Succeed counts an attempt that had its effect.
func (c *Counts) Succeed(k int) {
	if c != nil {
		c.cells[k].ok.Add(1)
	}
}

// SucceedBy is Succeed with the user, by a number that is the user's alone: how far users differ
// decides how much chance explains ([Mix]).
func (c *Counts) SucceedBy(k, user int) {
	if c != nil {
		c.cells[k].ok.Add(1)
		c.cells[k].by[uint(user)%userGroups].Add(1)
	}
}

// Fail counts an attempt that the server did not carry out.
func (c *Counts) Fail(k int) {
	if c != nil {
		c.cells[k].failed.Add(1)
	}
}

// Skip counts an attempt that found nothing to act on. Reasons are few and constant, such as "no
// post in view".
func (c *Counts) Skip(k int, reason string) {
	if c == nil {
		return
	}
	skips := &c.cells[k].skips
	for i := range skips {
		r := skips[i].reason.Load()
		if r == nil {
			r = c.intern(k, i, reason)
		}
		if *r == reason || i == mostReasons-1 {
			skips[i].n.Add(1)
			return
		}
	}
}

// intern gives a reason the i-th place of action k, unless another goroutine was faster.
func (c *Counts) intern(k, i int, reason string) *string {
	c.mu.Lock()
	defer c.mu.Unlock()
	place := &c.cells[k].skips[i].reason
	if r := place.Load(); r != nil {
		return r
	}
	if i == mostReasons-1 {
		reason = otherReasons
	}
	r := strings.Clone(reason)
	place.Store(&r)
	return &r
}

// A Snapshot is the state of a Tally at one moment, or the difference of two.
type Snapshot []BehaviorCount

// A BehaviorCount counts the actions of the users of one behavior.
type BehaviorCount struct {
	Behavior string        `json:"behavior"`
	Actions  []ActionCount `json:"actions"`
}

// An ActionCount counts one action by outcome.
type ActionCount struct {
	Name     string           `json:"name"`
	Weight   float64          `json:"weight"`
	Absent   string           `json:"absent,omitempty"`
	Attempts int64            `json:"attempts"`
	OK       int64            `json:"ok"`
	Failed   int64            `json:"failed,omitempty"`
	Skipped  map[string]int64 `json:"skipped,omitempty"` // by reason
	// By are the successes of eight groups of users, whose numbers leave the same remainder; nil if
	// the users are unknown.
	By []int64 `json:"by,omitempty"`
}

// Snapshot returns the counts so far; nil of a nil Tally.
func (t *Tally) Snapshot() Snapshot {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var out Snapshot
	for _, c := range t.list {
		b := BehaviorCount{Behavior: c.behavior}
		for k, a := range c.actions {
			cell := &c.cells[k]
			n := ActionCount{Name: a.Name, Weight: a.Weight, Absent: a.Absent,
				Attempts: cell.attempts.Load(), OK: cell.ok.Load(), Failed: cell.failed.Load()}
			for g := range cell.by {
				if v := cell.by[g].Load(); v > 0 {
					n.By = addTo(n.By, g, v)
				}
			}
			for i := range cell.skips {
				if r := cell.skips[i].reason.Load(); r != nil {
					if n.Skipped == nil {
						n.Skipped = map[string]int64{}
					}
					n.Skipped[*r] += cell.skips[i].n.Load()
				}
			}
			b.Actions = append(b.Actions, n)
		}
		out = append(out, b)
	}
	out.shift(t.sum, 1)
	return out
}

// Gather replaces the counts of another process so far, which the tally includes.
func (t *Tally) Gather(process int, s Snapshot) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.elsewhere == nil {
		t.elsewhere = map[int]Snapshot{}
	}
	t.sum.replace(t.elsewhere[process], s)
	t.elsewhere[process] = s
}

// Sub returns the counts between an earlier snapshot of the same Tally and s. Counts that the
// earlier one lacks are zero.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	out := s.clone()
	out.shift(earlier, -1)
	return out
}

// Add returns the sum of the counts of two parts of one run, such as two agents.
func (s Snapshot) Add(other Snapshot) Snapshot {
	out := s.clone()
	out.shift(other, 1)
	return out
}

// MixTolerance is the distance between the requested and the achieved mix that is tolerated: 2
// percentage points.
const MixTolerance = 0.02

// A Mix compares the requested shares of actions of one behavior's users with the achieved ones.
type Mix struct {
	Behavior string `json:"behavior"`
	// Attempts, OK, Failed and Skipped are sums over the actions.
	Attempts int64       `json:"attempts"`
	OK       int64       `json:"ok"`
	Failed   int64       `json:"failed"`
	Skipped  int64       `json:"skipped"`
	Actions  []MixAction `json:"actions"`
	// Spread is the factor by which the shares of users differ more than independent actions would
	// let them: the design effect, 1 if not more.
	Spread float64 `json:"spread,omitempty"`
	// Distance is the total variation distance of the achieved from the requested shares, 0 to 1.
	// Chance is the distance that chance alone would give on average with as many successes,
	// divided by Spread; Chance99 is the one that it exceeds once in a hundred runs
	// ([stats.ChanceDistance]). All are 0 if nothing succeeded.
	Distance float64 `json:"distance"`
	Chance   float64 `json:"chance"`
	Chance99 float64 `json:"chance_p99"`
	// Flagged is true if Distance is beyond both MixTolerance and Chance99, or if no attempt
	// succeeded.
	Flagged bool `json:"flagged"`
}

// A MixAction is one action of a Mix.
type MixAction struct {
	ActionCount
	// Requested is the action's share of the weights of all actions that the server can do; Achieved
	// is its part of all successes.
	Requested float64 `json:"requested"`
	Achieved  float64 `json:"achieved"`
}

// Mixes compares requested and achieved shares for every behavior.
func (s Snapshot) Mixes() []Mix {
	var out []Mix
	for _, b := range s {
		m := Mix{Behavior: b.Behavior}
		weight := 0.0
		for _, a := range b.Actions {
			m.Attempts += a.Attempts
			m.OK += a.OK
			m.Failed += a.Failed
			for _, n := range a.Skipped {
				m.Skipped += n
			}
			if a.Absent == "" {
				weight += a.Weight
			}
		}
		var p, q []float64
		for _, a := range b.Actions {
			x := MixAction{ActionCount: a}
			if a.Absent == "" && weight > 0 {
				x.Requested = a.Weight / weight
			}
			if m.OK > 0 {
				x.Achieved = float64(a.OK) / float64(m.OK)
			}
			m.Actions = append(m.Actions, x)
			p, q = append(p, x.Requested), append(q, x.Achieved)
		}
		if m.OK > 0 && weight > 0 {
			m.Distance = stats.TotalVariation(p, q)
			m.Spread = spread(b.Actions)
			m.Chance, m.Chance99 = stats.ChanceDistance(
				p,
				max(1, int(min(float64(m.OK)/m.Spread, math.MaxInt32))),
			)
			m.Flagged = m.Distance > MixTolerance && m.Distance > m.Chance99
		} else {
			m.Flagged = m.Failed+m.Skipped > 0
		}
		out = append(out, m)
	}
	return out
}

// Count returns the counts that the mix was computed from.
func (m Mix) Count() BehaviorCount {
	b := BehaviorCount{Behavior: m.Behavior}
	for _, a := range m.Actions {
		b.Actions = append(b.Actions, a.ActionCount)
	}
	return b
}

// Deviations names the n actions whose achieved share is farthest from the requested one, as in
// "react 1.2 % instead of 4.0 %", the farthest first.
func (m Mix) Deviations(n int) []string {
	by := slices.Clone(m.Actions)
	slices.SortStableFunc(by, func(a, b MixAction) int {
		return cmp.Compare(math.Abs(b.Achieved-b.Requested), math.Abs(a.Achieved-a.Requested))
	})
	var out []string
	for _, a := range by[:min(n, len(by))] {
		if a.Achieved != a.Requested {
			out = append(out, fmt.Sprintf(
				"%s %.1f %% instead of %.1f %%",
				a.Name,
				a.Achieved*100,
				a.Requested*100,
			))
		}
	}
	return out
}
