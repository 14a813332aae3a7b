package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/compression"

	"plimsoll/rig"
	"plimsoll/watch/series"
)

// receiver is a server for remote write.
type receiver struct {
	mu      sync.Mutex
	samples int
	metrics map[string]bool
	runs    map[string]bool
	bad     []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(q.Body)
	var raw []byte
	if err == nil {
		raw, err = compression.Decode(compression.Snappy, body, compression.NewSyncDecodeBuffer())
	}
	var req prompb.WriteRequest
	if err == nil {
		err = req.Unmarshal(raw)
	}
	if err != nil || q.Header.Get("Authorization") != "Bearer s3cret-token" {
		r.bad = append(r.bad, fmt.Sprint(err, q.Header))
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	for _, ts := range req.Timeseries {
		r.samples += len(ts.Samples)
		for _, l := range ts.Labels {
			switch l.Name {
			case "__name__":
				r.metrics[l.Value] = true
			case "run":
				r.runs[l.Value] = true
			}
		}
	}
}

// clientOf is the client of the Prometheus project for the address that the output names.
func clientOf(t *testing.T, output *safeBuffer) v1.API {
	t.Helper()
	address := regexp.MustCompile(`Prometheus HTTP API at (http://\S+)`)
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m := address.FindStringSubmatch(output.String()); m != nil {
			c, err := api.NewClient(api.Config{Address: m[1]})
			if err != nil {
				t.Fatal(err)
			}
			return v1.NewAPI(c)
		}
	}
	t.Fatalf("nobody serves the Prometheus HTTP API:\n%s", output.String())
	return nil
}

// TestPrometheusOverARun queries a run with a client that is not ours, while it lasts and afterwards, has it written
// to another server, and draws the dashboards' queries on it.
func TestPrometheusOverARun(t *testing.T) {
	t.Parallel()
	outside := &receiver{metrics: map[string]bool{}, runs: map[string]bool{}}
	srv := httptest.NewServer(outside)
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd, root, output := startPlanWith(t, []string{"PLIMSOLL_REMOTE_WRITE_TOKEN=s3cret-token"}, fmt.Sprintf(e2ePlan, "4s")+openGates,
		"run", "-database", "postgresql", "-serve", "127.0.0.1:0", "-remote-write", srv.URL+"/write?key=s3cret-key")

	// The other database only for the names of its series; it shares the cores.
	other, otherRoot, otherOutput := startProgram(t, "2s", "run", "-database", "mysql")

	live := clientOf(t, output)
	seen, users := false, model.SampleValue(0)
	var first error
	for ; users < 10 && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		v, _, _, err := live.Query(ctx, `plimsoll_users{state="active"}`, time.Time{})
		if err != nil && first == nil {
			first = err
		}
		if vec, ok := v.(model.Vector); err == nil && ok && len(vec) == 1 {
			seen, users = true, vec[0].Value
		}
		if strings.Contains(output.String(), "run: ") {
			break
		}
	}
	if !seen || users != 10 {
		t.Errorf("the run under way showed %v users", users)
	}
	if first == nil || !strings.Contains(first.Error(), "503") {
		t.Errorf("before the run: %v", first)
	}
	if status := wait(t, cmd, 120*time.Second, output); status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("exit status %d\n%s", status, output.String())
	}
	if strings.Contains(output.String(), "s3cret") {
		t.Error("a secret was printed")
	}
	noSecrets(t, filepath.Join(root, "store"), []string{"s3cret-token", "s3cret-key"})

	said := new(safeBuffer)
	a := &app{stdin: strings.NewReader(""), stdout: said, stderr: said, env: func(string) string { return "" }}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan int)
	go func() {
		ended <- a.run(serving, []string{"serve", "-store", filepath.Join(root, "store"), "-prometheus", "2", "-listen", "127.0.0.1:0"})
	}()
	defer func() {
		stop()
		if status := <-ended; status != rig.ExitOK {
			t.Errorf("serve ended with status %d: %s", status, said.String())
		}
	}()
	stored := clientOf(t, said)
	ask := func(expr string) float64 {
		v, _, _, err := stored.Query(ctx, expr, time.Time{}) // now is the run's end
		if err != nil {
			t.Fatal(err)
		}
		vec, ok := v.(model.Vector)
		if !ok || len(vec) != 1 {
			t.Errorf("%s: %v", expr, v)
			return -1
		}
		return float64(vec[0].Value)
	}
	if n := ask(`plimsoll_ops_total{op="post",class="ok"}`); n < 20 {
		t.Errorf("%v posts", n)
	}
	if got := ask(`plimsoll_slo_threshold{stat="p99",op="op"}`); got != 5 {
		t.Errorf("threshold %v, want 5 s", got)
	}
	end := time.UnixMilli(int64(ask(`max(timestamp(plimsoll_users))`) * 1000))
	v, _, _, err := stored.QueryRange(ctx, `plimsoll_slo_value{op="op"}`, v1.Range{Start: end.Add(-3 * time.Second), End: end, Step: time.Second})
	if m, ok := v.(model.Matrix); err != nil || !ok || len(m) != 2 || len(m[0].Values) != 4 {
		t.Errorf("query_range: %v, %v", v, err)
	}
	rules, _, _, err := stored.LabelValues(ctx, "rule", nil, end.Add(-time.Minute), end)
	if err != nil || len(rules) != 3 { // the plan's two, and the one of all failed operations
		t.Errorf("rules: %v, %v", rules, err)
	}
	sets, _, _, err := stored.Series(ctx, []string{`plimsoll_probe_up`}, end.Add(-time.Minute), end)
	if err != nil || len(sets) < 3 {
		t.Errorf("probes: %v, %v", sets, err)
	}
	labels, _, _, err := stored.LabelNames(ctx, nil, end.Add(-time.Minute), end)
	if err != nil || !slices.Contains(labels, "rule") || !slices.Contains(labels, "role") {
		t.Errorf("labels: %v, %v", labels, err)
	}

	outside.mu.Lock()
	defer outside.mu.Unlock()
	if len(outside.bad) > 0 || len(outside.runs) != 1 {
		t.Errorf("remote write: runs %v, refused: %v", outside.runs, outside.bad)
	}
	all, _, _, err := stored.Query(ctx, `{__name__!=""}[1h]`, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all.(model.Matrix) {
		n += len(s.Values)
	}
	if outside.samples != n || n < 1000 {
		t.Errorf("%d samples were written to the other server, the run has %d", outside.samples, n)
	}

	names, _, _, err := stored.LabelValues(ctx, "__name__", nil, end.Add(-time.Hour), end)
	if err != nil {
		t.Fatal(err)
	}
	if status := wait(t, other, 120*time.Second, otherOutput); status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("exit status %d\n%s", status, otherOutput.String())
	}
	has := namesOf(t, otherRoot)
	for _, n := range names {
		has[string(n)] = true
	}
	checkDashboards(t, has)
}

