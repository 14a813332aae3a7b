// Package probe samples signals of hosts, processes and endpoints, once a second.
//
// # Overview
//
// A [Probe] reads one source and returns numbers; a [Scraper] fetches the text that an endpoint
// exposes. A [Runner] samples each of them once per interval, on a goroutine of its own, and
// appends the samples to a series.DB. The probes here read Linux: [HostProbe] (cores, pressure,
// memory, disks, network), [ProcessProbe] (one or more roles, each summed over a process tree),
// [Cgroups] (their control groups), [NICProbe] (rings and driver counters), [Self] (this program's
// own Go runtime: the generator watching itself); and over HTTP: [Scrape] (metrics), [Pprof]
// (profiles of a Go server) and [Nginx]. Databases have subpackages of their own. docs/probes.md
// lists all metrics and the cost of each.
//
// Of runs that take turns on one host, each has a [Turns]: its counters grow during its own turns
// only, and its [Runner] follows its clock.
//
// [Fingerprint] describes a host once, as a [Host], for a run's manifest.
//
// # Names
//
// A metric that Prometheus' node_exporter or another standard exporter has carries its name, unit
// and labels, so usual queries work: 1 - avg(rate(node_cpu_seconds_total{mode="idle"}[1m])). Names
// of all others begin with plimsoll_. Seconds and bytes are the units, ratios run from 0 to 1.
//
// # A missing signal is an error
//
// Nothing is filled in. A source that cannot be read makes Sample return an error beside the
// samples that could be read, its series simply stop, and [Runner.Last] returns nothing for them.
// Some sources do not exist on every kernel (pressure, cgroup quota, conntrack): those that are
// absent when the probe is made are listed by [HostProbe.Absent] and never appear; a rule that
// needs them finds nothing and must fail.
//
// # Cost
//
// Probes run on the generator's own core. They keep their files open where the kernel allows it,
// reuse every buffer and sample, and read expensive things (open files, context switches of every
// thread) only every fifth time. Samples returned by a Probe are valid until its next call.
//
// # Out of scope
//
// It does not know good values, the function of a role, or the target that it watches. It judges
// nothing; thresholds belong to the rules above it.
package probe
