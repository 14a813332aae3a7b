package fleet

import "time"

// An AgentState is the state of an agent: of a process of this host, or of a host with some.
type AgentState struct {
	Name  string
	Users int           // that are active
	Ahead time.Duration // its clock, of this one's
	Heard time.Duration // since its last report; the run's age before the first
	Owes  time.Duration // since a question that it has not answered; 0 for none
	Lost  bool
	Ended bool          // its users were stopped
	Lag   time.Duration // the longest of an operation or action in its last one to two seconds
	CPU   float64       // cores in use by its processes; 0 where that is not known
}

// States returns the agents as of the last Collect. It does not wait for one that is asked at
// present.
func (d *RemoteDriver) States() []AgentState {
	// without the driver's lock, under which slow agents are awaited
	ended := d.stopAt.Load() != nil
	out := make([]AgentState, 0, len(d.links))
	for _, l := range d.links {
		st := AgentState{Name: l.String(), Ended: ended}
		for _, a := range l.agents {
			a.mu.Lock()
			st.Users += a.last.Active
			at := a.at
			st.Lag = max(st.Lag, a.lag.longest())
			if time.Since(a.sampled) <= d.staleAfter() {
				for _, s := range a.samples {
					if s.Name == "plimsoll_generator_cpu_ratio" {
						st.CPU += s.Value
					}
				}
			}
			a.mu.Unlock()
			if at.IsZero() {
				at = l.base
			}
			st.Heard = max(st.Heard, time.Since(at))
		}
		l.mu.Lock()
		st.Ahead, _ = l.clock.at(time.Since(l.base))
		l.mu.Unlock()
		if asked := l.asked.Load(); asked != nil {
			st.Owes = time.Since(*asked)
		}
		if l.talk.TryLock() {
			st.Lost = l.lost != nil
			l.talk.Unlock()
		}
		if st.Lost { // it has none any more
			st.Users, st.CPU = 0, 0
		}
		out = append(out, st)
	}
	return out
}

// recentLag keeps the longest lag of the last one to two seconds.
type recentLag struct {
	since       time.Time // of now
	before, now time.Duration
}

// add takes the longest lag of a report that came at an instant.
func (r *recentLag) add(lag time.Duration, at time.Time) {
	if gone := at.Sub(r.since); gone >= time.Second {
		r.before, r.now = r.now, 0
		if gone >= 2*time.Second {
			r.before = 0
		}
		r.since = at
	}
	r.now = max(r.now, lag)
}

func (r *recentLag) longest() time.Duration { return max(r.before, r.now) }
