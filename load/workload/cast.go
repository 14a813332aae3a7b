package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

// A Cast is the part of a [Behavior] that all its users share. A behavior embeds one, and replaces
// the methods that do too little: nothing is prepared for the users, and they can live in any
// process. The zero value is ready.
type Cast struct {
	mu   sync.Mutex
	reg  *measure.Registry // of the run under way
	told map[failureKind]bool
}

// failureKind is what failures have in common that are printed once.
type failureKind struct {
	op     string
	class  measure.Class
	status int
	said   string
}

// mostTold bounds the kinds of failure that are printed of a run.
const mostTold = 20

// Provision implements [Behavior]: the users need nothing.
func (*Cast) Provision(context.Context, Env, int) error { return nil }

// State implements [Portable]: there is nothing to hand over.
func (*Cast) State([]int) ([]byte, error) { return []byte("{}"), nil }

// Restore implements [Portable].
func (*Cast) Restore(Env, []byte) error { return nil }

// note prints the first failure of each kind in a run, and passes a panic on.
func (c *Cast) note(env *Env, e *CallError) {
	env.Panic(e)
	if env.Log == nil {
		return
	}
	kind := failureKind{e.Op, e.Class, e.Status, e.Said}
	c.mu.Lock()
	if c.reg != env.Registry || c.told == nil {
		c.reg, c.told = env.Registry, map[failureKind]bool{}
	}
	seen := c.told[kind] || len(c.told) >= mostTold
	if !seen {
		c.told[kind] = true
	}
	c.mu.Unlock()
	if !seen {
		env.Log("first failure of its kind: %v", e)
	}
}

// A CallError is an operation of a [Caller] or an [EventSocket] that did not have its effect.
type CallError struct {
	Op     string
	Class  measure.Class
	Status int    // of the answer; 0 if there was none
	Said   string // the beginning of an answer with an unwanted status, as [plain.Excerpt] shows it
	Err    error  // the cause, if it is not just the status
}

// Error names the operation and the known cause.
func (e *CallError) Error() string {
	text := e.Op + ": "
	if e.Status != 0 {
		text += fmt.Sprintf("status %d ", e.Status)
	}
	if e.Said != "" {
		text += strconv.Quote(e.Said) + " "
	}
	if e.Err != nil {
		text += plain.Excerpt(e.Err.Error(), 500) + " "
	}
	return text + "(" + e.Class.String() + ")"
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Aside returns a user for the calls of Provision and Audit, which are of no simulated user. Their
// names begin with [Setup]. They time out by env.Clock, or in real time if it is nil.
func Aside(env Env) *User {
	reg := cmp.Or(env.Registry, measure.NewRegistry(1))
	return NewUser(0, 0, env.Seed, 1, reg.Recorder(0), clock.New(time.Now()))
}

// caller is what the two sides of a user, HTTP and WebSocket, have in common.
type caller struct {
	// User is the user who calls.
	User *User

	cast  *Cast
	env   Env
	names []namedSeries
}

type namedSeries struct {
	name   string
	handle measure.Name
}

// series returns the handle of a name, of which a user has few.
func (c *caller) series(name string) measure.Name {
	for i := range c.names {
		if c.names[i].name == name {
			return c.names[i].handle
		}
	}
	n := namedSeries{name, c.User.rec.Name(name)}
	c.names = append(c.names, n)
	return n.handle
}

// A Caller makes the requests of one user, over a connection of its own, and records each as one
// operation. It is not safe for concurrent use.
type Caller struct {
	caller
	http *wire.Client
}

// Caller returns the requests of a user. The caller closes it.
func (c *Cast) Caller(env Env, u *User) (*Caller, error) {
	h, err := wire.NewClient(wire.Config{
		URL:       env.URL,
		HTTP2:     env.HTTP2,
		Timeout:   env.Timeout,
		Clock:     env.Clock,
		UserAgent: "plimsoll",
		Dial:      env.Dial,
	})
	if err != nil {
		return nil, err
	}
	return &Caller{caller{User: u, cast: c, env: env}, h}, nil
}

// Close closes the connection.
func (c *Caller) Close() { _ = c.http.Close() } // it has no errors worth a word

// Do makes a request and records it as an operation of that name, which begins with [Login] in a
// login, and with [Setup] around a run. It succeeds if the status is 2xx and read accepts the body,
// which it may not keep; a nil read accepts any. The error is a [*CallError], or the cause of ctx
// if the run ended: then nothing is recorded. The instants of the response are valid in any case.
func (c *Caller) Do(
	ctx context.Context,
	name string,
	req *wire.Request,
	read func(body []byte) error,
) (*wire.Response, error) {
	n := c.series(name)
	c.User.Begin(n)
	resp, err := c.http.Do(ctx, req)
	defer c.http.Release()
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return resp, context.Cause(ctx)
	}
	var e *CallError
	switch {
	case err != nil:
		e = &CallError{Op: name, Class: ClassOf(err), Status: resp.Status, Err: err}
	case resp.Status < 200 || resp.Status > 299:
		e = &CallError{Op: name, Class: ClassOfStatus(resp.Status), Status: resp.Status,
			Said: plain.Excerpt(strings.TrimSpace(string(resp.Body[:min(len(resp.Body), 1000)])), 200)}
	case read != nil:
		if err := c.decode(resp.Body, read); err != nil {
			e = &CallError{Op: name, Class: ClassOf(err), Status: resp.Status, Err: err}
		}
	}
	class := measure.OK
	if e != nil {
		class = e.Class
	}
	due := c.User.Done(n, resp.Due, resp.Sent, resp.Done, class, resp.BodyBytes)
	if e == nil {
		return resp, nil
	}
	if class == measure.Status4xx || class == measure.Status5xx {
		Answered(c.env.Registry, name, e.Status, due)
	}
	c.cast.note(&c.env, e)
	return resp, e
}

// decode calls read with memory reserved for the values decoded from a large answer.
func (c *Caller) decode(body []byte, read func([]byte) error) (err error) {
	defer boundary.Recover("reading an answer", &err)
	if len(body) > 64<<10 {
		if err := c.http.Reserve(2 * int64(len(body))); err != nil {
			return err
		}
	}
	return read(body)
}
