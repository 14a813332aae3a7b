package engine

import (
	"errors"
	"slices"
	"time"

	"plimsoll/load/workload"
)

// A stormCall calls one user to its part in a storm.
type stormCall struct {
	storm workload.Storm
	at    time.Duration // when it was wanted
	state *workload.StormState
}

// Storm lets a share of the users who are wanted now, and whose behavior knows the kind, take part
// in a storm. Which ones is a function of the seed, the storm's index and the users' numbers; they
// begin evenly spread over Storm.Over, lowest number first, each between two of its actions. A user
// that is not logged in at its moment misses it. The state is of those that this agent drives.
// Storm returns at once.
func (l *Local) Storm(s workload.Storm) *workload.StormState {
	l.mu.Lock()
	wanted := l.desired
	l.mu.Unlock()
	own, of := l.called(s, wanted)
	s.Of = of
	state := workload.NewStormState(len(own), l.cfg.Clock)
	began := l.cfg.Clock.Now()
	l.wg.Go(func() {
		l.errand("a storm", func() {
			for _, c := range own {
				s.Number = c.place
				at := began + time.Duration(float64(s.Over)*float64(c.place)/float64(of))
				if l.cfg.Clock.SleepUntil(l.storms, at) != nil ||
					!l.call(c.id, stormCall{s, at, state}) {
					state.Miss()
				}
			}
		})
	})
	return state
}

// A calledUser is a user of this agent with a part in a storm, and its place among the called
// users of all agents.
type calledUser struct{ id, place int }

// called returns the users of this agent, of so many of all, who take part in a storm, in ascending
// order, and how many there are of all agents. Users of others are counted, not kept: they are
// dealt again.
func (l *Local) called(s workload.Storm, wanted int) (own []calledUser, of int) {
	counts := make([]int, len(l.cfg.Mix))
	deal := workload.NewStrata(l.shares...)
	for range wanted {
		class, _ := deal.Next()
		counts[class]++
	}
	ranks := make([][]int, len(l.cfg.Mix)) // of those who take part, by class
	for class, part := range l.cfg.Mix {
		if k, ok := part.Behavior.(workload.StormKinds); !ok ||
			!slices.Contains(k.StormKinds(), s.Kind) {
			continue
		}
		ranks[class] = workload.StormUsers(l.cfg.Env.Seed, s.Index<<8|class, counts[class], s.Share)
		if s.Share == 0 && len(ranks[class]) > 0 {
			break
		}
	}
	deal = workload.NewStrata(l.shares...)
	for id := range wanted {
		class, rank := deal.Next()
		if r := ranks[class]; len(r) > 0 && r[0] == rank {
			if _, mine := l.slot(id); mine {
				own = append(own, calledUser{id, of})
			}
			ranks[class] = r[1:]
			of++
		}
	}
	return own, of
}

// call hands a user its part in a storm and reports whether the user will be notified of it.
func (l *Local) call(id int, c stormCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.user(id).inbox <- c: // never ready while the inbox is nil
		l.user(id).alarm.ring()
		return true
	default:
		return false
	}
}

func (l *Local) openInbox(s *simulated) chan stormCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.inbox = make(chan stormCall, 1)
	return s.inbox
}

// closeInbox ends a user's listening; calls that it did not receive are counted as missed.
func (l *Local) closeInbox(s *simulated, inbox chan stormCall) {
	l.mu.Lock()
	s.inbox = nil
	l.mu.Unlock()
	select {
	case c := <-inbox:
		c.state.Miss()
	default:
	}
}

// storm does a user's part. A user that was busy with an action at the wanted moment is charged no
// lag: it was not free before.
func (l *Local) storm(
	u *workload.User,
	actor workload.Actor,
	c stormCall,
	free time.Duration,
) error {
	a, ok := actor.(workload.Stormer)
	if !ok {
		c.state.Miss()
		return nil
	}
	intended, due := max(c.at, free), u.Now()
	u.Lag(l.lag, due-intended)
	u.Schedule(intended)
	if err := a.Storm(l.ctx, c.storm); err != nil {
		c.state.Miss()
		if errors.Is(err, workload.ErrNotBack) {
			return nil
		}
		return err
	}
	c.state.Done()
	return nil
}
