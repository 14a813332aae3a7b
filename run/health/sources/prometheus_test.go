package sources

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/run/deploy"
	"plimsoll/target"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
	"plimsoll/watch/series/promapi"
)

// A server that holds series as Prometheus scrapes them, behind a password.
func scrapedServer(t *testing.T) (at string, scrape func(idle, user, up float64)) {
	t.Helper()
	db := created(t, t.TempDir())
	t.Cleanup(func() { _ = db.Close() })
	var last time.Time
	scrape = func(idle, user, up float64) {
		t.Helper()
		for !time.Now().After(last.Add(time.Millisecond)) { // series have a resolution of 1 ms
			time.Sleep(100 * time.Microsecond)
		}
		last = time.Now()
		var batch []series.Sample
		for _, host := range []string{"db-7", "app-1", "app-2"} {
			labels := func(more ...string) (out []series.Label) {
				out = []series.Label{{Name: "job", Value: "node"}, {Name: "instance", Value: host}}
				for i := 0; i < len(more); i += 2 {
					out = append(out, series.Label{Name: more[i], Value: more[i+1]})
				}
				return out
			}
			batch = append(batch, series.Sample{
				Name:   "up",
				Labels: labels(),
				Value:  up,
			}, series.Sample{
				Name:   "node_cpu_seconds_total",
				Labels: labels("cpu", "0", "mode", "idle"),
				Value:  idle,
			},
				series.Sample{
					Name:   "node_cpu_seconds_total",
					Labels: labels("cpu", "0", "mode", "user"),
					Value:  user,
				},
				series.Sample{
					Name:   "queue_jobs",
					Labels: labels(),
					Value:  3,
				}, series.Sample{Name: "secret_stuff", Labels: labels(), Value: 4})
		}
		if err := db.Append(last, batch); err != nil {
			t.Fatal(err)
		}
	}
	api := promapi.Handler(promapi.Config{Source: func() (*series.DB, func(), error) {
		return db, func() {}, nil
	}})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "geheim7" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return strings.Replace(srv.URL, "://", "://reader:${ENV:PROM}@", 1), scrape
}

// An existing Prometheus answers cpu(app) and promql rules of a run, by the roles of the plan; when
// it scrapes no more the signals are missing.
func TestMetricsOfPrometheus(t *testing.T) {
	at, scrape := scrapedServer(t)
	scrape(100, 10, 1)
	p := parsed(
		t,
		fmt.Sprintf(
			`{name: own, target: {driver: external, url: "http://127.0.0.1:1"}, workload: {behavior: poster},
bounded: {users: 5, slo: ["promql: sum(queue_jobs) < 9", "cpu(app) < 85%%"]}, metrics: {prometheus: %q, labels: {app: 'instance=~"app-.*"', db: 'instance="db-7"'}}}`,
			at,
		),
	)
	dep := deployed(t, target.Spec{URL: pages(t).URL, Ready: "/metrics"})
	env := map[string]string{"PROM": "geheim7"}
	o, x := openerOf(p, env), &deploy.System{Deployment: dep, Metrics: p.Metrics}
	sources, err := o.listed(x)
	defer Close(sources)
	if err != nil || len(sources) != 2 || sources[0].probe.Name() != "metrics app" ||
		sources[1].probe.Name() != "metrics db" {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	store := created(t, t.TempDir())
	defer store.Close()
	run := clock.New(time.Now())
	runner := probe.NewRunner(store, 50*time.Millisecond)
	runner.UseClock(run)
	for _, src := range sources {
		src.addTo(runner)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	cpu := func(busy, total float64) bool {
		_, instance, _ := Host("metrics app")
		of := fmt.Sprintf("{instance=%q,role=%q}", instance, "app")
		b, _, _ := runner.Last("plimsoll_agent_cpu_busy_seconds_total" + of)
		all, _, _ := runner.Last("plimsoll_agent_cpu_seconds_total" + of)
		return b == busy && all == total
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not within 30 s; probes %+v", what, runner.Status())
			}
		}
	}
	until("the first scrape", func() bool { return cpu(20, 220) })
	until("the second scrape", func() bool {
		scrape(101, 12, 1)
		return cpu(24, 226)
	})
	checkValues(t, store, map[string]float64{
		`sum(queue_jobs{role="app"})`:                                6,
		`queue_jobs{role="db"}`:                                      3,
		`count(node_cpu_seconds_total{role="app",instance="app-2"})`: 2,
		`count(secret_stuff) or vector(0)`:                           0,
	})
	scrape(102, 13, 0)
	until("a host that is down", func() bool {
		for _, st := range runner.Status() {
			if st.LastErr == nil || !strings.Contains(st.LastErr.Error(), "(up is 0)") ||
				strings.Contains(st.LastErr.Error(), "geheim7") {
				return false
			}
		}
		return true
	})
}

