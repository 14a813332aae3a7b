package api

import (
	"net/url"
	"slices"
	"strings"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// An op is a kind of call. It is declared beside the function of [Client] that makes the call.
type op uint16

// A request is a row of the API: what all calls of an op have in common.
type request struct {
	name, method, path string
	traits             trait
}

// A trait is a difference from a call of the steady state that has its effect with status 200.
type trait uint16

const (
	created   trait = 1 << iota // the status is 201
	mayCreate                   // 200 or 201
	cached                      // 200, or 304 for a copy that the client has
	setup                       // made at logins and in provisioning only
	// repeatable, as GET is: sent again if the server closed the idle connection.
	reads
	// the web app names its connection, and gets no event of its own call.
	notifies
	wholeList // a list without pages: up to 16 MiB
	anySize   // up to 128 MiB: servers accept attachments of 100 MB by default
	beside    // not below root
	anyGood   // any status from 200 to 299
)

// has reports whether the calls have a trait.
func (t trait) has(one trait) bool { return t&one != 0 }

// accepts reports whether an answer with a status has the call's effect.
func (t trait) accepts(status int) bool {
	if t.has(anyGood) {
		return status/100 == 2
	}
	switch status {
	case 200:
		return !t.has(created)
	case 201:
		return t.has(created | mayCreate)
	case 304:
		return t.has(cached)
	}
	return false
}

// mostBody returns the largest size of an answer in bytes; 0 is wire's own limit, which is enough
// for every page.
func (t trait) mostBody() int64 {
	switch {
	case t.has(wholeList):
		return 16 << 20
	case t.has(anySize):
		return 128 << 20
	}
	return 0
}

var ops []request // by op

// newOp registers an op for a package-level variable. The route is its method and path, with {} for
// each value.
func newOp(name, route string, traits ...trait) op {
	method, path, _ := strings.Cut(route, " ")
	r := request{name: name, method: method, path: path}
	for _, t := range traits {
		r.traits |= t
	}
	ops = append(ops, r)
	return op(len(ops) - 1)
}

// path returns the path of a call with these values. Those that have no place in the route follow
// it as they are.
func (o op) path(values []string) string {
	var space [192]byte
	b := space[:0]
	if !ops[o].traits.has(beside) {
		b = append(b, root...)
	}
	rest := ops[o].path
	query := false
	for _, v := range values {
		before, after, place := strings.Cut(rest, "{}")
		b = append(b, before...)
		rest = after
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
	rows   []request // those of all tables, and more behind them
	reg    *measure.Registry
	prefix string
}

// NewTable returns the names of the steady state, of [workload.Login] or of [workload.Setup],
// selected by prefix; "" means the first. More are the names of operations beyond this package's
// own, for [Client.Call] and [Client.Await].
func NewTable(reg *measure.Registry, prefix string, more ...string) *Table {
	t := &Table{reg: reg, prefix: prefix, rows: slices.Clip(ops)}
	for _, name := range more {
		t.rows = append(t.rows, request{name: name, traits: anyGood})
	}
	for _, name := range SeriesOf(prefix, more...) {
		t.names = append(t.names, reg.Name(name))
	}
	return t
}

// phased returns the name of an op in one phase of a user's life.
func phased(name, prefix string) string {
	if prefix == "" || prefix == workload.Login && name == ops[opLogin].name {
		return name
	}
	return prefix + "_" + name
}

// Ops returns the names of the steady state's operations, which rules may name.
func Ops() []string {
	var out []string
	for _, r := range ops {
		if !r.traits.has(setup) {
			out = append(out, r.name)
		}
	}
	return out
}

// SeriesOf returns the names of all operations in one phase of a user's life, as [NewTable] makes
// them.
func SeriesOf(prefix string, more ...string) []string {
	var out []string
	for _, r := range ops {
		out = append(out, phased(r.name, prefix))
	}
	for _, name := range more {
		out = append(out, phased(name, prefix))
	}
	return out
}

// Socket is the name of the operation "websocket".
func (t *Table) Socket() measure.Name { return t.names[opWebSocket] }
