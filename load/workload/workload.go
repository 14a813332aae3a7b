package workload

import (
	"context"
	"errors"
	"net"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

// A Behavior is the conduct of one kind of simulated user. Its methods are called by one goroutine
// at a time, except NewActor, which is safe for concurrent use once Provision has returned.
type Behavior interface {
	// Provision brings the server into the state that n users need (accounts, teams, channels,
	// tokens), before any clock runs. It is idempotent, and it may be called again with a larger n.
	// With warm logins, it also obtains their tokens. After a reset to a snapshot taken later than
	// Provision, its outcome is still true.
	Provision(ctx context.Context, env Env, n int) error
	// NewActor returns the actor of one user. It makes no request.
	NewActor(env Env, u *User) (Actor, error)
}

// An Actor is one user at work. The engine calls it from one goroutine.
type Actor interface {
	// Login makes the user ready to act (connections, WebSocket, with cold logins the password
	// too). Its operations are recorded under names of their own.
	Login(ctx context.Context) error
	// Think draws the pause before the next action, as at pace 1; the engine scales it.
	Think() time.Duration
	// Act performs one action: one or more operations. A failure of the server is recorded, not
	// returned; an error means that the user cannot go on.
	Act(ctx context.Context) error
	// Close ends the user's connections. It returns within a second.
	Close()
}

// Connected is a Behavior that reports how many connections each of its users keeps; others keep
// one.
type Connected interface {
	Sockets() int
}

// Sparse is a Behavior whose users do no other operations of the steady state than those that it
// names.
type Sparse interface {
	Operations() []string
}

// Limited is a Behavior whose users need what Provision has made for each: no more of them can be
// there at once.
type Limited interface {
	// Most returns that number after Provision; ok is false when any number can be there.
	Most() (users int, ok bool)
}

// Undelivering is a Behavior that learns by Provision whether the target delivers messages at all.
type Undelivering interface {
	// Undelivered returns why no delivery is expected, by the target's own word; "" for a target
	// that delivers.
	Undelivered() string
}

// Env holds the values that all users of a run share. Its JSON is the part that users in other
// processes get.
type Env struct {
	// URL is the server's base URL, without a slash at the end. It is set for each run: a target
	// may move between resets.
	URL string
	// URLs lead to all servers of one target, over which users are spread; see [Env.Of]. Nil
	// means URL alone.
	URLs []string
	// HTTP2 means that users speak HTTP/2; their WebSockets stay HTTP/1.1.
	HTTP2 bool
	// Seed is the plan's.
	Seed uint64
	// Pace scales every pause inside an action, like the think time: 0.1 is ten times as fast.
	Pace float64
	// Cold means that users log in with their password during the run.
	Cold bool
	// Script is the bundle of the plan's script, as JSON; nil without one.
	Script []byte
	// Params are the behavior's own settings from the plan.
	Params map[string]string
	// Variables are all values of the plan's params, references resolved, for a behavior that knows
	// no names of its own; Params are without what no behavior knows then.
	Variables map[string]string `json:"-"`
	// Accounts are those that the users of the behavior have, by rank, in a call of Provision; nil
	// means that it makes accounts. Only an [Adopter] is given some.
	Accounts *Accounts `json:"-"`
	// Secret returns a secret by name, or "". Secrets never enter a plan, a log or an error.
	Secret func(name string) string `json:"-"`
	// Secrets receives every password and token that a behavior derives, is issued or restores, so
	// that no text of the target shows one. It may be nil.
	Secrets *plain.Secrets `json:"-"`
	// Clock is the run's, in whose time users wait and time out; the engine sets it. Nil means real
	// time.
	Clock *clock.Clock `json:"-"`
	// Timeout ends an operation.
	Timeout time.Duration
	// Dial makes the users' connections, for instance from several source addresses. Nil means the
	// usual way.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error) `json:"-"`
	// Registry receives the operations.
	Registry *measure.Registry `json:"-"`
	// Ledger follows each message from its author to its recipients. It may be nil.
	Ledger *Ledger `json:"-"`
	// Tally counts planned and actual actions of users. It may be nil.
	Tally *Tally `json:"-"`
	// Mix names where the weights come from, for reports: a named mix, or "custom". Empty means the
	// behavior's default.
	Mix string
	// Weights are the weights of actions by name, for all behaviors that have an action of that
	// name. Nil means each behavior's default; an action that is not in it has weight 0.
	Weights map[string]float64
	// Log reports progress of Provision, and the first failure of each kind in a run, to a person.
	// It may be nil.
	Log func(format string, args ...any) `json:"-"`
	// Panicked is called with a panic that a user's own boundary caught: the run is not valid then.
	// It is safe for concurrent use. It may be nil.
	Panicked func(*boundary.Panic) `json:"-"`
}

// Panic reports whether err is a panic, and passes it to [Env.Panicked] unless that is nil.
func (e *Env) Panic(err error) bool {
	p, is := errors.AsType[*boundary.Panic](err)
	if is && e.Panicked != nil {
		e.Panicked(p)
	}
	return is
}

// ErrStop is returned by an actor's Act when the run is being ended.
var ErrStop = errors.New("user stopped")

// A Portable is a [Behavior] whose users can live in another process than the one that has called
// Provision.
type Portable interface {
	Behavior
	// State returns the state that Provision has found and made, for the users of some ranks,
	// ascending; nil for all. It is as secret as the tokens and passwords in it, and holds none
	// that is another user's own.
	State(ranks []int) ([]byte, error)
	// Restore makes a new value ready for NewActor of these users by the State of another, instead
	// of Provision. env is as it was there; its Secret is not called.
	Restore(env Env, state []byte) error
}

// A Finisher is a [Behavior] that has something left to do at the target when its users and the
// audit are done.
type Finisher interface {
	// Finish does it, once, in the process that has called Provision. Its operations are recorded
	// under names that begin with Setup.
	Finish(ctx context.Context, env Env) error
}
