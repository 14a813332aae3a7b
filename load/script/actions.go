package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/load/workload"
)

// An ActionWeight is an action of a script and its weight among the others.
type ActionWeight struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// defaultAction is the name of the action of a default function.
const defaultAction = "default"

const mostActions = 100

// exports are what a script exports.
type exports struct {
	options                sobek.Value
	setup, teardown, audit sobek.Callable // nil without
	names                  []ActionWeight
	actions                []sobek.Callable
	plain                  bool // the action is the default function
}

// read reads what the script exports.
func (r *realm) read(from *sobek.Object) error {
	e := &r.exports
	e.options = from.Get("options")
	if e.options == nil {
		e.options = sobek.Undefined()
	}
	e.setup, _ = sobek.AssertFunction(from.Get("setup"))
	e.teardown, _ = sobek.AssertFunction(from.Get("teardown"))
	e.audit, _ = sobek.AssertFunction(from.Get("audit"))
	f, isDefault := sobek.AssertFunction(from.Get(defaultAction))
	list, isList := from.Get("actions").(*sobek.Object)
	switch {
	case isDefault && isList:
		return errors.New("the script exports a default function and actions; want one of them")
	case isDefault:
		e.plain = true
		e.names = []ActionWeight{{Name: defaultAction, Weight: 1}}
		e.actions = []sobek.Callable{f}
		return nil
	case !isList:
		return errors.New("the script exports no default function and no actions; want " +
			"`export default function () {…}` or `export const actions = {…}`")
	}
	return e.list(r, list)
}

// list reads the actions.
func (e *exports) list(r *realm, from *sobek.Object) error {
	total := 0.0
	for _, name := range from.Keys() {
		one := from.Get(name)
		f, ok := sobek.AssertFunction(one)
		weight := 1.0
		if !ok {
			f, ok = sobek.AssertFunction(r.own(one, "run"))
			if w := r.own(one, "weight"); w != nil {
				weight = w.ToFloat()
			}
		}
		switch {
		case !ok:
			return fmt.Errorf("action %s has no function run; want {weight: 10, run(user, data) {…}}", name)
		case math.IsNaN(weight) || math.IsInf(weight, 0) || weight < 0:
			return fmt.Errorf("the weight of action %s is not a number from 0 on", name)
		case len(name) > mostName:
			return fmt.Errorf("the name of action %s… is longer than %d bytes", name[:20], mostName)
		}
		total += weight
		e.names = append(e.names, ActionWeight{Name: name, Weight: weight})
		e.actions = append(e.actions, f)
	}
	switch {
	case len(e.names) > mostActions:
		return fmt.Errorf("the script has %d actions; want at most %d", len(e.names), mostActions)
	case total == 0:
		return errors.New("no action has a weight above 0")
	}
	return nil
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// draw draws an action by weight.
func draw(actions []ActionWeight, chance *rand.Rand) int {
	if len(actions) == 1 {
		return 0
	}
	total := 0.0
	for _, a := range actions {
		total += a.Weight
	}
	x := chance.Float64() * total
	last := 0
	for k, a := range actions {
		if a.Weight == 0 {
			continue
		}
		if x < a.Weight {
			return k
		}
		x -= a.Weight
		last = k
	}
	return last
}

// actor is one user of a script.
type actor struct {
	*realm
	counts *workload.Counts
	iter   int64
	rest   bool // the last action threw
}

// exceptionRest is the pause after an action that threw, as a script that fails at once would
// otherwise take the whole processor.
const exceptionRest = 100 * time.Millisecond

// Login implements workload.Actor. Connections come with the first request.
func (*actor) Login(context.Context) error { return nil }

// forever is the pause of a user who has done all of its iterations: longer than any run.
const forever = 1000 * time.Hour

// Think implements workload.Actor: a script waits by itself.
func (a *actor) Think() time.Duration {
	if most := a.play.Iterations; most > 0 && a.iter >= most {
		return forever
	}
	if !a.rest || a.user.Pace <= 0 {
		return 0
	}
	return time.Duration(float64(exceptionRest) / a.user.Pace) // the engine scales it back
}

// Act implements workload.Actor: one action.
func (a *actor) Act(ctx context.Context) error {
	k := draw(a.Actions, a.user.Action)
	a.counts.Attempt(k)
	began := a.user.Now()
	failed := false
	err := a.run(frame{ctx: ctx}, func() error {
		err := a.iterate(k)
		failed = a.frame.failed
		return err
	})
	a.iter++
	if a.rest = err != nil; a.rest && ctx.Err() != nil {
		return workload.ErrStop
	}
	a.span(a.series.iterations[k], began, a.user.Now()-began, err != nil)
	if err != nil {
		a.once(err.Error(), workload.Exception(a.Actions[k].Name, err.Error()))
	}
	if err != nil || failed {
		a.counts.Fail(k)
	} else {
		a.counts.SucceedBy(k, a.user.ID)
	}
	return nil
}

// Serve implements workload.Server: an arrival is one action.
func (a *actor) Serve(ctx context.Context, _ int64) error { return a.Act(ctx) }

// iterate calls action k.
func (a *actor) iterate(k int) error {
	r := a.realm
	if err := r.rt.Set("__ITER", a.iter); err != nil {
		return err
	}
	r.renew()
	data := r.setupData()
	args := []sobek.Value{data}
	if !r.exports.plain {
		args = []sobek.Value{r.person(), data}
	}
	return finished(r.exports.actions[k](sobek.Undefined(), args...))
}

// person returns the user as the script sees it.
func (r *realm) person() sobek.Value {
	if u := r.own(r.module("plimsoll"), "user"); u != nil {
		return u
	}
	return sobek.Undefined()
}

// Close implements workload.Actor.
func (a *actor) Close() { a.close() }
