package process

import (
	"context"
	"maps"
	"slices"

	"plimsoll/target"
	"plimsoll/target/lab"
)

// A Process is a running instance, as a [lab.Process] is one.
type Process interface {
	// PID is the process of the program itself.
	PID() int
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Err reports how it ended: nil while it runs, after exit status 0, and after Stop.
	Err() error
	// Tail returns the last lines of its output, at most some KiB.
	Tail() string
	// Stop ends it, within the stop timeout of its Spec and at once when ctx has ended. It may be
	// called again.
	Stop(ctx context.Context) error
}

// Placed is the part of a [Config] for the place and the limits of programs. The zero value runs
// them beside this program, without limits.
type Placed struct {
	// Host is the IPv4 address that instances listen on: HOSTPORT and PEERS. Default 127.0.0.1; for
	// another, Spec.URL must hold the address where they are reached.
	Host string
	// Hosts are the IPv4 addresses that the instances listen on, by index, when each is a host of
	// its own. Nil means Host for all. Without Spec.URL, users reach them there.
	Hosts []string
	// Start starts an instance; nil means lab.Start.
	Start func(ctx context.Context, in Instance, spec lab.Spec) (Process, error)
	// Started is called with the first process of each program and its role, after it has been
	// started and before a run: an instance at once, database and companions when they answer. An
	// error fails the start.
	Started func(role string, pid int) error
	// Freezer pauses the programs that Started was called with: all of them, in one group. Nil
	// means that signals do.
	Freezer Freezer
	// Described is added to the Description as its Deployment, AllHosts as its Hosts, and Links.
	Described map[string]string
	AllHosts  []target.HostAddr
	Links     string
}

// A Freezer stops a group of processes at once. Freeze returns when none of them runs; when it
// fails, they run.
type Freezer interface {
	Freeze(ctx context.Context) error
	Thaw() error
}

func (p Placed) start(ctx context.Context, in Instance, spec lab.Spec) (Process, error) {
	if p.Start != nil {
		return p.Start(ctx, in, spec)
	}
	proc, err := lab.Start(ctx, spec)
	if err != nil {
		return nil, err // not a nil *lab.Process as a Process
	}
	return proc, nil
}

// started calls Started for processes of a role.
func (d *deployment) started(role string, pids ...int) error {
	if d.conf.Started == nil {
		return nil
	}
	for _, pid := range pids {
		if err := d.conf.Started(role, pid); err != nil {
			return err
		}
	}
	return nil
}

// startedStores calls Started for the running database and companions.
func (d *deployment) startedStores() error {
	if d.db != nil {
		if err := d.started("db", d.db.PIDs()...); err != nil {
			return err
		}
	}
	for _, r := range d.replicas {
		if err := d.started(replicaRole, r.PIDs()...); err != nil {
			return err
		}
	}
	for _, role := range slices.Sorted(maps.Keys(d.companions)) {
		if err := d.started(role, d.companions[role].PIDs()...); err != nil {
			return err
		}
	}
	return nil
}
