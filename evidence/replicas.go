package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/target"
)

// lagGraphs shows the lag of one replica behind the first server, in time and in bytes, on an
// engine. Each replica has separate graphs, because the lines of a graph are the arms.
func lagGraphs(replica, engine string) []dialect.GraphQuery {
	const mebi = 1.0 / (1 << 20)
	number := strings.TrimPrefix(replica, target.ReplicaPrefix)
	gauge := func(metric, name, title, unit string, scale float64) dialect.GraphQuery {
		return dialect.GraphQuery{
			Name:  name + number,
			Title: fmt.Sprintf("Replica %s: %s", number, title),
			Unit:  unit,
			Scale: scale,
			Gauge: true,
			Needs: metric,
			Sources: []dialect.GraphSource{
				{Query: fmt.Sprintf("%s{instance=%q}", metric, replica)},
			},
		}
	}
	distance := gauge(
		"plimsoll_replication_lag_bytes",
		"replication-lag-bytes-",
		"log behind",
		"MiB",
		mebi,
	)
	if engine == plan.MySQL {
		distance = gauge(
			"plimsoll_replication_lag_transactions",
			"replication-lag-transactions-",
			"transactions behind",
			"",
			1,
		)
	}
	return []dialect.GraphQuery{
		gauge(lagMetric, "replication-lag-", "time behind", "s", 1),
		distance,
	}
}

const lagMetric = "plimsoll_replication_lag_seconds"

// graphsOf returns all graphs of a run: its server's, and its replicas'.
func (c *Catalog) graphsOf(m record.Manifest) []dialect.GraphQuery {
	out := c.Dialects.Graphs(driverOf(m))
	d, _ := TargetOf(m)
	for _, name := range d.Replicas() {
		out = append(out, lagGraphs(name, d.Engine)...)
	}
	return out
}

// ReplicaSpecs describes the graphs of the replicas of a plan's target, for a report that shows the
// graphs that its runs have. The limit of a rule about the worst replica applies to each replica.
func ReplicaSpecs(p *plan.Plan) []report.GraphSpec {
	if p.Target.Topology == nil {
		return nil
	}
	var out []report.GraphSpec
	for i := range p.Target.Topology.Replicas {
		for _, engine := range []string{plan.PostgreSQL, plan.MySQL} {
			for _, g := range lagGraphs(fmt.Sprint(target.ReplicaPrefix, i), engine) {
				spec := specOf(g)
				for _, r := range rulesOf(p) {
					if g.Needs == lagMetric && r.Stat == "promql" && r.Less &&
						ofWorstLag.MatchString(r.Arg) {
						spec.Threshold = &report.Threshold{
							Rule:  r.Source,
							Value: r.Threshold * g.Scale,
						}
					}
				}
				if !slices.ContainsFunc(out, func(x report.GraphSpec) bool {
					return x.Name == spec.Name
				}) {
					out = append(out, spec)
				}
			}
		}
	}
	return out
}

// ofWorstLag matches the expressions whose value is the lag of the replica that is furthest behind.
var ofWorstLag = regexp.MustCompile(
	`^\s*max\s*\(\s*(max_over_time\s*\(\s*` + lagMetric + `\s*\[[^\]]+\]\s*\)|` + lagMetric + `)\s*\)\s*$`,
)
