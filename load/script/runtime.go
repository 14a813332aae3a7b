package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/boundary"
	"plimsoll/load/measure"
	"plimsoll/load/script/guard"
	"plimsoll/load/workload"
)

// deepest is how deep calls of a script may be nested.
const deepest = 2000

// A recorder takes finished ops: the user's own, or one beside it.
type recorder interface {
	Begin(n measure.Name)
	Done(n measure.Name, due, sent, done time.Time, class measure.Class, bytes int64) time.Duration
}

// A frame is one entry into a realm: an iteration, or a handler within or between iterations.
type frame struct {
	ctx     context.Context // of the action, or of the socket
	stretch *guard.Computation
	beside  *workload.Beside // of a handler; nil: the user's own code
	failed  bool             // an operation failed
	at      time.Time        // when the message came that is handled; zero outside of handlers
	sent    time.Time        // when the last request was sent
}

// A realm is one user's runtime with the values of the script in it. Its fields belong to the
// holder of mu.
type realm struct {
	*play
	rt     *sobek.Runtime
	env    *workload.Env
	user   *workload.User
	series *series

	mu      sync.Mutex
	frame   frame
	init    bool // the script's top level runs
	closed  bool
	watch   *guard.Watch
	rejoin  time.Duration // when the last operation of a handler was done; 0: since then the user acted
	closers []func()      // close what the user has open; called by close without the lock

	modules map[string]sobek.Value
	exports exports
	data    sobek.Value    // of setup, for this user; nil until it is asked for
	parse   sobek.Callable // JSON.parse
	text    sobek.Callable // JSON.stringify
	told    sobek.Callable // describes what was thrown
	json    sobek.Value    // the method of responses; nil until one is asked for
	web     *web           // of k6/http; nil until it is needed
	talk    *talk          // of sockets and the ledger; nil until it is needed
}

// newRealm makes a realm of a play and runs the script's top level in it. series has the names of
// its operations.
func newRealm(ctx context.Context, p *play, env *workload.Env, u *workload.User, s *series,
) (r *realm, err error) {
	r = &realm{play: p, rt: sobek.New(), env: env, user: u, series: s, init: true,
		modules: map[string]sobek.Value{}}
	acts, around := p.limits.join()
	r.watch = around
	defer func() {
		if r.init, r.watch = false, acts; err != nil {
			r.close()
			r = nil
		}
	}()
	if err := p.limits.bounds.Harden(r.rt); err != nil {
		return nil, err
	}
	r.rt.SetRandSource(u.Content.Float64)
	r.rt.SetMaxCallStackSize(deepest)
	object := r.rt.Get("JSON").ToObject(r.rt)
	r.parse, _ = sobek.AssertFunction(object.Get("parse"))
	r.text, _ = sobek.AssertFunction(object.Get("stringify"))
	r.told, _ = sobek.AssertFunction(r.function(r.tell))
	err = errors.Join(
		r.rt.Set("global", r.rt.GlobalObject()), // as in k6; converters write it
		r.rt.Set("__VU", u.ID+1),
		r.rt.Set("__ITER", 0),
		r.rt.Set("__ENV", r.variables()),
		r.rt.Set("console", r.host(console)),
		r.rt.Set("open", r.function(r.open)),
	)
	if err != nil {
		return nil, err
	}
	defer boundary.Recover("the script's top level", &err)
	module := r.rt.NewObject()
	made := r.rt.NewObject()
	if err := module.Set("exports", made); err != nil {
		return nil, err
	}
	return r, r.run(frame{ctx: ctx}, func() error {
		f, err := r.rt.RunProgram(p.program)
		if err != nil {
			return err
		}
		call, ok := sobek.AssertFunction(f)
		if !ok {
			return errors.New("the bundle is not a function")
		}
		require := r.function(r.require)
		if _, err = call(sobek.Undefined(), require, made, module); err == nil {
			err = r.read(module.Get("exports").ToObject(r.rt))
		}
		return err
	})
}

// run is one entry of the user's own goroutine: it takes the lock and lets f call the script. The
// error is a [*Exception], or workload.ErrStop if the run ended meanwhile.
func (r *realm) run(f frame, do func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enter(f, do)
}

// handle is one entry of a goroutine that reads one of the user's sockets, for an event that arrived
// at that moment or, for one that no message set off, happened then. The error is that of run.
// Nothing is called once the realm is closed. beside is overwritten.
func (r *realm) handle(ctx context.Context, at time.Time, beside *workload.Beside, do func() error,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return workload.ErrStop
	}
	return r.interpose(ctx, at, beside, do)
}

