package script

import (
	"context"
	"math"
	"reflect"
	"time"

	"github.com/grafana/sobek"
)

// kernelNames are the members of the module k6.
var kernelNames = []string{"check", "fail", "group", "sleep"}

func kernelMember(r *realm, name string) sobek.Value {
	switch name {
	case "check":
		return r.function(r.check)
	case "fail":
		return r.function(func(c sobek.FunctionCall) sobek.Value {
			panic(r.rt.NewGoError(failure(c.Argument(0).String())))
		})
	case "group":
		return r.function(r.group)
	}
	return r.function(r.sleep)
}

// failure is the error of fail().
type failure string

func (f failure) Error() string { return string(f) }

var promiseType = reflect.TypeFor[*sobek.Promise]()

// check counts, for each condition, whether a value satisfies it.
func (r *realm) check(c sobek.FunctionCall) sobek.Value {
	value := c.Argument(0)
	if missing(c.Argument(1)) {
		panic(r.fault("check(value, conditions): there are no conditions"))
	}
	if r.init {
		panic(r.fault("check() in the init code: there is nothing to count it in"))
	}
	set := c.Argument(1).ToObject(r.rt)
	all := true
	for _, name := range set.GetOwnPropertyNames() {
		holds, err := set.Get(name), error(nil)
		if f, ok := sobek.AssertFunction(holds); ok {
			holds, err = f(sobek.Undefined(), value)
			if _, promised := holds.(*sobek.Object); promised && holds.ExportType() == promiseType {
				panic(r.fault("check(%q): a condition cannot be async", name))
			}
		}
		good := err == nil && holds.ToBoolean()
		r.span(r.series.check(name), r.user.Intended(), 0, !good)
		if err != nil {
			panic(err)
		}
		all = all && good
	}
	return r.rt.ToValue(all)
}

// group calls a function and records how long it took.
func (r *realm) group(c sobek.FunctionCall) sobek.Value {
	name := c.Argument(0).String()
	f, ok := sobek.AssertFunction(c.Argument(1))
	if !ok {
		panic(r.fault("group(name, function): there is no function"))
	}
	if r.init {
		panic(r.fault("group() in the init code: there is nothing to count it in"))
	}
	began := r.user.Now()
	v, err := f(sobek.Undefined())
	if r.frame.ctx.Err() == nil {
		r.span(r.series.group(name), began, r.user.Now()-began, err != nil)
	}
	return must(v, err)
}

// longest is the longest sleep.
const longest = 24 * time.Hour

// sleep is a pause of the user, in seconds as at pace 1.
func (r *realm) sleep(c sobek.FunctionCall) sobek.Value {
	switch {
	case r.init:
		panic(r.fault("sleep() in the init code: nobody waits there; call it in an action"))
	case r.frame.beside != nil:
		panic(r.fault("sleep() in a handler of a socket: the user would hear nothing meanwhile"))
	}
	s := c.Argument(0).ToFloat()
	if math.IsNaN(s) || s < 0 {
		s = 0
	}
	d := time.Duration(min(s, longest.Seconds()) * float64(time.Second))
	r.wait(func(ctx context.Context) { _ = r.user.Pause(ctx, d) }) // its error is that of ctx
	return sobek.Undefined()
}
