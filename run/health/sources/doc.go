// Package sources opens the sources of a run's series: this host and its processes, this program,
// the target's pages of metrics, its database, the servers around it, and the probes and the
// Prometheus server of the plan.
//
// It reads none of them; a [probe.Runner] does. Two sources of one role never share a series: each
// has a distinct instance label.
package sources
