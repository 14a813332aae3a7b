package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// errLeft is the cause of the end of a user's context when the number of users shrinks and the user
// did not go by itself.
var errLeft = errors.New("user left")

// A Part is a behavior and the share of users that follow it.
type Part struct {
	Name     string // of the behavior, for messages
	Behavior workload.Behavior
	Share    float64 // of all users, 0 to 1
}

// Config configures an engine. All fields but Arrivals and OnError are required.
type Config struct {
	Env workload.Env // its Clock is set to the engine's
	Mix []Part       // shares add up to 1
	// Clock is the run's. While it stands still, users do nothing.
	Clock *clock.Clock
	// Arrivals is an open model beside the users; nil if there is none.
	Arrivals *Arrivals
	// Agent of Agents drives its users and arrivals of a [workload.Deal]; several engines with the
	// same seed together drive the same users as one alone. 0 of 0 means the only one.
	Agent, Agents int
	// Ratings of the agents' hosts, in whose proportion the users are dealt; empty: all agents have
	// equal parts.
	Ratings []int
	// OnError is called for users that failed: at login (they try again) or for good, a
	// *boundary.Panic among them. user is -1 for a failure of the engine's own.
	OnError func(user int, err error)
}

// Local drives simulated users from this process. Its methods are safe for concurrent use.
type Local struct {
	cfg    Config
	shares []float64
	deal   *workload.Deal
	strata *workload.Strata
	lag    measure.Name
	wheel  *clock.Wheel // of the users' pauses

	ctx    context.Context // of all users; ended by Stop, or by its parent
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	storms    context.Context // of those under way; ended by Stop before the users
	endStorms context.CancelFunc

	mu      sync.Mutex
	users   []*simulated // this agent's, by [Local.slot], those that were ever wanted
	dealt   int          // users of all agents that were ever wanted
	desired int          // of all agents together
	stopped bool

	open   *open // nil without arrivals
	count  counter
	active atomic.Int64
	failed atomic.Int64
}

// simulated is one user's place. Its goroutine exists while it is wanted.
type simulated struct {
	user  *workload.User
	leave chan struct{}  // closed to make it go; nil while no goroutine runs
	done  chan struct{}  // closed when the goroutine has ended
	inbox chan stormCall // of its part in a storm; nil while it is not acting
	alarm *alarm         // rung after leave is closed, or inbox sent to
}

// New returns an engine without users. The users' context is derived from ctx.
func New(ctx context.Context, cfg Config) (*Local, error) {
	l := &Local{cfg: cfg}
	l.cfg.Env.Clock = cfg.Clock
	cfg.Env.Ledger.UseClock(cfg.Clock)
	sum := 0.0
	for _, p := range cfg.Mix {
		l.shares = append(l.shares, p.Share)
		sum += p.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return nil, fmt.Errorf("shares of the mix add up to %v, want 1", sum)
	}
	if cfg.Env.Pace <= 0 {
		return nil, fmt.Errorf("pace is %v, want more than 0", cfg.Env.Pace)
	}
	if cfg.Agents == 0 {
		l.cfg.Agents = 1
	}
	if cfg.Agent < 0 || cfg.Agent >= l.cfg.Agents {
		return nil, fmt.Errorf("agent %d of %d is not possible", cfg.Agent, l.cfg.Agents)
	}
	var err error
	if l.deal, err = workload.NewDeal(l.cfg.Agents, cfg.Ratings); err != nil {
		return nil, err
	}
	cfg.Env.Ledger.Divide(l.cfg.Agent, l.deal)
	l.strata = workload.NewStrata(l.shares...)
	l.lag = cfg.Env.Registry.Name(workload.Schedule)
	l.wheel = cfg.Clock.NewWheel(runtime.GOMAXPROCS(0))
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(l.ctx, l.ringAll)
	l.storms, l.endStorms = context.WithCancel(l.ctx)
	if cfg.Arrivals != nil {
		if l.open, err = newOpen(l, *cfg.Arrivals); err != nil {
			l.cancel(err)
			return nil, err
		}
		l.wg.Go(func() { l.errand("the schedule of arrivals", func() { l.open.run(l.storms) }) })
	}
	return l, nil
}

