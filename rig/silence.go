package rig

import (
	"slices"
	"time"

	"plimsoll/load/fleet"
)

const (
	// silentAfter is how old the newest frame is when agents are shown again without a new one.
	silentAfter = 1500 * time.Millisecond
	// silenceEvery is the time between two looks at its age.
	silenceEvery = 500 * time.Millisecond
)

// follow shows the agents of a run while it waits for one of them: a run makes no frame then, and readers would not learn
// for whom it waits until the agent is lost. The newest frame is published again, in which the agents alone are new, as
// long as they change. stop ends it, and is never nil.
func (a *audience) follow(driver any) (stop func()) {
	var ok bool
	if a.fleet, ok = driver.(*fleet.RemoteDriver); !ok || a.pub == nil {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(silenceEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				a.again(0) // an agent that was lost ends the run at once
				return
			case <-tick.C:
				a.again(silentAfter)
			}
		}
	}()
	return func() { close(over); <-done }
}

// again publishes the newest frame with the agents of now, if it is so old and they are others.
func (a *audience) again(age time.Duration) {
	a.mu.Lock()
	last, at := a.last, a.lastAt
	a.mu.Unlock()
	if last == nil || time.Since(at) < age || !a.pub.Watched() {
		return
	}
	f := *last
	if f.Agents = a.agents(&f); slices.Equal(f.Agents, last.Agents) {
		return
	}
	a.pub.Publish(&f)
}