// interpose is handle for the holder of the lock.
func (r *realm) interpose(ctx context.Context, at time.Time, beside *workload.Beside, do func() error,
) error {
	since := r.user.Since(at)
	*beside = *r.user.Beside(since)
	err := r.enter(frame{ctx: ctx, beside: beside, at: at}, do)
	if last := beside.Intended(); last > since {
		r.rejoin = max(r.rejoin, last)
	}
	return err
}

// enter calls do with a frame on top. It needs the lock.
func (r *realm) enter(f frame, do func() error) (err error) {
	below := r.frame
	r.frame = f
	r.rt.ClearInterrupt()
	r.frame.stretch = r.watch.Enter(r.rt)
	defer func() {
		r.frame.stretch.Leave()
		r.rt.ClearInterrupt()
		r.frame = below
	}()
	r.rejoined()
	if err = r.call(do); err != nil {
		err = r.exception(err)
	}
	return err
}

// call calls do and returns what code of the script that it sets off itself, such as a getter, throws.
func (r *realm) call(do func() error) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *sobek.Exception:
			err = x
		case *sobek.InterruptedError:
			err = x
		case *sobek.StackOverflowError:
			err = x
		case sobek.Value:
			err = &thrown{x}
		default:
			panic(x)
		}
	}()
	return do()
}

// out begins a wait inside a host call: computing is not counted, and handlers may come in. In a
// handler the lock stays. It returns the argument of in.
func (r *realm) out() (free bool) {
	r.frame.stretch.Pause()
	if free = r.frame.beside == nil; free {
		r.mu.Unlock()
	}
	return free
}

// in ends what out began. The frame is that of a handler perhaps, until it has the lock.
func (r *realm) in(free bool) {
	if free {
		r.mu.Lock()
	}
	r.frame.stretch.Resume()
}

// wait calls f, which blocks, between out and in. When the run ended meanwhile, it does not return
// but leaves the script.
func (r *realm) wait(f func(ctx context.Context)) {
	r.apart(f)
	r.ended()
	r.rejoined()
}

// apart calls f between out and in.
func (r *realm) apart(f func(ctx context.Context)) {
	ctx := r.frame.ctx
	free := r.out()
	defer r.in(free)
	f(ctx)
}

// ended leaves the script if its run has ended.
func (r *realm) ended() {
	if r.frame.ctx.Err() != nil {
		panic(&sobek.InterruptedError{}) // the script cannot catch it
	}
}

// rejoined makes the user's next operation intended no earlier than the last one of a handler.
func (r *realm) rejoined() {
	if r.rejoin > 0 && r.frame.beside == nil {
		r.user.Rejoin(r.rejoin)
		r.rejoin = 0
	}
}

// recorder returns who records the operations of the code that runs.
func (r *realm) recorder() recorder {
	if r.frame.beside != nil {
		return r.frame.beside
	}
	return r.user
}

// close ends all that the user has open.
func (r *realm) close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	closers := r.closers
	r.closers = nil
	r.mu.Unlock()
	r.limits.leave()
	for _, f := range closers {
		f()
	}
}

// A module is what a script can import. make returns a member when it is first asked for; names
// lists all.
type module struct {
	names []string
	make  func(r *realm, name string) sobek.Value
}

// moduleOf returns the module of that name; without make if there is none.
func moduleOf(name string) module {
	switch name {
	case "k6":
		return module{kernelNames, kernelMember}
	case "k6/http":
		return module{webNames, webMember}
	case "k6/data":
		return module{dataNames, dataMember}
	case "k6/ws":
		return module{wsNames, wsMember}
	case "plimsoll":
		return module{ownNames, ownMember}
	}
	return module{}
}

// require returns a module to the script.
func (r *realm) require(c sobek.FunctionCall) sobek.Value {
	name := c.Argument(0).String()
	if v := r.module(name); v != nil {
		return v
	}
	panic(r.fault("there is no module %q here", name))
}

// module returns a module of the realm; nil if there is none of that name.
func (r *realm) module(name string) sobek.Value {
	v := r.modules[name]
	if v == nil {
		m := moduleOf(name)
		if m.make == nil {
			return nil
		}
		v = r.host(m)
		r.modules[name] = v
	}
	return v
}

// fixed is the part of a host object that lets scripts change nothing.
type fixed struct{}