// SetUsers makes n the number of wanted users of all agents together. Newcomers start evenly spread
// over the given time of the clock, so that a step is not a burst; surplus users finish their
// action and leave, the highest numbers first. It returns at once.
func (l *Local) SetUsers(n int, over time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return errors.New("engine has stopped")
	}
	n = max(n, 0)
	from := l.desired
	now := l.cfg.Clock.Now()
	for id := from; id < n; id++ {
		at := now + time.Duration(float64(over)*float64(id-from)/float64(n-from))
		if err := l.start(id, at); err != nil {
			return err
		}
		l.desired = id + 1
	}
	for id := from - 1; id >= n; id-- {
		if s := l.user(id); s != nil && s.leave != nil {
			close(s.leave)
			s.leave = nil
			s.alarm.ring()
		}
	}
	l.desired = n
	return nil
}

// slot returns the place of user id among this agent's users; own is false for another agent's.
func (l *Local) slot(id int) (slot int, own bool) {
	agent, slot := l.deal.Of(id)
	return slot, agent == l.cfg.Agent
}

// user returns the place of user id; nil if it is another agent's. The lock is held.
func (l *Local) user(id int) *simulated {
	if slot, own := l.slot(id); own {
		return l.users[slot]
	}
	return nil
}

// start gives user id a goroutine that begins at an offset from the epoch. The lock is held.
func (l *Local) start(id int, at time.Duration) error {
	slot, own := l.slot(id)
	if id == l.dealt {
		l.dealt++
		if class, rank := l.strata.Next(); own {
			u := workload.NewUser(
				id,
				rank,
				l.cfg.Env.Seed,
				l.cfg.Env.Pace,
				l.cfg.Env.Registry.Recorder(slot),
				l.cfg.Clock,
			)
			u.Class = class
			u.Buffer()
			l.users = append(l.users, &simulated{user: u})
		}
	}
	if !own {
		return nil
	}
	s := l.users[slot]
	before := s.done // of the same user's earlier life; nil in its first
	var actor workload.Actor
	create := func() (err error) {
		actor, err = l.cfg.Mix[s.user.Class].Behavior.NewActor(l.cfg.Env.Of(s.user), s.user)
		return err
	}
	if before == nil {
		if err := create(); err != nil {
			return fmt.Errorf("user %d: %w", id, err)
		}
	}
	leave := make(chan struct{})
	done := make(chan struct{})
	alarm := newAlarm(l.cfg.Clock, l.wheel.NewTimer(slot))
	s.leave = leave
	s.done = done
	s.alarm = alarm
	l.wg.Go(func() {
		defer close(done)
		if before != nil {
			// it ends by itself or with the engine, and until then draws from the user's streams
			<-before
			if err := boundary.Do("a user that comes back", create); err != nil {
				l.broken(id, err)
				return
			}
			// The rest of the earlier life is the target's time, not the generator's lateness.
			at = max(at, l.cfg.Clock.Now())
		}
		l.live(s, actor, at, leave, alarm)
	})
	return nil
}

// ringAll wakes all users: the engine's context is over.
func (l *Local) ringAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.users {
		if s.alarm != nil { // nil: it could not be started
			s.alarm.ring()
		}
	}
}

// A life holds the events that a user's goroutine waits for, on that goroutine's stack.
type life struct {
	l     *Local
	u     *workload.User
	alarm *alarm
	leave <-chan struct{}
	inbox chan stormCall // nil until the user acts
}

// sleep returns when the time has come, or for a storm: then call is the storm. ok is false if the
// user is to go. from is the time at the call and now that at the return, as offsets from the
// epoch. While the clock stands still, it returns for leaving alone.
func (f *life) sleep(from, until time.Duration) (now time.Duration, call stormCall, ok bool) {
	f.u.Flush()
	for now = from; ; {
		rung := f.alarm.wait(now, until)
		now = f.u.Now()
		if rung {
			select {
			case <-f.leave:
				return now, call, false
			default:
			}
			if f.l.ctx.Err() != nil {
				return now, call, false
			}
			select {
			case call = <-f.inbox:
				return now, call, true
			default:
			}
		}
		if now >= until && f.l.cfg.Clock.Running() {
			return now, call, true
		}
	}
}

