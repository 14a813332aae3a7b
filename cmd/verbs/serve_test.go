package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
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
	"plimsoll/contrib/grafana"
	"plimsoll/internal/failure"
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
			failure.None(t, err)
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
	failure.None(t, errors.Join(err, <-ended))
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
	failure.None(t, err)
	defer db.Close()
	q, err := db.Querier(0, time.Now().Add(time.Hour).UnixMilli())
	failure.None(t, err)
	defer q.Close()
	names, _, err := q.LabelValues(t.Context(), "__name__", nil)
	failure.None(t, err)
	has := map[string]bool{}
	for _, n := range names {
		has[strings.Clone(n)] = true
	}
	return has
}

// recordedNames are the metrics of the host probe's fixtures: a machine may lack some that another
// has, such as PSI.
func recordedNames(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "watch", "probe", "testdata", "host.golden"))
	failure.None(t, err)
	var out []string
	for line := range strings.Lines(string(b)) {
		out = append(out, regexp.MustCompile(`^\w+`).FindString(line))
	}
	return out
}

// checkDashboards looks for each metric of a dashboard in a run.
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
	expressions := regexp.MustCompile(`"(?:expr|definition)": ("(?:[^"\\]|\\.)*")`)
	labelValues := regexp.MustCompile(`^label_values\((.*), \w+\)$`)
	variables := strings.NewReplacer("$__rate_interval", "5s", "$run", ".*", "$rule", ".*")
	prom := parser.NewParser(parser.Options{})
	for _, text := range [][]byte{grafana.System, grafana.Coordinator} {
		for _, m := range expressions.FindAllSubmatch(text, -1) {
			var query string
			failure.None(t, json.Unmarshal(m[1], &query))
			query = labelValues.ReplaceAllString(query, "$1")
			expr, err := prom.ParseExpr(variables.Replace(query))
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
				if s, ok := n.(*parser.VectorSelector); ok && !has[s.Name] {
					t.Errorf("%s: no run has %s", query, s.Name)
				}
				return nil
			})
		}
	}
}
