package engine

import (
	"cmp"
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

// Storm lets a share of the users who are wanted now, and whose behavior knows the kind, take part in a storm. Which
// ones is a function of the seed, the storm's index and the users' numbers; they begin evenly spread over Storm.Over,
// lowest number first, each between two of its actions. A user that is not logged in at its moment misses it. The state
// is of those that this agent drives. Storm returns at once.
func (l *Local) Storm(s workload.Storm) *workload.StormState {
	l.mu.Lock()
	byClass := map[int][]int{} // class -> ids by rank
	for id := range l.desired {
		class := l.users[id].class
		byClass[class] = append(byClass[class], id)
	}
	l.mu.Unlock()
	var ids []int
	for class, part := range l.cfg.Mix {
		if k, ok := part.Behavior.(workload.StormKinds); !ok || !slices.Contains(k.StormKinds(), s.Kind) {
			continue
		}
		for _, rank := range workload.StormUsers(l.cfg.Env.Seed, s.Index<<8|class, len(byClass[class]), s.Share) {
			ids = append(ids, byClass[class][rank])
		}
		if s.Share == 0 && len(ids) > 0 {
			break
		}
	}
	slices.SortFunc(ids, cmp.Compare[int])
	s.Of = len(ids)
	mine := 0
	for _, id := range ids {
		if id%l.cfg.Agents == l.cfg.Agent {
			mine++
		}
	}
	state := workload.NewStormState(mine, l.cfg.Clock)
	began := l.cfg.Clock.Now()
	l.wg.Go(func() {
		l.errand("a storm", func() {
			for i, id := range ids {
				if id%l.cfg.Agents != l.cfg.Agent {
					continue
				}
				s.Number = i
				at := began + time.Duration(float64(s.Over)*float64(i)/float64(len(ids)))
				if l.cfg.Clock.SleepUntil(l.storms, at) != nil || !l.call(id, stormCall{s, at, state}) {
					state.Miss()
				}
			}
		})
	})
	return state
}

// call hands a user its part in a storm and reports whether the user will be notified of it.
func (l *Local) call(id int, c stormCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.users[id].inbox <- c: // never ready while the inbox is nil
		l.users[id].alarm.ring()
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

// storm does a user's part. A user that was busy with an action at the wanted moment is charged no lag: it was not
// free before.
func (l *Local) storm(u *workload.User, actor workload.Actor, c stormCall, free time.Duration) error {
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
		return err
	}
	c.state.Done()
	return nil
}
