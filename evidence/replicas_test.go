package evidence

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// replicated is the manifest of a run of 20 s on an engine with these companions.
func replicated(engine string, companions ...string) record.Manifest {
	d := `{"driver":"refchat","engine":"` + engine + `","companions":{"proxy":{"name":"nginx"}`
	for _, name := range companions {
		d += `,"` + name + `":{"name":"PostgreSQL"}`
	}
	return record.Manifest{
		Target: json.RawMessage(d + "}}"),
		Engine: engine,
		Epoch:  epoch,
		Phases: []record.Phase{{Name: "measure", From: 2 * time.Second, To: 20 * time.Second}},
	}
}

// A run with replicas has graphs of each, with their peaks in the right unit, or the reason why
// there is none; a run without replicas has no such graph, nor a word about one, also if other
// series have lags.
func TestGraphsOfReplicas(t *testing.T) {
	m := replicated(plan.PostgreSQL, "replica-1", "replica-0")
	db := sampled(t, t.TempDir(), 20, func(second float64) []series.Sample {
		lag := 0.0
		if second >= 8 && second < 13 { // stopped for 5 s
			lag = second - 7
		}
		of := labels("role", "replica", "instance", "replica-0")
		return []series.Sample{
			{Name: lagMetric, Labels: of, Value: lag},
			{Name: "plimsoll_replication_lag_bytes", Labels: of, Value: lag * (1 << 20)},
		}
	})
	c := &Catalog{}
	got, err := c.Draw(t.Context(), db, m, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, peak := range map[string]float64{
		"replication-lag-0":       5,
		"replication-lag-bytes-0": 5,
	} {
		line := got.Lines[report.Bounded][name]
		if len(line.V) != 21 || slices.Max(line.V) != peak || line.V[7] != 0 || line.V[12] != peak {
			t.Errorf("%s: %v", name, line.V)
		}
	}
	if why := got.Why[report.Bounded]["replication-lag-1"]; !strings.Contains(why, lagMetric) {
		t.Errorf("why the other replica has no line: %q", why)
	}
	if n := len(got.Lines[report.Bounded]) + len(got.Why[report.Bounded]); n != 4 {
		t.Errorf("%d graphs of two replicas", n)
	}
	none := replicated(plan.PostgreSQL)
	if got, err := c.Draw(t.Context(), db, none, 1); err != nil ||
		len(got.Lines[report.Bounded])+len(got.Why[report.Bounded]) > 0 {
		t.Errorf("without replicas: %+v, %v", got, err)
	}
	if c.Definition(none, 1) == c.Definition(m, 1) {
		t.Error("graphs with and without replicas have one definition")
	}
	mirrored, err := c.Draw(t.Context(), db, replicated(plan.MySQL, "replica-0"), 1)
	if _, ok := mirrored.Why[report.Bounded]["replication-lag-transactions-0"]; err != nil || !ok {
		t.Errorf("on MariaDB: %+v, %v", mirrored, err)
	}
}

// The limit of a rule about the worst replica is drawn into the graph of the time of each, and into
// no other.
func TestLimitOfReplicas(t *testing.T) {
	p, err := plan.Parse([]byte(`
name: lag
target: {driver: refchat, topology: {replicas: 2}}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster}
bounded: {users: 5, slo: ["promql: max(max_over_time(plimsoll_replication_lag_seconds[$window])) < 2", "promql: sum(plimsoll_replication_lag_seconds) < 9"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]float64{}
	for _, s := range ReplicaSpecs(p) {
		limits[s.Name] = 0
		if s.Threshold != nil {
			limits[s.Name] = s.Threshold.Value
		}
	}
	for name, want := range map[string]float64{
		"replication-lag-0":              2,
		"replication-lag-1":              2,
		"replication-lag-bytes-0":        0,
		"replication-lag-transactions-1": 0,
	} {
		if got, ok := limits[name]; !ok || got != want {
			t.Errorf("%s has the limit %v, want %v; there are %v", name, got, want, limits)
		}
	}
	if len(limits) != 6 {
		t.Errorf("graphs %v", limits)
	}
	p.Target.Topology.Replicas = 0
	if got := ReplicaSpecs(p); len(got) > 0 {
		t.Errorf("without replicas: %v", got)
	}
}
