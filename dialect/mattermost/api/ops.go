package api

import (
	"net/url"
	"strings"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// An op is a kind of call. Each is registered next to the client's method that makes it.
type op uint16

// A request is what all calls of an op have in common.
type request struct {
	name, method, path string
	ok                 []int // statuses that mean success
	steady             bool  // the others happen at login and in provisioning only
	repeatable         bool  // see readOp
}

var ops []request // by op

// newOp registers an op of the steady state, for a package-level variable. The route is its method and path, with {}
// for each value; ok are the statuses that mean success, 200 if there is none.
func newOp(name, route string, ok ...int) op {
	if ok == nil {
		ok = []int{200}
	}
	method, path, _ := strings.Cut(route, " ")
	ops = append(ops, request{name: name, method: method, path: path, ok: ok, steady: true})
	return op(len(ops) - 1)
}

// newSetupOp registers an op that happens only before a user's first action.
func newSetupOp(name, route string, ok ...int) op {
	o := newOp(name, route, ok...)
	ops[o].steady = false
	return o
}

// readOp registers an op that reads although its method is POST, or may be sent twice: it is repeated if the server
// closed the idle connection at that moment, as those of browsers are.
func readOp(name, route string) op {
	o := newOp(name, route)
	ops[o].repeatable = true
	return o
}

// path returns the path of a call with these values. Those that have no place in the route follow it as they are.
func (o op) path(values []string) string {
	var space [192]byte
	b, rest, query := append(space[:0], root...), ops[o].path, false
	for _, v := range values {
		before, after, place := strings.Cut(rest, "{}")
		b, rest = append(b, before...), after
		if query = query || strings.Contains(before, "?"); place && query {
			v = url.QueryEscape(v)
		} else if place {
			v = url.PathEscape(v)
		}
		b = append(b, v...)
	}
	return string(append(b, rest...))
}

// A Table holds the handles of the op names in one registry, for one phase of a user's life.
type Table struct {
	names  []measure.Name
	reg    *measure.Registry
	prefix string
}

// NewTable returns the names of the steady state, of [workload.Login] or of [workload.Setup], selected by prefix; ""
// means the first.
func NewTable(reg *measure.Registry, prefix string) *Table {
	t := &Table{names: make([]measure.Name, len(ops)), reg: reg, prefix: prefix}
	for o := range ops {
		t.names[o] = reg.Name(seriesOf(op(o), prefix))
	}
	return t
}

// answered counts the status of an answer that was not among the expected ones.
func (t *Table) answered(o op, status int, due time.Duration) {
	workload.Answered(t.reg, seriesOf(o, t.prefix), status, due)
}

// anticipated counts an expected answer.
func (t *Table) anticipated(o op, e *OpError, due time.Duration) {
	workload.Anticipated(t.reg, seriesOf(o, t.prefix), e.Status, e.Code, due)
}

// seriesOf returns the name of an op in one phase of a user's life.
func seriesOf(o op, prefix string) string {
	if prefix == "" || prefix == workload.Login && o == opLogin {
		return ops[o].name
	}
	return prefix + "_" + ops[o].name
}

// Ops returns the names of the steady state's operations, of which rules may speak.
func Ops() []string {
	var out []string
	for _, r := range ops {
		if r.steady {
			out = append(out, r.name)
		}
	}
	return out
}

// SeriesOf returns the names of all operations in one phase of a user's life, as [NewTable] makes them.
func SeriesOf(prefix string) []string {
	out := make([]string, len(ops))
	for o := range ops {
		out[o] = seriesOf(op(o), prefix)
	}
	return out
}

// Socket is the name of the operation "websocket".
func (t *Table) Socket() measure.Name { return t.names[opWebSocket] }