// With a page of the target's own metrics, only the metrics of the hosts are queried for app, and
// not the names in rules; for other roles all are queried.
func TestMetricsOfThePageAreNotAskedFor(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]string{} // by role, the question for the samples
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result := `{"metric":{"job":"node","instance":"h"},"value":[100,"100"]}`
		query := r.FormValue("query")
		if !strings.HasPrefix(query, "timestamp(up{") {
			result = `{"metric":{"__name__":"node_load1","job":"node","instance":"h"},"value":[100,"1"]}`
			mu.Lock()
			defer mu.Unlock()
			role := "db"
			if strings.Contains(query, `instance="app"`) {
				role = "app"
			}
			asked[role] = query
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
	}))
	t.Cleanup(srv.Close)
	p := parsed(
		t,
		fmt.Sprintf(
			`{name: own, target: {driver: external, url: "http://127.0.0.1:1"}, workload: {behavior: poster},
bounded: {users: 5, slo: ["promql: sum(queue_jobs) < 9"]}, metrics: {prometheus: %q, labels: {app: 'instance="app"', db: 'instance="db"'}}}`,
			srv.URL,
		),
	)
	for page, want := range map[string]bool{"": true, "/metrics": false} {
		dep := deployed(t, target.Spec{URL: srv.URL, MetricsURL: page})
		sources, err := openerOf(p, nil).Prometheus(p.Metrics, len(dep.MetricsURLs()) > 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range sources {
			if _, err := src.probe.Sample(t.Context(), time.Now()); err != nil {
				t.Errorf("%s: %v", src.probe.Name(), err)
			}
		}
		Close(sources)
		if got := strings.Contains(asked["app"], "queue_jobs"); got != want ||
			!strings.Contains(asked["app"], "node_") {
			t.Errorf("page %q: of app it was asked %s", page, asked["app"])
		}
		if !strings.Contains(asked["db"], "queue_jobs") {
			t.Errorf("page %q: of db it was asked %s", page, asked["db"])
		}
	}
}

// Each arm is watched by its own selector, at the plan's server or at its own.
func TestMetricsOfAnArm(t *testing.T) {
	p := parsed(
		t,
		`{name: own, target: {driver: external}, workload: {behavior: poster}, bounded: {users: 5}, metrics: {prometheus: "http://127.0.0.1:1"},
compare: {arms: {base: {url: "http://blue", metrics: {labels: {app: 'instance="blue"', db: 'instance="db"'}}},
  new: {url: "http://green", metrics: {prometheus: "${ENV:GREEN}", labels: {app: 'instance="green"'}}}}}}`,
	)
	env := map[string]string{"GREEN": "http://reader:geheim7@127.0.0.1:2"}
	o := openerOf(p, env)
	for arm, want := range map[string]string{
		"base": "metrics app, metrics db",
		"new":  "metrics app",
	} {
		sources, err := o.Prometheus(p.MetricsOf(arm), false)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, src := range sources {
			names = append(names, src.probe.Name())
			if _, err := src.probe.Sample(t.Context(), time.Now()); err == nil ||
				!strings.Contains(err.Error(), "127.0.0.1:"+map[string]string{
					"base": "1",
					"new":  "2",
				}[arm]) ||
				strings.Contains(err.Error(), "geheim7") {
				t.Errorf("%s of %s: %v", src.probe.Name(), arm, err)
			}
		}
		Close(sources)
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s has %s, want %s", arm, got, want)
		}
	}
	env["GREEN"] = ""
	if _, err := o.Prometheus(p.MetricsOf("new"), false); err == nil ||
		!strings.Contains(err.Error(), "GREEN is not set") {
		t.Errorf("a reference that leads nowhere: %v", err)
	}
}
