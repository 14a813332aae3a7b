package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// Arrivals is an open model in addition to the users: actions that come by a schedule, from the
// epoch until Stop.
type Arrivals struct {
	Behavior workload.ArrivalBehavior `json:"-"`
	Rate     float64                  `json:"rate"`    // per second, of all agents together
	Poisson  bool                     `json:"poisson"` // otherwise at even intervals
	// actions of this agent under way at most; further ones wait
	InFlight int `json:"in_flight"`
	// actions of this agent that wait at most; further ones are dropped
	Queue int `json:"queue"`
}

// An arrival is an action whose time has come. The time from seen until its server had the answer
// to its action before is charged as wait.
type arrival struct {
	k              int64
	intended, seen time.Duration
}

// An idleServer waits for an arrival. Its connections go to the target's server number at.
type idleServer struct {
	in chan arrival
	at int
}

// open serves arrivals. One goroutine waits for their moments and hands each to a free server, a
// new one or the queue, or drops it.
type open struct {
	Arrivals
	l       *Local
	drop    measure.Name
	dropped *measure.Recorder

	mu      sync.Mutex
	idle    []idleServer // those that wait, the last one first: few connections stay busy
	queue   []arrival    // those before head have gone
	head    int
	first   map[int]arrival // that of each server that is logging in
	servers int
	served  uint64 // all except the dropped

	ahead  *workload.ArrivalTimes // for wanted, which reads the clock by itself
	wanted uint64
	next   time.Duration
}

func newOpen(l *Local, a Arrivals) (*open, error) {
	if a.Behavior == nil || a.Rate <= 0 || a.InFlight < 1 || a.Queue < 0 {
		return nil, fmt.Errorf(
			"arrivals: rate %v, in flight %d, queue %d is not possible",
			a.Rate,
			a.InFlight,
			a.Queue,
		)
	}
	o := &open{
		Arrivals: a,
		l:        l,
		drop:     l.cfg.Env.Registry.Name(workload.Arrival),
		dropped:  l.cfg.Env.Registry.Recorder(0),
	}
	o.first = map[int]arrival{}
	l.cfg.Env.Registry.Waiting(o.drop, o.waiting)
	o.ahead = o.schedule()
	_, o.next = o.ahead.Next()
	return o, nil
}

func (o *open) schedule() *workload.ArrivalTimes {
	return workload.NewArrivals(o.Rate, o.Poisson, o.l.cfg.Env.Seed, o.l.cfg.Agent, o.l.deal)
}

// run hands out arrivals until ctx ends.
func (o *open) run(ctx context.Context) {
	s := o.schedule()
	lag := o.l.cfg.Env.Registry.Recorder(0).Batch()
	defer lag.Flush()
	for {
		k, at := s.Next()
		now := o.l.cfg.Clock.Now()
		if at > now {
			lag.Flush()
			if o.l.cfg.Clock.SleepUntil(ctx, at) != nil {
				return
			}
			now = o.l.cfg.Clock.Now()
		} else if ctx.Err() != nil {
			return
		}
		lag.Lag(o.l.lag, now-at)
		o.hand(ctx, arrival{k, at, now})
	}
}

// hand gives an arrival to a server, to the queue, or drops it.
func (o *open) hand(ctx context.Context, a arrival) {
	o.l.count.begin(a.seen)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch i := o.waits(a.k); {
	case i >= 0:
		o.idle[i].in <- a // it has room for one
		o.idle = slices.Delete(o.idle, i, i+1)
	case o.servers < o.InFlight:
		i := o.servers
		o.servers++
		o.first[i] = a
		o.l.wg.Go(func() { o.life(ctx, i, a) })
	case len(o.queue)-o.head < o.Queue:
		o.queue = append(o.queue, a)
	default:
		o.dropped.Error(o.drop, measure.Dropped)
		return
	}
	o.served++
}

