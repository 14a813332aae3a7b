package rig

import (
	"context"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab/nginx"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// surround sets the servers around the instances, by the plan's topology; nil sets none.
func surround(conf *process.Config, t *plan.Topology, at Side) {
	if t == nil || t.Proxy == "" {
		return
	}
	conf.Proxy = func(ctx context.Context, dir string, cpus []int, listen string, upstreams []string) (target.Companion, error) {
		s, err := nginx.Start(ctx, nginx.Config{Dir: dir, CPUs: cpus, NetNS: at.NetNS, Listen: listen, Upstreams: upstreams})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
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

// proxyOf returns the proxy of a system; nil without one.
func proxyOf(sys *System) watchedProxy {
	d, ok := sys.Deployment.(proxied)
	if !ok {
		return nil
	}
	p, _ := d.Proxy().(watchedProxy) // nil is none
	return p
}

// surroundings returns the sources of the servers around the instances.
func surroundings(sys *System) (out []source, err error) {
	p := proxyOf(sys)
	if p == nil {
		return nil, nil
	}
	const role, instance = "proxy", "proxy-0"
	page, err := openProbe(plan.ProbeNginx, p.Status(), role, instance)
	if err != nil {
		return nil, err
	}
	out = append(out, page)
	log, err := probe.NewUpstreams(p.Log(), series.Label{Name: "role", Value: role}, series.Label{Name: "instance", Value: instance})
	if err != nil {
		return out, err
	}
	return append(out, source{probe: log, close: log.Close}), nil
}

var _ target.Companion = (*nginx.Proxy)(nil)
