package deploy

import (
	"context"
	"time"

	"plimsoll/target/lab"
)

// crashEvery is the time between two looks at the target's programs.
const crashEvery = 500 * time.Millisecond

// A supervised deployment knows its programs and their logs.
type supervised interface {
	Watched() []lab.Watched
	// Hide takes the programs' secrets out of a text of theirs.
	Hide(text string) string
}

// A CrashWatch follows the programs of a system during one run: their ends, restarts, and the
// crashes in their logs.
type CrashWatch struct {
	dep     supervised
	crashes *lab.Crashes
	seen    func(lab.Crash)
	stop    context.CancelFunc
	ended   chan struct{}
}

// WatchCrashes begins to follow the programs of a system whose driver supervises them; nil for
// others, which probes watch. It looks in real time. seen is called with each new crash, one at a
// time. The caller calls End.
func (s *System) WatchCrashes(seen func(lab.Crash)) *CrashWatch {
	dep, ok := s.Deployment.(supervised)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &CrashWatch{
		dep:     dep,
		crashes: lab.FollowCrashes(dep.Watched()),
		seen:    seen,
		stop:    cancel,
		ended:   make(chan struct{}),
	}
	go func() { // End waits for it
		defer close(c.ended)
		t := time.NewTicker(crashEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				c.look(false)
			}
		}
	}()
	return c
}

func (c *CrashWatch) look(last bool) {
	for _, x := range c.crashes.Look(time.Now(), last) {
		x.Line = c.dep.Hide(x.Line)
		c.seen(x)
	}
}

// End looks for the last time, while the programs still run. It returns the crashes that were kept,
// the number of further ones, and the bytes of each log that were not read because it grew faster
// than it is read. A second call, and one on a nil watch, return nothing.
func (c *CrashWatch) End() (kept []lab.Crash, more int, unread map[string]int64) {
	if c == nil || c.stop == nil {
		return nil, 0, nil
	}
	c.stop()
	<-c.ended
	c.stop = nil
	c.look(true)
	kept, more = c.crashes.All()
	for i := range kept {
		kept[i].Line = c.dep.Hide(kept[i].Line)
	}
	return kept, more, c.crashes.Unread()
}
