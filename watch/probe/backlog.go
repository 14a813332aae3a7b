package probe

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"plimsoll/watch/series"
)

// A Backlog measures the CPU time that a target which stood still owes to the clock: its timers expire in a pause, and
// their work is done when the target goes on. It emits
//
//	plimsoll_idle_cpu_ratio{role}          cores in use without load and without pauses
//	plimsoll_idle_cpu_error_ratio{role}    standard error of that
//	plimsoll_pause_seconds_total           real time in which the clock of the run stood
//	plimsoll_backlog_pause_seconds_total   the part of it of which the backlog was read
//	plimsoll_backlog_cpu_seconds_total{role}   CPU time from the end of these pauses until the start of the clock
//
// Only roles with a control group are read: the process table counts in hundredths of a second. Its methods are safe
// for concurrent use.
type Backlog struct {
	mu      sync.Mutex
	roles   []*backlogRole
	stood   time.Time // when the clock stopped last
	read    bool      // the backlog since then
	paused  time.Duration
	covered time.Duration
	out     sink
}

type backlogRole struct {
	cpu         func() (CPUTime, error)
	labels      []series.Label
	owed        time.Duration
	idle, error float64
}

// NewBacklog returns the backlog of roles; nil where none of them can be read.
func NewBacklog(roles []Role) *Backlog {
	b := &Backlog{}
	for _, r := range roles {
		if r.CPU != nil {
			b.roles = append(b.roles, &backlogRole{cpu: r.CPU, labels: label("role", r.Name)})
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
	// backlogQuiet is how long a target has to be quiet to have no backlog. The kernel counts the time of a thread that
	// runs on every 4 ms, so that a shorter time may see none.
	backlogQuiet = 6 * time.Millisecond
	quietShare   = 0.1 // of a core, of one role
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
		r.error = math.Sqrt(max(squares[i]-sum*sum/idleParts, 0)) / took
	}
	return nil
}

// Stand is called when the clock of the run stops, or before its first start.
func (b *Backlog) Stand() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stood, b.read = time.Now(), false
}

// CatchUp returns when the target, which has just been continued, is quiet, or after limit, and counts what it used.
func (b *Backlog) CatchUp(limit time.Duration) {
	first, err := b.usage()
	if err != nil {
		return // a role that has ended is told elsewhere
	}
	last := first
	began := time.Now()
	for quiet := began; time.Since(began) < limit && time.Since(quiet) < backlogQuiet; {
		time.Sleep(backlogPoll)
		now, err := b.usage()
		if err != nil {
			return
		}
		for i := range now {
			if now[i]-last[i] > time.Duration(quietShare*float64(backlogPoll)) {
				quiet = time.Now()
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
	b.mu.Lock()
	defer b.mu.Unlock()
	pause := time.Since(b.stood)
	b.paused += pause
	if b.read {
		b.covered += pause
	}
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
	for _, r := range b.roles {
		b.out.add("plimsoll_idle_cpu_ratio", r.labels, r.idle)
		b.out.add("plimsoll_idle_cpu_error_ratio", r.labels, r.error)
		b.out.add("plimsoll_backlog_cpu_seconds_total", r.labels, r.owed.Seconds())
	}
	return b.out.s, nil
}
