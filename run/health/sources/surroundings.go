package sources

import (
	"fmt"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	mysqlprobe "plimsoll/watch/probe/mysql"
	pgprobe "plimsoll/watch/probe/postgresql"
)

// dsn returns the address of the database of the subject, password included; empty without one. It
// changes at Reset.
func (x Subject) dsn() string {
	if d, ok := x.Deployment.(interface{ DSN() string }); ok {
		return d.DSN()
	}
	return ""
}

// replicas returns the addresses of the copies of its database, passwords included. They change at
// Reset.
func (x Subject) replicas() []string {
	if d, ok := x.Deployment.(interface{ ReplicaDSNs() []string }); ok {
		return d.ReplicaDSNs()
	}
	return nil
}

// A watchedProxy has a page of its connections and a log of its upstreams.
type watchedProxy interface {
	Status() string
	Log() string
}

// proxy returns the proxy before its instances; nil without one. It changes at Reset.
func (x Subject) proxy() watchedProxy {
	d, ok := x.Deployment.(interface{ Proxy() target.Companion })
	if !ok {
		return nil
	}
	p, _ := d.Proxy().(watchedProxy) // nil is none
	return p
}

// surroundings opens the sources of the networks and servers around the instances. The caller
// closes the returned sources, also after an error.
func (x Subject) surroundings() (out []Opened, err error) {
	if x.Stacks != nil {
		stacks, err := x.Stacks()
		for _, s := range stacks {
			out = append(out, Opened{probe: s, close: s.Close})
		}
		if err != nil {
			return out, err
		}
	}
	if p := x.proxy(); p != nil {
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
	for i, dsn := range x.replicas() {
		lag, err := x.lag(dsn, i)
		if err != nil {
			return out, err
		}
		out = append(out, lag)
	}
	return out, nil
}

// lag opens the probe of the lag of a replica.
func (x Subject) lag(replica string, index int) (Opened, error) {
	of := labels("replica", fmt.Sprintf("replica-%d", index))
	if x.Engine == plan.MySQL {
		return opened(mysqlprobe.NewLag(x.dsn(), replica, of...))
	}
	return opened(pgprobe.NewLag(x.dsn(), postgresql.StandbyName(index), of...))
}
