package stores

import (
	"context"
	"fmt"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/nginx"
	"plimsoll/target/process"
)

// Surround adds the replicas and the proxy of a topology to the settings of a driver; a nil
// topology has none. at returns the side of an instance, such as replica-0 or proxy-0.
func Surround(conf *process.Config, t *plan.Topology, at func(instance string) Side) {
	if t == nil {
		return
	}
	conf.Replicas = t.Replicas
	if t.Replicas > 0 {
		conf.StartReplica = func(ctx context.Context, of target.Database, dir string,
			cpus []int, index int) (target.Replica, error) {
			side := at(fmt.Sprintf("replica-%d", index))
			return startReplica(ctx, of, index,
				database.Config{Dir: dir, CPUs: cpus, NetNS: side.NetNS, Addr: side.Addr})
		}
	}
	if t.Proxy == "" {
		return
	}
	side := at("proxy-0")
	conf.ProxyHost = side.Addr
	conf.Proxy = func(ctx context.Context, dir string, cpus []int, listen string,
		upstreams []string) (target.Companion, error) {
		s, err := nginx.Start(ctx, nginx.Config{
			Dir: dir, CPUs: cpus, NetNS: side.NetNS, Listen: listen, Upstreams: upstreams,
		})
		if err != nil {
			return nil, err // not a nil *nginx.Proxy as a Companion
		}
		return s, nil
	}
}

// MissingProxy returns an error if the program of a proxy is not installed here.
func MissingProxy() error {
	_, err := nginx.Find()
	return err
}

func startReplica(ctx context.Context, of target.Database, index int,
	conf database.Config) (target.Replica, error) {
	primary, ok := of.(*database.Server)
	if !ok {
		return nil, fmt.Errorf("there are no replicas of a %T", of)
	}
	r, err := primary.StartReplica(ctx, conf, index)
	if err != nil {
		return nil, err // not a nil *database.Replica as a Replica
	}
	return r, nil
}

var (
	_ target.Database  = (*database.Server)(nil)
	_ target.Companion = (*nginx.Proxy)(nil)
	_ target.Replica   = (*database.Replica)(nil)
)
