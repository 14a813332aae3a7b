package probe

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"plimsoll/watch/series"
)

// A Backlog measures the CPU time that a target which stood still owes to the clock: its timers
// expire in a pause, and their work is done when the target goes on. It emits
//
//	plimsoll_idle_cpu_ratio{role}          cores in use without load and without pauses
//	plimsoll_idle_cpu_error_ratio{role}    standard error of that
//	plimsoll_pause_seconds_total           real time in which the clock of the run stood
//	plimsoll_backlog_pause_seconds_total   the part of it of which the backlog was read
//	plimsoll_backlog_cpu_seconds_total{role}   CPU time from the end of these pauses until the start of the clock
//	plimsoll_turns_total                   turns that ended, of which the following are sums
//	plimsoll_turns_pause_seconds_total, plimsoll_turns_pause_squares_total      the pause before each, and its square
//	plimsoll_turns_cpu_ratio_total{role}, plimsoll_turns_cpu_squares_total{role}   cores in use in each, and the square
//	plimsoll_turns_cpu_pause_total{role}   the product of both
//
// The sums of turns are those of a line of least squares, by which the use grows with the pause
// before.
//
// Only roles with a control group are read: the process table counts in hundredths of a second. Its
// methods are safe for concurrent use.
type Backlog struct {
	mu      sync.Mutex
	roles   []*backlogRole
	stood   time.Time // when the clock stopped last
	read    bool      // the backlog since then
	paused  time.Duration
	covered time.Duration
	turns   turnSums
	out     sink
}

// turnSums are sums over turns.
type turnSums struct {
	n, pause, squares float64
	began             time.Time       // the turn under way; zero for none
	before            float64         // its pause
	used              []time.Duration // at its beginning
}

type backlogRole struct {
	cpu                   func() (CPUTime, error)
	labels                []series.Label
	owed                  time.Duration
	sum, squares, product float64 // of turns
	idle, idleError       float64
}

// NewBacklog returns the backlog of roles; nil where none of them can be read.
func NewBacklog(roles []Role) *Backlog {
	b := &Backlog{}
	for _, r := range roles {
		if r.CPU != nil {
			b.roles = append(b.roles, &backlogRole{cpu: r.CPU, labels: Labels("role", r.Name)})
		}
	}
	if len(b.roles) == 0 {
		return nil
	}
	return b
}

const (
	idleParts = 40 // of the time of Idle, for its standard error

	backlogPoll = 2 * time.Millisecond
	// backlogQuiet is how long a target has to be quiet to have no backlog. The kernel counts the
	// time of a thread that runs on every 4 ms, so that a shorter time may see none.
	backlogQuiet = 6 * time.Millisecond
	quietShare   = 0.1 // of a core, of one role
	// A target that has used backlogBurst has to be quiet for backlogRest: others on its core may
	// be in the way.
	backlogBurst = time.Millisecond
	backlogRest  = 3 * backlogQuiet
)

// Idle reads what the roles use without load and without pauses, for a time.
func (b *Backlog) Idle(ctx context.Context, length time.Duration) error {
	last, err := b.usage()
	if err != nil {
		return err
	}
	began, first := time.Now(), last
	squares := make([]float64, len(b.roles))
	tick := time.NewTicker(length / idleParts)
	defer tick.Stop()
	for range idleParts {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		now, err := b.usage()
		if err != nil {
			return err
		}
		for i := range now {
			d := (now[i] - last[i]).Seconds()
			squares[i] += d * d
		}
		last = now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	took := time.Since(began).Seconds()
	for i, r := range b.roles {
		sum := (last[i] - first[i]).Seconds()
		r.idle = sum / took
		r.idleError = math.Sqrt(max(squares[i]-sum*sum/idleParts, 0)) / took
	}
	return nil
}

// Stand is called when the clock of the run stops, or before its first start.
func (b *Backlog) Stand() {
	used, err := b.usage()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.turn(used)
	}
	b.stood, b.read = time.Now(), false
}

// CatchUp returns when the target, which has just been continued, is quiet, or after limit, and
// counts what it used.
func (b *Backlog) CatchUp(limit time.Duration) {
	first, err := b.usage()
	if err != nil {
		return // a role that has ended is told elsewhere
	}
	last := first
	began := time.Now()
	rest := backlogQuiet
	for quiet := began; time.Since(began) < limit && time.Since(quiet) < rest; {
		time.Sleep(backlogPoll)
		now, err := b.usage()
		if err != nil {
			return
		}
		for i := range now {
			if now[i]-last[i] > time.Duration(quietShare*float64(backlogPoll)) {
				quiet = time.Now()
			}
			if now[i]-first[i] > backlogBurst {
				rest = backlogRest
			}
		}
		last = now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = true
	for i, r := range b.roles {
		r.owed += last[i] - first[i]
	}
}

// Start is called when the clock of the run starts.
func (b *Backlog) Start() {
	used, err := b.usage()
	b.mu.Lock()
	defer b.mu.Unlock()
	pause := time.Since(b.stood)
	if t := &b.turns; err == nil && b.read {
		t.began, t.before, t.used = time.Now(), pause.Seconds(), used
	}
	b.paused += pause
	if b.read {
		b.covered += pause
	}
}

// turn adds the turn that ends, if its pause had a backlog that was read: no operation was under
// way at its beginning.
func (b *Backlog) turn(used []time.Duration) {
	t := &b.turns
	length := time.Since(t.began).Seconds()
	if t.began.IsZero() || length <= 0 {
		return
	}
	t.n++
	t.pause += t.before
	t.squares += t.before * t.before
	for i, r := range b.roles {
		u := (used[i] - t.used[i]).Seconds() / length
		r.sum += u
		r.squares += u * u
		r.product += u * t.before
	}
	t.began = time.Time{}
}

// usage reads the CPU time of all roles.
func (b *Backlog) usage() ([]time.Duration, error) {
	out := make([]time.Duration, len(b.roles))
	for i, r := range b.roles {
		t, err := r.cpu()
		if err != nil {
			return nil, fmt.Errorf("backlog: %w", err)
		}
		out[i] = t.Total
	}
	return out, nil
}

// Name returns "backlog".
func (b *Backlog) Name() string { return "backlog" }

// Sample returns the sums so far.
func (b *Backlog) Sample(context.Context, time.Time) ([]series.Sample, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.reset()
	b.out.add("plimsoll_pause_seconds_total", nil, b.paused.Seconds())
	b.out.add("plimsoll_backlog_pause_seconds_total", nil, b.covered.Seconds())
	b.out.add("plimsoll_turns_total", nil, b.turns.n)
	b.out.add("plimsoll_turns_pause_seconds_total", nil, b.turns.pause)
	b.out.add("plimsoll_turns_pause_squares_total", nil, b.turns.squares)
	for _, r := range b.roles {
		b.out.add("plimsoll_turns_cpu_ratio_total", r.labels, r.sum)
		b.out.add("plimsoll_turns_cpu_squares_total", r.labels, r.squares)
		b.out.add("plimsoll_turns_cpu_pause_total", r.labels, r.product)
		b.out.add("plimsoll_idle_cpu_ratio", r.labels, r.idle)
		b.out.add("plimsoll_idle_cpu_error_ratio", r.labels, r.idleError)
		b.out.add("plimsoll_backlog_cpu_seconds_total", r.labels, r.owed.Seconds())
	}
	return b.out.s, nil
}
