package sources

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/target"
	"plimsoll/target/external"
	"plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// pages serves the pages of an own system for probes, and counts requests without the token.
func pages(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		fmt.Fprint(
			w,
			"# TYPE jobs counter\njobs_total{role=\"worker\",queue=\"mail\"} 7 # {trace=\"a\"} 1\n# EOF\n",
		)
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("token") != "geheim" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("Server", "nginx/1.22.1")
		fmt.Fprint(
			w,
			"Active connections: 3 \nserver accepts handled requests\n 10 10 20 \nReading: 0 Writing: 1 Waiting: 2 \n",
		)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// opening makes the opener of a plan with the probes, and its external target.
func opening(t *testing.T, url, probes string, env map[string]string) (*Opener, *deploy.System) {
	t.Helper()
	p := parsed(
		t,
		fmt.Sprintf(`{name: own, target: {driver: external, url: %q, metrics_url: /metrics},
workload: {behavior: poster}, bounded: {users: 5}, probes: [%s]}`, url, probes),
	)
	dep := deployed(t, target.Spec{URL: url, MetricsURL: "/metrics", Ready: "/metrics"})
	return openerOf(p, env), &deploy.System{Deployment: dep, Probes: p.Probes}
}

func openerOf(p *plan.Plan, env map[string]string) *Opener {
	return &Opener{Plan: p, Resolver: &deploy.Resolver{
		Env: func(name string) string { return env[name] }, Secrets: new(plain.Secrets),
	}}
}

// The probes of a plan for an external system: all kinds in one run's series, each with its own
// instance, and no secret anywhere.
func TestPlanProbes(t *testing.T) {
	srv := pages(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	db, err := postgresql.Start(ctx, postgresql.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Stop(context.WithoutCancel(ctx))
	o, x := opening(t, srv.URL, fmt.Sprintf(`{kind: pprof, role: app, url: "%[1]s/debug/pprof"},
{kind: prometheus, role: host, url: "%[1]s/metrics"}, {kind: nginx, role: proxy, url: "%[1]s/status?token=${ENV:TOKEN}"},
{kind: postgresql, role: db, dsn: "${ENV:DB_DSN}"}`, srv.URL), map[string]string{
		"TOKEN":  "geheim",
		"DB_DSN": db.DSN("postgres"),
	})
	seen, err := o.Survey(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(seen, "proxy-0 nginx/1.22.1; db-0 PostgreSQL 1") {
		t.Errorf("seen: %q", seen)
	}
	store := created(t, t.TempDir())
	defer store.Close()
	runner, closeProbes, err := o.Run(x, Scope{DB: store, Clock: clock.New(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	defer closeProbes()
	runUntil(ctx, t, runner, 2)
	var names []string
	for _, st := range runner.Status() {
		names = append(names, st.Name)
		if st.LastErr != nil {
			t.Errorf("%s: %v", st.Name, st.LastErr)
		}
	}
	if got := strings.Join(names, ", "); !strings.HasSuffix(
		got,
		"pprof app-1, prometheus host-0, nginx proxy-0, postgresql db-0",
	) {
		t.Errorf("probes: %s", got)
	}
	checkValues(t, store, map[string]float64{
		`count(go_goroutines{role="app",instance="app-1"}) == 1`:                        1,
		`jobs_total{role="host",instance="host-0",exported_role="worker",queue="mail"}`: 7,
		`jobs_total{role="app",instance="app-0",exported_role="worker",queue="mail"}`:   7,
		`nginx_connections_waiting{role="proxy",instance="proxy-0"}`:                    2,
		`plimsoll_pg_connections{role="db",instance="db-0"}`:                            1,
		`plimsoll_pg_blocked_sessions{role="db",instance="db-0"}`:                       0,
		`sum(plimsoll_probe_up) == count(plimsoll_probe_up) and sum(plimsoll_probe_up) > bool 4`: float64(
			len(names),
		),
	})
}

// runUntil runs probes until each has n samples.
func runUntil(ctx context.Context, t *testing.T, r *probe.Runner, n int) {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	few := func(s probe.ProbeStatus) bool { return s.Samples < n }
	go func() {
		for ; slices.ContainsFunc(r.Status(), few) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		}
		stop()
	}()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// A probe that cannot work is known before the run, with its place and without its secrets.
func TestSurveyRefuses(t *testing.T) {
	srv := pages(t)
	for name, c := range map[string]struct{ probes, err string }{
		"not set":    {`{kind: postgresql, role: db, dsn: "${ENV:NO_DSN}"}`, "probes[0]: expanding ${ENV:NO_DSN}: the environment variable NO_DSN is not set"},
		"no DSN":     {`{kind: mysql, role: db, dsn: "${ENV:TOKEN}"}`, "probes[0]: the DSN of MySQL cannot be parsed"},
		"no page":    {`{kind: nginx, role: proxy, url: "${ENV:TOKEN}"}`, "probes[0]: nginx URL with scheme"},
		"forbidden":  {fmt.Sprintf(`{kind: pprof, role: app, url: "%[1]s/debug/pprof"}, {kind: nginx, role: proxy, url: "%[1]s/status?t=${ENV:TOKEN}"}`, srv.URL), "probes[1] of the plan (nginx, role proxy): answer 403 Forbidden, want 200; is stub_status switched on"},
		"nobody":     {`{kind: postgresql, role: db, dsn: "postgres://me:${ENV:TOKEN}@127.0.0.1:1/db?sslmode=disable"}`, "probes[0] of the plan (postgresql, role db): connecting to PostgreSQL: connection refused"},
		"other page": {fmt.Sprintf(`{kind: pprof, role: app, url: "%s"}`, srv.URL), "is profiling switched on, and does the URL end in /debug/pprof?"},
	} {
		t.Run(name, func(t *testing.T) {
			o, x := opening(t, srv.URL, c.probes, map[string]string{"TOKEN": "geheim"})
			_, err := o.Survey(t.Context(), x)
			if err == nil || !strings.Contains(err.Error(), c.err) ||
				strings.Contains(err.Error(), "geheim") {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// Every kind that a plan may name can be opened.
func TestEveryKindOfProbe(t *testing.T) {
	for kind, at := range map[string]string{
		plan.ProbePrometheus: "http://h/metrics",
		plan.ProbePprof:      "http://h/debug/pprof",
		plan.ProbeNginx:      "http://h/status",
		plan.ProbePostgreSQL: "postgres://u@h/db",
		plan.ProbeMySQL:      "u@tcp(h)/",
	} {
		src, err := Open(kind, at, "r", "r-0")
		if err != nil {
			t.Error(err)
			continue
		}
		r := probe.NewRunner(nil, time.Second)
		src.addTo(r)
		if st := r.Status(); len(st) != 1 || st[0].Name != kind+" r-0" {
			t.Errorf("%s: %+v", kind, st)
		}
		if err := src.close(); err != nil {
			t.Error(err)
		}
	}
}

// ticking is an agent whose clock is away, and a store that keeps nothing.
type ticking struct{ offset, way float64 }

func (ticking) Name() string { return "agent db-standby-1" }
func (c ticking) Sample(context.Context, time.Time) ([]series.Sample, error) {
	ls := []series.Label{{
		Name:  "instance",
		Value: "db-standby-1",
	}, {Name: "role", Value: "db-standby"}}
	return []series.Sample{{
		Name:   "plimsoll_agent_cpu_seconds_total",
		Labels: ls,
		Value:  100,
	}, {Name: "plimsoll_agent_cpu_busy_seconds_total", Labels: ls, Value: 30},
		{
			Name:   "plimsoll_agent_clock_offset_seconds",
			Labels: ls,
			Value:  c.offset,
		}, {Name: "plimsoll_agent_round_trip_seconds", Labels: ls, Value: c.way}}, nil
}
func (ticking) Append(time.Time, []series.Sample) error { return nil }
func (ticking) AppendText(time.Time, []byte, string, map[string]string) (int, error) {
	return 0, nil
}

// The clock of another host that is not ours is named, and voids nothing.
func TestClockOfAgent(t *testing.T) {
	for _, c := range []struct {
		ticking
		want string
	}{
		{ticking{0.4, 0.002}, ""},
		{ticking{3.25, 0.002}, "the clock of db-standby-1 is 3.250 s ahead of this host's (±0.001 s)"},
		{ticking{-0.6, 0.002}, "the clock of db-standby-1 is 0.600 s behind this host's"},
		{ticking{0.1, 1.2}, "the clock of db-standby-1 can only be compared to ±0.600 s"},
	} {
		r := probe.NewRunner(c, time.Second)
		r.Add(c)
		runUntil(t.Context(), t, r, 1)
		got := ClockFindings(r)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%+v: %+v", c.ticking, got)
		case c.want != "" && (len(got) != 1 || got[0].Level != record.Amber || !strings.HasPrefix(got[0].Text, c.want)):
			t.Errorf("%+v: %+v, want %q", c.ticking, got, c.want)
		}
	}
}

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func deployed(t *testing.T, spec target.Spec) *external.Site {
	t.Helper()
	dep, err := new(external.Driver).Deploy(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return dep.(*external.Site)
}

// created is a new store of series.
func created(t *testing.T, dir string) *series.DB {
	t.Helper()
	db, err := series.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// checkValues checks expressions that have one value each.
func checkValues(t *testing.T, db *series.DB, values map[string]float64) {
	t.Helper()
	for expr, want := range values {
		res, err := db.Query(t.Context(), expr, time.Now())
		if err != nil || len(res) != 1 || res[0].Value != want {
			t.Errorf("%s = %v, %v; want %v", expr, res, err, want)
		}
	}
}
