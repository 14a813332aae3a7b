package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
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
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/compression"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// receiver is a server for remote write.
type receiver struct {
	mu      sync.Mutex
	samples int
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
			if l.Name == "run" {
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

// underWay asks a run while it lasts, with a client that is not ours.
func underWay(t *testing.T, output *safeBuffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	live := clientOf(t, output)
	users := ""
	for !strings.Contains(users, "} => 10 @[") && ctx.Err() == nil && !strings.Contains(output.String(), "run: ") {
		time.Sleep(100 * time.Millisecond)
		if v, _, _, err := live.Query(ctx, `plimsoll_users{state="active"}`, time.Time{}); err == nil {
			users = v.String()
		}
	}
	if !strings.Contains(users, "} => 10 @[") {
		t.Errorf("the run under way showed %s, not 10 users", users)
	}
}

// writtenOutside asks the verb serve how many samples a stored run has: all of them were written to
// another server.
func writtenOutside(t *testing.T, root string, outside *receiver) {
	t.Helper()
	said := new(safeBuffer)
	a := &app.App{
		Stdin:  strings.NewReader(""),
		Stdout: said,
		Stderr: said,
		Env:    func(string) string { return "" },
	}
	serving, stop := context.WithCancel(t.Context())
	ended := inBackground(func() error {
		args := []string{
			"serve",
			"-store",
			filepath.Join(root, "store"),
			"-prometheus",
			"2",
			"-listen",
			"127.0.0.1:0",
		}
		if status := run(serving, a, args); status != exit.OK {
			return fmt.Errorf("serve ended with status %d: %s", status, said)
		}
		return nil
	})
	// now is the run's end
	all, _, _, err := clientOf(t, said).Query(t.Context(), `{__name__!=""}[1h]`, time.Time{})
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	n := strings.Count(all.String(), " @[")
	outside.mu.Lock()
	defer outside.mu.Unlock()
	if outside.samples != n || n < 1000 || len(outside.bad) > 0 || len(outside.runs) != 1 {
		t.Errorf(
			"%d samples of the runs %v were written to the other server, the run has %d; refused: %v",
			outside.samples,
			outside.runs,
			n,
			outside.bad,
		)
	}
}

// namesOf returns the metrics of a run.
func namesOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	db, err := series.Open(filepath.Join(dir, record.SeriesDir))
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

// recordedNames are the metrics of the host probe's fixtures: a machine may lack some that another
// has, such as PSI.
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

// checkDashboards holds each dashboard to Grafana's form, parses every query, and looks for each
// metric in a run.
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
		if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || d.Time.From == "" ||
			len(d.Panels) < 15 {
			t.Errorf(
				"%s: uid %q, title %q, schema %d, time %v, %d panels",
				f,
				d.UID,
				d.Title,
				d.SchemaVersion,
				d.Time,
				len(d.Panels),
			)
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
			if ids[p.ID] || p.ID <= 0 || p.Title == "" || g.W <= 0 || g.H <= 0 || g.X < 0 ||
				g.X+g.W > 24 {
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
			if p.Type != "timeseries" && p.Type != "state-timeline" ||
				p.FieldConfig.Defaults.Unit == "" ||
				len(p.Targets) == 0 ||
				p.Datasource.UID != "${datasource}" ||
				p.Repeat != "" && !known[p.Repeat] {
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
