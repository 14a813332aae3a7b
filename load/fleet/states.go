package fleet

import "time"

// An AgentState is where an agent is: a process of this host, or a host with some.
type AgentState struct {
	Name  string
	Users int           // that are active
	Ahead time.Duration // its clock, of this one's
	Heard time.Duration // since its last report; the run's age before the first
	Asked bool          // a request to it is under way
	Lost  bool
}

// States returns the agents as of the last Collect. It does not wait for one that is asked at present.
func (d *RemoteDriver) States() []AgentState {
	out := make([]AgentState, 0, len(d.links))
	for _, l := range d.links {
		st := AgentState{Name: l.String()}
		for _, a := range l.agents {
			a.mu.Lock()
			st.Users += a.last.Active
			at := a.at
			a.mu.Unlock()
			if at.IsZero() {
				at = l.base
			}
			st.Heard = max(st.Heard, time.Since(at))
		}
		l.mu.Lock()
		st.Ahead, _ = l.clock.at(time.Since(l.base))
		l.mu.Unlock()
		if st.Asked = !l.talk.TryLock(); !st.Asked {
			st.Lost = l.lost != nil
			l.talk.Unlock()
		}
		out = append(out, st)
	}
	return out
}
