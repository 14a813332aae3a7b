// Package preflight checks a plan before its runs begin: its files and references, this host, and
// the servers that it names ([Inspection]). [Run] makes checks side by side, each within a time of
// its own, so that all that is wrong is known at once and within seconds.
//
// [ModeOf] decides whether this host can carry out a duet, [Meet] asks a server what it is before
// there is a plan, and [Examine] looks at a host without one.
//
// # Out of scope
//
// What follows from the findings. A check that ignores the end of its context, as a call to a dead
// file system does, is left behind and not waited for.
package preflight

import (
	"context"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/plan"
)

// Within bounds all checks together.
const Within = 4500 * time.Millisecond

// patience is the time that a check has to heed the end of its context.
const patience = 250 * time.Millisecond

// A Check looks at one thing.
type Check struct {
	// Name says what is looked at, as in "the login at https://chat.example.com".
	Name string
	// Within is the time that the check has; 0, and more than [Within], mean that.
	Within time.Duration
	// Do looks, and writes what it finds to the log.
	Do func(ctx context.Context, log *Log)
}

// A Log takes the findings of one check. Its methods may be called by several goroutines. What is
// written after the end of the check's time is dropped: it may be that end which the check has
// found.
type Log struct {
	ctx context.Context // of the check, which the log does not outlive

	mu       sync.Mutex
	doing    string
	closed   bool
	problems []plan.Problem
	cautions []plan.Problem
}

// Doing says what is looked at from now on, for the case that the time ends in it.
func (l *Log) Doing(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() == nil {
		l.doing = what
	}
}

// Problem notes something for which the run cannot begin: the key of the plan that it is of, "" for
// none, and a text with the remedy.
func (l *Log) Problem(path, format string, args ...any) { l.add(&l.problems, path, format, args) }

// Caution notes something that a person should know of a run that can begin.
func (l *Log) Caution(path, format string, args ...any) { l.add(&l.cautions, path, format, args) }

func (l *Log) add(to *[]plan.Problem, path, format string, args []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && l.ctx.Err() == nil {
		*to = append(*to, plan.Problem{Path: path, Msg: fmt.Sprintf(format, args...)})
	}
}

// A Result lists what the checks found, in their order.
type Result struct {
	// Problems are those for which the run cannot begin, Cautions the others. They have no lines
	// yet: see [plan.Located].
	Problems, Cautions []plan.Problem
	// Left names what could not be looked at in time.
	Left []string
}

// Run carries the checks out and returns within [Within] and a quarter of a second, which panicked
// checks and an end of ctx turn into an error.
func Run(ctx context.Context, checks []Check) (Result, error) {
	logs, ended := make([]*Log, len(checks)), make([]chan error, len(checks))
	for i, c := range checks {
		within := Within
		if c.Within > 0 {
			within = min(c.Within, Within)
		}
		own, cancel := context.WithTimeout(ctx, within)
		logs[i], ended[i] = &Log{ctx: own, doing: c.Name}, make(chan error, 1)
		go func() {
			defer cancel()
			err := boundary.Do("the check of "+c.Name, func() error {
				c.Do(own, logs[i])
				return nil
			})
			if err == nil && own.Err() != nil {
				err = errLate
			}
			ended[i] <- err
		}()
	}
	var r Result
	for i, l := range logs {
		err := await(l.ctx, ended[i])
		l.mu.Lock()
		l.closed = true
		r.Problems = append(r.Problems, l.problems...)
		r.Cautions = append(r.Cautions, l.cautions...)
		doing := l.doing
		l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return r, context.Cause(ctx)
		case err == errLate:
			r.Left = append(r.Left, doing)
		case err != nil:
			return r, err
		}
	}
	return r, nil
}

// late is the type of errLate.
type late struct{}

func (late) Error() string { return "not done in time" }

// errLate is the end of a check whose time was over.
var errLate error = late{}

// await returns the end of a check, or errLate when it does not heed the end of its context.
func await(ctx context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case err := <-ended:
		return err
	case <-t.C:
		return errLate
	}
}
