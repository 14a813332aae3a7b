package verbs

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/reference/refnull"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/watch/series"
)

const sharesPlan = `
name: shares
seed: 7
target: {driver: refchat, instances: 2, args: ["-hash=bcrypt:4"]}
database: {engine: postgresql}
workload: {behavior: poster, share: 50%%, with: {mattermost: 50%%}, pace: 0.1, params: {channels: "4", speed: "10"}}
bounded: {users: 40, ramp: 500ms, settle: 500ms, measure: %s}
`

// TestSharesOfTwoServers: each of two servers gets half of the users of each kind, by the servers' own counts.
func TestSharesOfTwoServers(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, fmt.Sprintf(sharesPlan, "6s")+openGates, "run")
	// A busy machine may void the run: then the servers' counters alone show how it was divided.
	status := wait(t, cmd, 2*time.Minute, output)
	if status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("exit status %d\n%s", status, output)
	}
	r, _ := onlyRun(t, root)
	if g := gateOf(r, "shares"); status == rig.ExitOK && (g.Value == nil || *g.Value > 2 || g.Level != record.Green) {
		t.Errorf("gate shares: %+v", g)
	}
	db, err := series.Open(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var requests, sockets [2]float64
	for i := range requests {
		for metric, to := range map[string]*float64{"mattermost_http_requests_total": &requests[i], "mattermost_http_websockets_total": &sockets[i]} {
			of := fmt.Sprintf(`%s{instance="app-%d"}[10m]`, metric, i)
			res, err := db.Query(t.Context(), "max_over_time("+of+") - min_over_time("+of+")", time.Now())
			if err != nil || len(res) != 1 {
				t.Fatalf("%s: %v, %v; want one value", of, res, err)
			}
			*to = res[0].Value
		}
	}
	if sockets[0] < 5 || math.Abs(sockets[0]-sockets[1]) > 3 {
		t.Errorf("WebSockets %v", sockets)
	}
	t.Logf("requests %v", requests)
	if n := requests[0] + requests[1]; n < 200 || math.Abs(requests[0]/n-0.5) > 0.1 {
		t.Errorf("requests %v", requests)
	}
	if u, err := r.Users(); status == rig.ExitOK && (err != nil || u == nil || u.Whole.Acked < 20 || u.Whole.Lost > 0) {
		t.Errorf("messages %+v, %v: want some, and none lost", u, err)
	}
}

// TestStoppedServerIsNamed: one of two servers stands still in the measured phase; the run is void and names it. Its
// page of metrics has had no data for more than 5 s at the end, however busy the machine: that alone is red for certain.
func TestStoppedServerIsNamed(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, fmt.Sprintf(sharesPlan, "10s")+openGates, "run")
	waitFor(t, output, "measure")
	stopped := 0
	for pid, line := range survivors(root) {
		if strings.Contains(line, "refchat") && strings.Contains(line, "-bus=") && (stopped == 0 || pid > stopped) {
			stopped = pid
		}
	}
	if stopped == 0 {
		t.Fatalf("there is no server\n%s", output)
	}
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(stopped, syscall.SIGCONT)
	if status := wait(t, cmd, 2*time.Minute, output); status != rig.ExitInvalid {
		t.Errorf("exit status %d, want %d\n%s", status, rig.ExitInvalid, output)
	}
	r, _ := onlyRun(t, root)
	if !slices.ContainsFunc(r.Validity.Findings, func(f record.Finding) bool {
		return f.Gate == "signals" && f.Level == record.Red && strings.Contains(f.Text, "/metrics has had no data since")
	}) {
		t.Errorf("no finding of the page of metrics: %+v", r.Validity.Findings)
	}
}

// TestUnequalProxyIsNamed: a stand-in of a proxy gives one of two servers three quarters of the requests.
func TestUnequalProxyIsNamed(t *testing.T) {
	t.Parallel()
	null, err := refnull.New(refnull.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := inBackground(func() error { return null.Run(ctx) })
	defer func() { cancel(); <-done }()
	behind, err := url.Parse(null.URL())
	if err != nil {
		t.Fatal(err)
	}
	var turn atomic.Int64
	var counts [2]atomic.Int64
	pass := httputil.NewSingleHostReverseProxy(behind)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := 0
		if turn.Add(1)%4 == 0 {
			to = 1
		}
		counts[to].Add(1)
		pass.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	var pages [2]string
	for i := range pages {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "mattermost_http_requests_total %d\n", counts[i].Load())
		}))
		defer page.Close()
		pages[i] = page.URL + "/metrics"
	}
	cmd, root, output := startPlanWith(t, []string{"PLIMSOLL_ADMIN_PASSWORD=Aa1!aaaaaaaa"}, fmt.Sprintf(`
name: unequal
target: {driver: external, url: %q, ready: /api/v4/system/ping, metrics_url: [%q, %q]}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 40, ramp: 500ms, settle: 500ms, measure: 6s}
`, proxy.URL, pages[0], pages[1])+openGates, "run")
	if status := wait(t, cmd, 2*time.Minute, output); status != rig.ExitInvalid {
		t.Errorf("exit status %d, want %d\n%s", status, rig.ExitInvalid, output)
	}
	r, _ := onlyRun(t, root)
	if !redShares(r, "app-1 ("+strings.TrimSuffix(strings.TrimPrefix(pages[1], "http://"), "/metrics")+")") {
		t.Errorf("findings %+v", r.Validity.Findings)
	}
}

// gateOf returns a gate's line of a run.
func gateOf(r *record.Run, name string) record.GateOutcome {
	i := slices.IndexFunc(r.Validity.Gates, func(g record.GateOutcome) bool { return g.Name == name })
	if i < 0 {
		return record.GateOutcome{}
	}
	return r.Validity.Gates[i]
}

// redShares reports whether the gate shares is red and names the server.
func redShares(r *record.Run, server string) bool {
	return slices.ContainsFunc(r.Validity.Findings, func(f record.Finding) bool {
		return f.Gate == "shares" && f.Level == record.Red && strings.Contains(f.Text, server)
	})
}
