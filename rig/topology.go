package rig

import (
	"fmt"

	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	mysqlprobe "plimsoll/watch/probe/mysql"
	pgprobe "plimsoll/watch/probe/postgresql"
	"plimsoll/watch/series"
)

// surroundings returns the sources of the servers around the instances. The caller closes those that it gets, also
// with an error.
func surroundings(sys *deploy.System) (out []source, err error) {
	stacks, err := sys.Stacks()
	for _, s := range stacks {
		out = append(out, source{probe: s, close: s.Close})
	}
	if err != nil {
		return out, err
	}
	if p := sys.Proxy(); p != nil {
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
	for i, dsn := range sys.ReplicaDSNs() {
		src, err := openLag(sys, dsn, i)
		if err != nil {
			return out, err
		}
		out = append(out, src)
	}
	return out, nil
}

// openLag makes the probe of the lag of a replica.
func openLag(sys *deploy.System, replica string, index int) (source, error) {
	labels := labelsOf("replica", fmt.Sprintf("replica-%d", index))
	dsn := sys.DSN()
	if sys.Deployment.Describe().Engine == plan.MySQL {
		return sourceOf(mysqlprobe.NewLag(dsn, replica, labels...))
	}
	return sourceOf(pgprobe.NewLag(dsn, postgresql.StandbyName(index), labels...))
}

func labelsOf(role, instance string) []series.Label {
	return []series.Label{{Name: "role", Value: role}, {Name: "instance", Value: instance}}
}
