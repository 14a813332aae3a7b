package api

import (
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// An op is a kind of call. Each is registered next to the client's method that makes it.
type op uint16

var (
	opNames  []string // by op
	steadyOp []bool   // whether it belongs to the steady state; the others happen at login and in provisioning only
)

// newOp registers an op of the steady state, for a package-level variable.
func newOp(name string) op {
	opNames, steadyOp = append(opNames, name), append(steadyOp, true)
	return op(len(opNames) - 1)
}

// newSetupOp registers an op that happens only before a user's first action.
func newSetupOp(name string) op {
	o := newOp(name)
	steadyOp[o] = false
	return o
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
	t := &Table{names: make([]measure.Name, len(opNames)), reg: reg, prefix: prefix}
	for o := range opNames {
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
		return opNames[o]
	}
	return prefix + "_" + opNames[o]
}

// Ops returns the names of the steady state's operations, of which rules may speak.
func Ops() []string {
	var out []string
	for o, name := range opNames {
		if steadyOp[o] {
			out = append(out, name)
		}
	}
	return out
}

// SeriesOf returns the names of all operations in one phase of a user's life, as [NewTable] makes them.
func SeriesOf(prefix string) []string {
	out := make([]string, len(opNames))
	for o := range opNames {
		out[o] = seriesOf(op(o), prefix)
	}
	return out
}

// Socket is the name of the operation "websocket".
func (t *Table) Socket() measure.Name { return t.names[opWebSocket] }
