package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/load/workload"
	"plimsoll/plan"
)

// unfed refuses rules that the users of a plan give no data: a run would wait for it, and not be
// valid.
func (s Set) unfed(p *plan.Plan, speaks *Dialect, refuse refuser) {
	ops := s.does(p)
	listening := s.hears(p)
	listeners := listenersOf(speaks)
	check := func(key string, rules []plan.SLO) {
		for i, r := range rules {
			path := fmt.Sprintf("%s[%d]", key, i)
			heard := r.Arg == "delivery" ||
				r.Stat == "rate" &&
					(slices.Contains(plan.MessageFaults(), r.Arg) || r.Arg == plan.Disconnected)
			switch {
			case r.OfScript() && !p.Workload.Scripted():
				refuse(path, "the users follow no script, so the rule would have no data; "+
					"remove it, or name one, as in script: chat.js")
			case heard && !listening && len(listeners) > 0:
				refuse(path,
					"nobody listens: users of the behavior %s keep no WebSocket, so the rule would have no data; remove it, or add some who do, as in with: {%s: 10%%}",
					p.Workload.Behavior,
					listeners[0],
				)
			case r.Unit == plan.Seconds && r.Arg != "op" && r.Arg != "delivery" && ops != nil &&
				!slices.Contains(ops, r.Arg):
				refuse(path,
					"users of the behavior %s never do %s, so the rule would have no data; they do %s",
					strings.Join(slices.Sorted(maps.Keys(p.Workload.Mix())), ", "),
					r.Arg,
					strings.Join(ops, ", "),
				)
			}
		}
	}
	if p.Bounded != nil {
		check("bounded.slo", p.Bounded.SLO)
	}
	if p.Unbounded != nil {
		check("unbounded.slo", p.Unbounded.SLO)
	}
}

// does returns the operations that the users of a plan do; nil if some of them may do any.
func (s Set) does(p *plan.Plan) (ops []string) {
	behaviors := s.Behaviors()
	for name := range p.Workload.Mix() {
		few, ok := behaviors[name]().(workload.Sparse)
		if !ok {
			return nil
		}
		ops = append(ops, few.Operations()...)
	}
	slices.Sort(ops)
	return slices.Compact(ops)
}

// hears reports whether some users of a plan keep a WebSocket.
func (s Set) hears(p *plan.Plan) bool {
	behaviors := s.Behaviors()
	for name, share := range p.Workload.Mix() {
		if build := behaviors[name]; share > 0 && build != nil && keepsSocket(build()) {
			return true
		}
	}
	return false
}

// keepsSocket reports whether users of a behavior keep a WebSocket beside their API requests.
func keepsSocket(b workload.Behavior) bool {
	c, ok := b.(workload.Connected)
	return ok && c.Sockets() > 1
}

// listenersOf returns the behaviors of a dialect whose users keep a WebSocket, sorted.
func listenersOf(d *Dialect) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(d.Behaviors)) {
		if keepsSocket(d.Behaviors[name]()) {
			out = append(out, name)
		}
	}
	return out
}
