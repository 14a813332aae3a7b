package sources

import (
	"fmt"

	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	mysqlprobe "plimsoll/watch/probe/mysql"
	pgprobe "plimsoll/watch/probe/postgresql"
)

// surroundings opens the sources of the networks and servers around the instances. The caller
// closes the returned sources, also after an error.
func surroundings(x *deploy.System) (out []Opened, err error) {
	stacks, err := x.Stacks()
	for _, s := range stacks {
		out = append(out, Opened{probe: s, close: s.Close})
	}
	if err != nil {
		return out, err
	}
	if p := x.Proxy(); p != nil {
		const role, instance = "proxy", "proxy-0"
		page, err := Open(plan.ProbeNginx, p.Status(), role, instance)
		if err != nil {
			return out, err
		}
		out = append(out, page)
		log, err := opened(probe.NewUpstreams(p.Log(), labels(role, instance)...))
		if err != nil {
			return out, err
		}
		out = append(out, log)
	}
	for i, dsn := range x.ReplicaDSNs() {
		lag, err := lagOf(x, dsn, i)
		if err != nil {
			return out, err
		}
		out = append(out, lag)
	}
	return out, nil
}

// lag opens the probe of the lag of a replica.
func lagOf(x *deploy.System, replica string, index int) (Opened, error) {
	of := labels("replica", fmt.Sprintf("replica-%d", index))
	if engineOf(x) == plan.MySQL {
		return opened(mysqlprobe.NewLag(x.DSN(), replica, of...))
	}
	return opened(pgprobe.NewLag(x.DSN(), postgresql.StandbyName(index), of...))
}
