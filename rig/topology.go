package rig

import (
	"context"
	"fmt"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/nginx"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
	mysqlprobe "plimsoll/watch/probe/mysql"
	pgprobe "plimsoll/watch/probe/postgresql"
	"plimsoll/watch/series"
)

// surround sets the servers around the instances, by the plan's topology; nil sets none.
func surround(conf *process.Config, t *plan.Topology, h *placement) {
	if t == nil {
		return
	}
	if conf.Replicas = t.Replicas; t.Replicas > 0 {
		conf.StartReplica = func(ctx context.Context, of target.Database, dir string, cpus []int, index int) (target.Replica, error) {
			return startReplica(ctx, of, dir, cpus, index, h.side(fmt.Sprintf("replica-%d", index)))
		}
	}
	if t.Proxy == "" {
		return
	}
	at := h.side("proxy-0")
	conf.ProxyHost = at.Addr
	conf.Proxy = func(ctx context.Context, dir string, cpus []int, listen string, upstreams []string) (target.Companion, error) {
		s, err := nginx.Start(ctx, nginx.Config{Dir: dir, CPUs: cpus, NetNS: at.NetNS, Listen: listen, Upstreams: upstreams})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// ofPrimary returns the settings of a database that has replicas; nil without any.
func ofPrimary(t *plan.Topology, settings func() map[string]string) map[string]string {
	if t == nil || t.Replicas == 0 {
		return nil
	}
	return settings()
}

// startReplica starts a copy of a database of either engine.
func startReplica(ctx context.Context, of target.Database, dir string, cpus []int, index int, at Side) (target.Replica, error) {
	primary, ok := of.(*database.Server)
	if !ok {
		return nil, fmt.Errorf("there are no replicas of a %T", of)
	}
	conf := database.Config{Dir: dir, CPUs: cpus, NetNS: at.NetNS, Addr: at.Addr}
	r, err := primary.StartReplica(ctx, conf, index)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// A proxied deployment may have a proxy before its instances.
type proxied interface {
	// Proxy returns it; nil without one. It changes at Reset.
	Proxy() target.Companion
}

// A watchedProxy has a page of its connections and a log of its upstreams.
type watchedProxy interface {
	Status() string
	Log() string
}

// A replicated deployment may have copies of its database.
type replicated interface {
	// ReplicaDSNs returns their addresses, passwords included. They change at Reset.
	ReplicaDSNs() []string
}

// proxyOf returns the proxy of a system; nil without one.
func proxyOf(sys *System) watchedProxy {
	d, ok := sys.Deployment.(proxied)
	if !ok {
		return nil
	}
	p, _ := d.Proxy().(watchedProxy) // nil is none
	return p
}

// surroundings returns the sources of the servers around the instances. The caller closes those that it gets, also
// with an error.
func surroundings(sys *System) (out []source, err error) {
	if out, err = sys.placement.networks(); err != nil {
		return out, err
	}
	if p := proxyOf(sys); p != nil {
		const role, instance = "proxy", "proxy-0"
		page, err := openProbe(plan.ProbeNginx, p.Status(), role, instance)
		if err != nil {
			return out, err
		}
		out = append(out, page)
		log, err := sourceOf(probe.NewUpstreams(p.Log(), labelsOf(role, instance)...))
		if err != nil {
			return out, err
		}
		out = append(out, log)
	}
	r, ok := sys.Deployment.(replicated)
	if !ok {
		return out, nil
	}
	for i, dsn := range r.ReplicaDSNs() {
		src, err := openLag(sys, dsn, i)
		if err != nil {
			return out, err
		}
		out = append(out, src)
	}
	return out, nil
}

// openLag makes the probe of the lag of a replica.
func openLag(sys *System, replica string, index int) (source, error) {
	labels := labelsOf("replica", fmt.Sprintf("replica-%d", index))
	dsn := sys.Deployment.(databased).DSN()
	if sys.describe().Engine == plan.MySQL {
		return sourceOf(mysqlprobe.NewLag(dsn, replica, labels...))
	}
	return sourceOf(pgprobe.NewLag(dsn, postgresql.StandbyName(index), labels...))
}

func labelsOf(role, instance string) []series.Label {
	return []series.Label{{Name: "role", Value: role}, {Name: "instance", Value: instance}}
}

var (
	_ target.Companion = (*nginx.Proxy)(nil)
	_ target.Replica   = (*database.Replica)(nil)
)
