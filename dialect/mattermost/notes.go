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
	tables [2]*api.Table // steady state, login
	storms map[string]*api.Table
	told   map[api.OpError]bool
	more   []string // operations of extensions; fixed
}

// mostTold bounds the kinds of failure that are printed of a run. Failures that a proxy caused have
// the same room again: they are the only evidence against the proxy, and come last where the server
// failed first.
const mostTold = 20

func (n *notes) table(env *workload.Env, k int) *api.Table {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reg != env.Registry || n.tables[0] == nil {
		n.reg = env.Registry
		n.tables = [2]*api.Table{api.NewTable(env.Registry, "", n.more...),
			api.NewTable(env.Registry, workload.Login, n.more...)}
		n.storms = map[string]*api.Table{}
		n.told = nil // each run prints its own
	}
	return n.tables[k]
}

func (n *notes) steady(env *workload.Env) *api.Table { return n.table(env, 0) }
func (n *notes) login(env *workload.Env) *api.Table  { return n.table(env, 1) }

// storm returns the names of a kind of storm, in the registry of the run under way.
func (n *notes) storm(reg *measure.Registry, kind string) *api.Table {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.storms[kind]
	if t == nil {
		t = api.NewTable(reg, workload.StormPrefix+kind, n.more...)
		n.storms[kind] = t
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