// login logs the user in, from a time on until it succeeds, and reports whether it has.
func (f *life) login(actor workload.Actor, at time.Duration) bool {
	_, _, ok := f.sleep(f.u.Now(), at)
	for try := 1; ok; try++ {
		f.u.Schedule(at)
		err := actor.Login(f.l.ctx)
		if err == nil {
			return true
		}
		if f.l.ctx.Err() != nil {
			return false
		}
		f.l.report(f.u.ID, fmt.Errorf("login, try %d: %w", try, err))
		now := f.u.Now()
		at = now + min(time.Duration(try)*time.Second, 10*time.Second)
		_, _, ok = f.sleep(now, at)
	}
	return false
}

// live is one user's life from its start to its leaving.
func (l *Local) live(
	s *simulated,
	actor workload.Actor,
	at time.Duration,
	leave <-chan struct{},
	alarm *alarm,
) {
	u := s.user
	f := life{l: l, u: u, alarm: alarm, leave: leave}
	defer l.end(u, actor)
	defer u.Flush()
	defer alarm.timer.Stop()
	if l.ctx.Err() != nil {
		return // it was over before ring could be called
	}
	if !f.login(actor, at) {
		return
	}
	l.active.Add(1)
	defer l.active.Add(-1)
	f.inbox = l.openInbox(s)
	defer l.closeInbox(s, f.inbox)
	// A user that joins is somewhere in a pause, not at the end of one.
	think := time.Duration(float64(actor.Think()) * u.Think.Float64() * u.Pace)
	cycle := l.count.cycle(u.ID)
	defer cycle.leave()
	ended := u.Now()
	// it thinks from here on: from the arrival of an action's last answer, not from when that was
	// read
	free := ended
	for {
		cycle.begin(free)
		intended := free + think
		due, call, ok := f.sleep(ended, intended)
		for ok && call.state != nil {
			if err := l.storm(u, actor, call, free); err != nil {
				l.fail(l.ctx, u.ID, err)
				return
			}
			// The pause goes on; if it ended meanwhile, the next action is due now. A part in a
			// storm is not an action, and not counted as begun.
			ended = u.Now()
			done := max(u.Free(ended), due)
			cycle.end(due-free, done-due)
			free = done
			cycle.begin(free)
			intended = max(intended, free)
			due, call, ok = f.sleep(ended, intended)
		}
		if !ok {
			return
		}
		cycle.late(due - intended)
		u.Lag(l.lag, due-intended)
		u.Schedule(intended)
		l.count.begin(due)
		err := actor.Act(l.ctx)
		if l.ctx.Err() == nil {
			u.Idle()
		}
		if err != nil {
			l.fail(l.ctx, u.ID, err)
			return
		}
		ended = u.Now()
		done := max(u.Free(ended), due)
		cycle.end(intended-free, done-due)
		free, think = done, time.Duration(float64(actor.Think())*u.Pace)
	}
}

func (l *Local) report(user int, err error) {
	if l.cfg.OnError != nil {
		l.cfg.OnError(user, err)
	}
}

// Users returns how many users are wanted of all agents together, how many of this one's are logged
// in and acting, and how many have failed for good.
func (l *Local) Users() (desired, active, failed int) {
	l.mu.Lock()
	desired = l.desired
	l.mu.Unlock()
	return desired, int(l.active.Load()), int(l.failed.Load())
}

// Stop signals all users to go, waits for them for at most grace, in real time, then cancels their
// actions and waits for all goroutines. It is idempotent.
func (l *Local) Stop(grace time.Duration) {
	l.endStorms()
	if err := l.SetUsers(0, 0); err == nil {
		done := make(chan struct{})
		go func() { l.wg.Wait(); close(done) }()
		t := time.NewTimer(grace)
		select {
		case <-done:
		case <-t.C:
		case <-l.ctx.Done():
		}
		t.Stop()
	}
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	l.cancel(errLeft)
	l.wg.Wait()
}