// waits returns the place among the idle of the server that takes arrival k, and -1 for a new one:
// the last one idle whose connections go to the server of the target that the arrival is for. Where
// there can be no more of those, any takes it.
func (o *open) waits(k int64) int {
	at := o.l.cfg.Env.Server(k)
	for i, s := range slices.Backward(o.idle) {
		if s.at == at {
			return i
		}
	}
	if o.servers < o.InFlight {
		return -1
	}
	return len(o.idle) - 1
}

// waiting calls came for each arrival that was seen before an offset and still waits, in the queue
// or for the login of its server, with the time at which it was seen.
func (o *open) waiting(before time.Duration, came func(at time.Duration)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.queue[o.head:] {
		if a.seen < before {
			came(a.seen)
		}
	}
	for _, a := range o.first {
		if a.seen < before {
			came(a.seen)
		}
	}
}

// begun records that the i-th server goes on to its first arrival, or never will.
func (o *open) begun(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.first, i)
}

// free returns the next arrival that waits; otherwise the server is idle from now on.
func (o *open) free(s idleServer) (a arrival, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.head == len(o.queue) {
		o.idle = append(o.idle, s)
		return a, false
	}
	a = o.queue[o.head]
	if o.head++; 2*o.head >= len(o.queue) {
		o.queue = o.queue[:copy(o.queue, o.queue[o.head:])]
		o.head = 0
	}
	return a, true
}

// life creates the i-th server, whose first arrival is a, and lets it serve.
func (o *open) life(ctx context.Context, i int, a arrival) {
	defer o.begun(i)
	u := workload.NewServerUser(i*o.l.cfg.Agents+o.l.cfg.Agent, o.l.cfg.Env, o.l.cfg.Clock)
	u.Buffer()
	var actor workload.Server
	err := boundary.Do("a server of arrivals", func() (err error) {
		actor, err = o.Behavior.NewServer(o.l.cfg.Env.OfArrival(a.k), u)
		return err
	})
	if err != nil {
		if _, panicked := errors.AsType[*boundary.Panic](err); panicked || ctx.Err() == nil {
			o.l.broken(u.ID, err)
		}
		return
	}
	o.serve(ctx, i, a, u, actor)
}

// serve serves arrivals until ctx ends or the server fails.
func (o *open) serve(
	ctx context.Context,
	i int,
	a arrival,
	u *workload.User,
	actor workload.Server,
) {
	defer o.l.end(u, actor)
	defer u.Flush()
	u.Schedule(u.Now())
	if err := actor.Login(o.l.ctx); err != nil {
		o.l.fail(ctx, u.ID, fmt.Errorf("login of a server of arrivals: %w", err))
		return
	}
	in, at := make(chan arrival, 1), o.l.cfg.Env.Server(a.k)
	free := u.Free(0) // 0 if the login made no request
	o.begun(i)
	for {
		u.Become(a.k)
		u.Schedule(a.intended)
		u.Waited(max(free-a.seen, 0))
		err := actor.Serve(o.l.ctx, a.k)
		if o.l.ctx.Err() == nil {
			u.Idle()
		}
		if err != nil {
			o.l.fail(ctx, u.ID, err)
			return
		}
		free = u.Free(u.Now())
		u.Flush()
		var ok bool
		if a, ok = o.free(idleServer{in, at}); ok {
			if ctx.Err() != nil {
				return // those that still wait at the end of a run are neither served nor dropped
			}
			continue
		}
		select {
		case a = <-in:
		case <-ctx.Done():
			return
		}
	}
}

// counts returns how many arrivals the schedule wanted until now, and how many were handed to a
// server or the queue, since the call before.
func (o *open) counts(now time.Duration) (wanted, served uint64) {
	for ; o.next <= now; o.wanted++ {
		_, o.next = o.ahead.Next()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	wanted, served = o.wanted, o.served
	o.wanted, o.served = 0, 0
	return wanted, served
}