// namesOf returns the metrics of the only run in a store.
func namesOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, "store", "runs", "*", "series"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("runs: %v, %v", dirs, err)
	}
	db, err := series.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	q, err := db.Querier(0, time.Now().Add(time.Hour).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	names, _, err := q.LabelValues(t.Context(), "__name__", nil)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, n := range names {
		has[strings.Clone(n)] = true
	}
	return has
}

// dashboard is the part of Grafana's schema that ours use.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Time          struct{ From, To string }
	Templating    struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
			Definition string
		}
	}
	Annotations struct{ List []struct{ Expr string } }
	Panels      []struct {
		ID          int
		Type, Title string
		Repeat      string
		GridPos     struct{ H, W, X, Y int }
		Datasource  struct{ Type, UID string }
		FieldConfig struct {
			Defaults struct{ Unit string }
		}
		Targets []struct {
			RefID, Expr string
			Datasource  struct{ Type, UID string }
		}
	}
}

// recordedNames are the metrics of the host probe's fixtures: a machine may lack some that another has, such as PSI.
func recordedNames(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "watch", "probe", "testdata", "host.golden"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		out = append(out, regexp.MustCompile(`^\w+`).FindString(line))
	}
	return out
}

// checkDashboards holds each dashboard to Grafana's form, parses every query, and looks for each metric in a run.
func checkDashboards(t *testing.T, has map[string]bool) {
	t.Helper()
	for _, n := range recordedNames(t) {
		has[n] = true
	}
	for _, n := range []string{"plimsoll_nic_rx_missed_total", "plimsoll_nic_rx_no_buffer_total", "plimsoll_nic_allowance_exceeded_total"} {
		has[n] = true // of a device between hosts; here is one host
	}
	for _, n := range []string{"plimsoll_replication_lag_seconds", "plimsoll_replication_lag_bytes", "plimsoll_replication_lag_transactions"} {
		has[n] = true // of replicas; the probes' own tests have them
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "contrib", "grafana", "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("dashboards %v, %v", files, err)
	}
	prom := parser.NewParser(parser.Options{})
	variables := strings.NewReplacer("$__rate_interval", "5s", "$run", ".*", "$rule", ".*")
	labelValues := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(b, &d); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || d.Time.From == "" || len(d.Panels) < 15 {
			t.Errorf("%s: uid %q, title %q, schema %d, time %v, %d panels", f, d.UID, d.Title, d.SchemaVersion, d.Time, len(d.Panels))
		}
		queries := map[string]string{}
		known := map[string]bool{"__rate_interval": true}
		for _, v := range d.Templating.List {
			known[v.Name] = true
			if v.Type != "query" {
				continue
			}
			m := labelValues.FindStringSubmatch(v.Definition)
			if m == nil {
				t.Errorf("%s: variable %s: %q", f, v.Name, v.Definition)
				continue
			}
			queries["variable "+v.Name] = m[1]
		}
		for i, a := range d.Annotations.List {
			queries[fmt.Sprint("annotation ", i)] = a.Expr
		}
		ids := map[int]bool{}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			g := p.GridPos
			if ids[p.ID] || p.ID <= 0 || p.Title == "" || g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
				t.Errorf("%s: panel %d %q: id or place %+v", f, p.ID, p.Title, g)
			}
			ids[p.ID] = true
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: panels %q and %q lie on one another", f, other, p.Title)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Type != "timeseries" && p.Type != "state-timeline" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" || p.Repeat != "" && !known[p.Repeat] {
				t.Errorf("%s: panel %q is incomplete: %+v", f, p.Title, p)
			}
			refs := map[string]bool{}
			for _, q := range p.Targets {
				if refs[q.RefID] || q.RefID == "" || q.Datasource.Type != "prometheus" {
					t.Errorf("%s: panel %q: query %+v", f, p.Title, q)
				}
				refs[q.RefID] = true
				queries[p.Title+" "+q.RefID] = q.Expr
			}
		}
		for _, name := range slices.Sorted(maps.Keys(queries)) {
			for _, v := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(queries[name], -1) {
				if !known[v[1]] {
					t.Errorf("%s: %s: no variable %s", f, name, v[1])
				}
			}
			expr, err := prom.ParseExpr(variables.Replace(queries[name]))
			if err != nil {
				t.Errorf("%s: %s: %v", f, name, err)
				continue
			}
			parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
				if s, ok := n.(*parser.VectorSelector); ok && !has[s.Name] {
					t.Errorf("%s: %s: no run has %s", f, name, s.Name)
				}
				return nil
			})
		}
	}
}