// Set implements sobek.DynamicObject.
func (fixed) Set(string, sobek.Value) bool { return false }

// Delete implements sobek.DynamicObject.
func (fixed) Delete(string) bool { return false }

// hosted is a host object with the members of a module.
type hosted struct {
	fixed
	r    *realm
	of   module
	self any // what the object stands for; nil for a module
	// whole is the object itself, which a module also exports as its default.
	whole *sobek.Object
	made  []sobek.Value
}

// host returns a host object with these members.
func (r *realm) host(of module) *sobek.Object {
	h := &hosted{r: r, of: of}
	h.whole = r.rt.NewDynamicObject(h)
	return h.whole
}

// Get implements sobek.DynamicObject.
func (h *hosted) Get(key string) sobek.Value {
	i := slices.Index(h.of.names, key)
	switch {
	case i < 0 && key == "default" && h.whole != nil:
		return h.whole
	case i < 0:
		return nil
	}
	if h.made == nil {
		h.made = make([]sobek.Value, len(h.of.names))
	}
	if h.made[i] == nil {
		h.made[i] = h.of.make(h.r, key)
	}
	return h.made[i]
}

// Has implements sobek.DynamicObject.
func (h *hosted) Has(key string) bool {
	return slices.Contains(h.of.names, key)
}

// Keys implements sobek.DynamicObject.
func (h *hosted) Keys() []string { return h.of.names }

// function returns a function of the host as a value.
func (r *realm) function(f func(sobek.FunctionCall) sobek.Value) sobek.Value {
	return r.rt.ToValue(f)
}

// procedure is a function that returns nothing.
func (r *realm) procedure(f func(sobek.FunctionCall)) sobek.Value {
	return r.function(func(c sobek.FunctionCall) sobek.Value {
		f(c)
		return sobek.Undefined()
	})
}

// fault returns a TypeError for a script that misuses the host; who gets it panics with it.
func (r *realm) fault(format string, args ...any) *sobek.Object {
	return r.rt.NewTypeError(fmt.Sprintf(format, args...))
}

// must passes an exception of a function of the script on to its caller.
func must(v sobek.Value, err error) sobek.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// missing reports whether an argument was left out.
func missing(v sobek.Value) bool {
	return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v)
}

// own returns a property of an object of the script; nil if it has none, or is no object.
func (r *realm) own(v sobek.Value, key string) sobek.Value {
	if o, ok := v.(*sobek.Object); ok {
		if p := o.Get(key); !missing(p) {
			return p
		}
	}
	return nil
}

// take sets a text, a number or a switch to a property of an object of the script, if it has it.
func (r *realm) take(from sobek.Value, key string, to any) {
	v := r.own(from, key)
	if v == nil {
		return
	}
	switch to := to.(type) {
	case *string:
		*to = v.String()
	case *int:
		*to = int(v.ToInteger())
	case *bool:
		*to = v.ToBoolean()
	}
}

// encode returns a value of the script as JSON; "" for undefined and functions.
func (r *realm) encode(v sobek.Value) (string, error) {
	t, err := r.text(sobek.Undefined(), v)
	if err != nil || sobek.IsUndefined(t) {
		return "", err
	}
	return t.String(), nil
}

// setupData returns the result of setup as this user's own copy.
func (r *realm) setupData() sobek.Value {
	if r.data == nil {
		r.data = sobek.Undefined()
		if len(r.Result) > 0 {
			r.data = must(r.parse(sobek.Undefined(), r.rt.ToValue(string(r.Result))))
		}
	}
	return r.data
}

// settled returns the value of a promise that a function of the script returned, and any other value
// as it is; err is that of the function. All jobs are done by then: a promise that is still open
// stays so.
func settled(v sobek.Value, err error) (sobek.Value, error) {
	o, ok := v.(*sobek.Object)
	if err != nil || !ok || o.ExportType() != promiseType {
		return v, err
	}
	p := o.Export().(*sobek.Promise)
	switch p.State() {
	case sobek.PromiseStateFulfilled:
		return p.Result(), nil
	case sobek.PromiseStateRejected:
		return nil, &thrown{value: p.Result()}
	default:
		return nil, errors.New("the promise that it returned never settles: nothing runs after it")
	}
}

// options returns the script's options as JSON.
func (r *realm) options() (json.RawMessage, error) {
	var out string
	err := r.run(frame{ctx: context.Background()}, func() (err error) {
		out, err = r.encode(r.exports.options)
		return err
	})
	return json.RawMessage(strings.Clone(out)), err
}
