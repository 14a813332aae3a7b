package rig

import (
	"context"
	"fmt"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/nginx"
	"plimsoll/target/process"
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

var (
	_ target.Companion = (*nginx.Proxy)(nil)
	_ target.Replica   = (*database.Replica)(nil)
)
