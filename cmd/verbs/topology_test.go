package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/judge/limiter"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/target/lab/nginx"
)

func withNginx(t *testing.T) {
	t.Helper()
	if _, err := nginx.Find(); err != nil {
		failure.Lacks(t, err)
	}
}

// bothServe looks at what the servers, the proxy and the replica of a run of hostsPlan counted.
func bothServe(t *testing.T, value func(query string) float64) {
	t.Helper()
	for _, app := range []string{"app-0", "app-1"} {
		if got := value(`max_over_time(mattermost_http_websockets_total{instance="` + app + `"}[10m])`); got < 1 ||
			got > 29 {
			t.Errorf("%s held %v WebSockets of 30", app, got)
		}
		if got := value(`max_over_time(refchat_replica_statements_total{instance="` + app + `"}[10m])`); got < 10 {
			t.Errorf("%s read %v times from the replica", app, got)
		}
	}
	if got := value(`max_over_time(nginx_http_requests_total{role="proxy", instance="proxy-0"}[10m])`); got < 100 {
		t.Errorf("the proxy counted %v requests", got)
	}
	if got := value(`count(count by (upstream) (max_over_time(plimsoll_proxy_upstream_requests_total{role="proxy", code="2xx"}[10m])))`); got != 2 {
		t.Errorf("the proxy's log names %v upstreams, want 2", got)
	}
	if got := value(`max_over_time(plimsoll_replication_lag_seconds{role="replica", instance="replica-0"}[10m])`); got < 3 {
		t.Errorf("the replica was %v s behind at most", got)
	}
}

// lagShown looks for the lag of the replica where a person would.
func lagShown(t *testing.T, stored *record.Run) {
	t.Helper()
	r := catalog().Of(stored)
	db, err := r.Series()
	failure.None(t, err)
	drawn, err := r.Drawing(t.Context(), db, 0.1)
	failure.None(t, errors.Join(err, db.Close()))
	if line := drawn.Lines[report.Bounded]["replication-lag-0"]; len(line.V) < 5 ||
		slices.Max(line.V) < 3 {
		t.Errorf("the graph of the replica: %v, %q", line.V, drawn.Why[report.Bounded])
	}
	events, err := r.Events()
	failure.None(t, err)
	// The disk of a shared host may be slower at that moment, and is named then; the lag qualifies
	// all the same.
	const lag = "replication-lag replica"
	qualifies := func(s limiter.Suspect) bool {
		return s.Name == lag && strings.HasPrefix(s.Why, "qualifies as well")
	}
	if l, err := r.Limiter(t.Context(), events); err != nil || l == nil ||
		r.Validity.Valid && l.Name != lag && !slices.ContainsFunc(l.Others, qualifies) {
		t.Errorf("limiter %+v, %v", l, err)
	}
	pages, err := r.Pages(t.Context())
	failure.None(t, err)
	all := ""
	for _, p := range pages {
		var b bytes.Buffer
		failure.None(t, p.Write(&b))
		all += b.String()
		// a row of the panels without values
		if strings.Contains(b.String(), "Replicas of the database: Time behind the first server") {
			t.Errorf("%s has no values of the lag", p.Name)
		}
	}
	for _, want := range []string{"Time behind the first server", "Broken over the measured phase: promql: max(max_over_time(plimsoll_replication_lag_seconds", "limit 2; replica-0, worst "} {
		if !strings.Contains(all, want) {
			t.Errorf("no page has %q", want)
		}
	}
	// The proxy, the replica and their versions are those that ran.
	setup := fmt.Sprint(evidence.Setup(stored.Manifest))
	d, _ := evidence.TargetOf(stored.Manifest)
	if len(d.Companions) != 2 || d.Companions["replica-0"].Version != d.Database.Version ||
		!strings.Contains(
			setup,
			"1 × "+d.Companions["proxy"].Name+" "+d.Companions["proxy"].Version,
		) {
		t.Errorf("setup %s of %+v", setup, d.Companions)
	}
}

// replayer returns the process that replays the log in the replica below root; 0 without one.
func replayer(root string) int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		title, err := os.ReadFile(filepath.Join(d, "cmdline"))
		at, _ := os.Readlink(filepath.Join(d, "cwd"))
		if err == nil && strings.HasPrefix(string(title), "postgres: startup ") &&
			strings.HasPrefix(at, root) &&
			strings.Contains(at, "replica-0") {
			pid, _ := strconv.Atoi(filepath.Base(d))
			return pid
		}
	}
	return 0
}
