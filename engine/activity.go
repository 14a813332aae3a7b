package engine

import (
	"sync/atomic"
	"time"

	"plimsoll/workload"
)

const (
	binLength = 100 * time.Millisecond
	binCount  = 600 // a minute, longer than anyone waits between two calls of Activity
)

// counter follows what users do with their time. Its methods but take are safe for concurrent use.
type counter struct {
	bins   [binCount]atomic.Uint32
	next   int64 // the first bin that was not handed out
	shards [8]struct {
		think, busy, actions atomic.Int64
		_                    [40]byte // to the end of the cache line
	}
}

// begin counts an action that begins at an offset from the epoch.
func (c *counter) begin(at time.Duration) {
	if at >= 0 {
		c.bins[int64(at/binLength)%binCount].Add(1)
	}
}

// end counts a user's action that has ended, and the pause that was planned before it.
func (c *counter) end(user int, think, busy time.Duration) {
	s := &c.shards[user%len(c.shards)]
	s.think.Add(int64(think))
	s.busy.Add(int64(busy))
	s.actions.Add(1)
}

func (c *counter) take(now time.Duration) workload.Activity {
	var out workload.Activity
	end := int64(max(now, 0) / binLength)
	if end-c.next > binCount {
		c.next = end - binCount
	}
	for ; c.next < end; c.next++ {
		out.Begun = append(out.Begun, c.bins[c.next%binCount].Swap(0))
	}
	for i := range c.shards {
		s := &c.shards[i]
		out.Think += time.Duration(s.think.Swap(0))
		out.Busy += time.Duration(s.busy.Swap(0))
		out.Actions += uint64(s.actions.Swap(0))
	}
	return out
}

// Activity returns what the users did since the call before. One goroutine calls it.
func (l *Local) Activity() workload.Activity {
	now := time.Since(l.cfg.Epoch)
	a := l.count.take(now)
	if l.open != nil {
		a.Wanted, a.Served = l.open.counts(now)
	}
	return a
}
