package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/load/workload"
)

const (
	binLength = 100 * time.Millisecond
	binCount  = 600 // a minute, longer than anyone waits between two calls of Activity
)

// counter sums the users' time by activity. Its methods but take are safe for concurrent use.
type counter struct {
	bins   [binCount]atomic.Uint32
	next   int64 // the first bin that was not handed out
	shards [8]counterShard
	open   int64 // of all shards at the last call, in microseconds
}

type counterShard struct {
	mu                   sync.Mutex
	think, busy, actions int64
	// The open cycles: how many, and the sum of when they began, late starts added, in
	// microseconds. At the time t they account for users × t - since.
	users, since int64
	_            [16]byte // to the end of the cache line
}

// A cycle is a user's pause with the action after it. The methods are for the user's goroutine.
type cycle struct {
	shard *counterShard
	since int64
	on    bool
}

// begin opens a cycle at an offset from the epoch.
func (y *cycle) begin(at time.Duration) {
	y.since, y.on = at.Microseconds(), true
	y.shard.mu.Lock()
	y.shard.users++
	y.shard.since += y.since
	y.shard.mu.Unlock()
}

// late records that the action of the cycle began later than planned: time that is not accounted
// for.
func (y *cycle) late(d time.Duration) {
	y.since += d.Microseconds()
	y.shard.mu.Lock()
	y.shard.since += d.Microseconds()
	y.shard.mu.Unlock()
}

// end closes the cycle with the pause that was planned and the length of the action.
func (y *cycle) end(think, busy time.Duration) {
	y.shard.mu.Lock()
	y.shard.think += int64(think)
	y.shard.busy += int64(busy)
	y.shard.actions++
	y.close()
	y.shard.mu.Unlock()
}

// leave closes the cycle, if it is open, without an action: the user goes.
func (y *cycle) leave() {
	if !y.on {
		return
	}
	y.shard.mu.Lock()
	y.close()
	y.shard.mu.Unlock()
}

// close takes the cycle off the open ones. The lock is held.
func (y *cycle) close() {
	y.on = false
	y.shard.users--
	y.shard.since -= y.since
}

func (c *counter) cycle(user int) cycle { return cycle{shard: &c.shards[user%len(c.shards)]} }

// begin counts an action that begins at an offset from the epoch.
func (c *counter) begin(at time.Duration) {
	if at >= 0 {
		c.bins[int64(at/binLength)%binCount].Add(1)
	}
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
	open := int64(0)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		out.Think += time.Duration(s.think)
		out.Busy += time.Duration(s.busy)
		out.Actions += uint64(s.actions)
		s.think = 0
		s.busy = 0
		s.actions = 0
		open += s.users*now.Microseconds() - s.since
		s.mu.Unlock()
	}
	out.Open = time.Duration(open-c.open) * time.Microsecond
	c.open = open
	return out
}

// Activity returns the users' activity since the previous call. One goroutine calls it.
func (l *Local) Activity() workload.Activity {
	now := l.cfg.Clock.Now()
	a := l.count.take(now)
	if l.open != nil {
		a.Wanted, a.Served = l.open.counts(now)
	}
	return a
}
