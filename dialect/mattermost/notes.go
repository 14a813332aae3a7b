package mattermost

import (
	"errors"
	"sync"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// notes are shared by the users of one behavior: the tables of names, and the kinds of failure that
// were printed.
type notes struct {
	mu     sync.Mutex
	reg    *measure.Registry
	tables map[string]*api.Table // by the prefix of their phase
	told   map[api.OpError]bool
	more   []string // operations of extensions; fixed
}

// mostTold bounds the kinds of failure that are printed of a run. Failures that a proxy caused have
// the same room again: they are the only evidence against the proxy, and come last where the server
// failed first.
const mostTold = 20

// table returns the names of one phase of a user's life, see [api.NewTable], in the registry of the
// run under way.
func (n *notes) table(reg *measure.Registry, prefix string) *api.Table {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reg != reg || n.tables == nil {
		n.reg = reg
		n.tables = map[string]*api.Table{}
		n.told = nil // each run prints its own
	}
	t := n.tables[prefix]
	if t == nil {
		t = api.NewTable(reg, prefix, n.more...)
		n.tables[prefix] = t
	}
	return t
}

// to returns a function that prints each kind of failure once. An op that fails a thousand times is
// counted in its class, and the answer of the server or proxy is printed once. A panic is passed on
// each time, whether it failed an op or not.
func (n *notes) to(env *workload.Env) func(error) {
	if env.Log == nil && env.Panicked == nil {
		return nil
	}
	own := *env
	log := env.Log
	return func(err error) {
		own.Panic(err)
		e, ok := errors.AsType[*api.OpError](err)
		if !ok || log == nil {
			return
		}
		kind := api.OpError{
			Op:     e.Op,
			Class:  e.Class,
			Status: e.Status,
			Code:   e.Code,
			Cause:  e.Cause,
		}
		n.mu.Lock()
		room := mostTold
		if e.Cause != "" {
			room += mostTold
		}
		seen := n.told[kind] || len(n.told) >= room
		if !seen {
			if n.told == nil {
				n.told = map[api.OpError]bool{}
			}
			n.told[kind] = true
		}
		n.mu.Unlock()
		if !seen {
			log("first failure of its kind: %v", err)
		}
	}
}
