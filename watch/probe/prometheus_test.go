package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// A standIn answers as a Prometheus server does; up and metrics are the results of the two
// questions.
type standIn struct {
	up, metrics string
	asked       int // of the metrics
	auth        string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.auth = r.Header.Get("Authorization")
	result := s.up
	if !strings.HasPrefix(r.FormValue("query"), "timestamp(up{") {
		s.asked++
		result = s.metrics
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
}

func upOf(instance string, now, at float64) string {
	return fmt.Sprintf(
		`{"metric":{"job":"node","instance":%q},"value":[%v,"%v"]}`,
		instance,
		now,
		at,
	)
}

func metricOf(name, instance, more, value string) string {
	return fmt.Sprintf(
		`{"metric":{"__name__":%q,"job":"node","instance":%q%s},"value":[100,%q]}`,
		name,
		instance,
		more,
		value,
	)
}

func watching(t *testing.T, h http.Handler) *Prometheus {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	p, err := NewPrometheus(PrometheusConfig{
		URL:      strings.Replace(srv.URL, "://", "://reader:hunter22@", 1),
		Role:     "app",
		Selector: `instance=~"app-.*"`,
		Prefixes: []string{"node_"},
		Names:    []string{"own_total"},
	})
	failure.None(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Samples come once for each scrape, with the role; the CPU sums come at every call.
func TestPrometheusSamples(t *testing.T) {
	cpu := metricOf("node_cpu_seconds_total", "app-0", `,"mode":"idle"`, "70") +
		"," + metricOf("node_cpu_seconds_total", "app-0", `,"mode":"user"`, "30")
	s := &standIn{
		up: upOf("app-0", 100, 98),
		metrics: cpu + "," + metricOf("own_total", "app-0", `,"role":"theirs"`, "5") +
			"," + metricOf("node_load1", "app-0", "", "NaN") +
			"," + metricOf("go_goroutines", "app-0", "", "8"),
	}
	p := watching(t, s)
	keys := func() (out []string) {
		t.Helper()
		got, err := p.Sample(t.Context(), time.Now())
		failure.None(t, err)
		for _, x := range got {
			out = append(out, string(x.AppendKey(nil))+fmt.Sprint(" ", x.Value))
		}
		return out
	}
	sums := []string{
		`plimsoll_agent_cpu_seconds_total{instance="app-prometheus",role="app"} 100`,
		`plimsoll_agent_cpu_busy_seconds_total{instance="app-prometheus",role="app"} 30`,
	}
	want := append(
		[]string{
			`node_cpu_seconds_total{instance="app-0",job="node",mode="idle",role="app"} 70`,
			`node_cpu_seconds_total{instance="app-0",job="node",mode="user",role="app"} 30`,
			`own_total{exported_role="theirs",instance="app-0",job="node",role="app"} 5`,
		},
		sums...)
	if got := keys(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the first samples:\n%s", strings.Join(got, "\n"))
	}
	s.up = upOf("app-0", 101, 98)
	if got := keys(); strings.Join(got, "\n") != strings.Join(sums, "\n") || s.asked != 1 {
		t.Errorf(
			"without a new scrape, %d questions for metrics:\n%s",
			s.asked,
			strings.Join(got, "\n"),
		)
	}
	s.up = upOf("app-0", 103, 103)
	if got := keys(); len(got) != len(want) {
		t.Errorf("after a scrape:\n%s", strings.Join(got, "\n"))
	}
	if s.auth != "Basic cmVhZGVyOmh1bnRlcjIy" {
		t.Errorf("authorization %q", s.auth)
	}
}

// Every signal that is missing, old or ambiguous is an error, which names it and holds no password.
func TestPrometheusBroken(t *testing.T) {
	up, metric := upOf("app-0", 100, 98), metricOf("node_load1", "app-0", "", "1")
	for name, tt := range map[string]struct {
		up, metrics string
		want        string
	}{
		"down":        {upOf("app-0", 100, -98), metric, "cannot scrape app-0 of the job node (up is 0)"},
		"stale":       {upOf("app-0", 200, 98), metric, "is 1m42s old, want less than 10s"},
		"no target":   {"", metric, `fits no target of the Prometheus server: no series up{instance=~"app-.*"}`},
		"no metric":   {up, "", "has no metric of the role app"},
		"two targets": {up + "," + up, metric, "two series up"},
		"duplicate":   {up, metric + "," + metric, "twice for role app"},
		"no number":   {up, metricOf("node_load1", "app-0", "", "many"), "a value that is no number"},
		"not JSON":    {up, "{", "not that of a Prometheus server"},
		"too many":    {up, strings.Repeat(metric+",", mostAnswered) + metric, "50001 series, want at most 50000"},
		"huge":        {up, strings.Repeat(" ", maxBody) + metric, "larger than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			p := watching(t, &standIn{up: tt.up, metrics: tt.metrics})
			got, err := p.Sample(t.Context(), time.Now())
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "hunter22") ||
				len(got) > 0 {
				t.Errorf("%d samples, error %v", len(got), err)
			}
		})
	}
	// An interval that is known makes the bound narrower, and a target that is gone is missing.
	s := &standIn{up: upOf("app-0", 100, 98) + "," + upOf("app-1", 100, 97), metrics: metric}
	p := watching(t, s)
	sample := func() error {
		_, err := p.Sample(t.Context(), time.Now())
		return err
	}
	failure.None(t, sample())
	s.up = upOf("app-0", 102, 102) + "," + upOf("app-1", 102, 101)
	failure.None(t, sample())
	s.up = upOf("app-0", 120, 102) + "," + upOf("app-1", 120, 120)
	failure.Says(
		t,
		sample(),
		"the last scrape of app-0 of the job node is 18s old, want less than 10s",
	)
	s.up = upOf("app-0", 102, 102)
	failure.Says(
		t,
		sample(),
		"app-1 of the job node is no target of the Prometheus server any more",
	)
}

// A server that answers with an error, or not in time, is an error.
func TestPrometheusUnwilling(t *testing.T) {
	p := watching(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	failure.Says(
		t,
		failure.Of(p.Sample(t.Context(), time.Now())),
		"answer 500 Internal Server Error, want 200",
	)
	release := make(chan struct{})
	slow := watching(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := slow.Sample(ctx, time.Now()); err == nil {
		t.Error("a server that never answers is no error")
	}
	refusing := watching(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"parse error"}`)
	}))
	failure.Says(
		t,
		failure.Of(refusing.Sample(t.Context(), time.Now())),
		`refuses the query: "parse error"`,
	)
	for _, bad := range []string{"ftp://x", "http://x?token=hunter22", "http://:%zz"} {
		failure.Hides(t, failure.Of(NewPrometheus(PrometheusConfig{URL: bad, Names: []string{"x"}})),
			"hunter22")
	}
}

// Scrapes that are so far apart that instant queries see nothing between them are an error, until
// they are closer. A time without calls is no interval.
func TestPrometheusScrapedTooSeldom(t *testing.T) {
	s := &standIn{metrics: metricOf("node_load1", "app-0", "", "1")}
	p := watching(t, s)
	for _, step := range []struct {
		now, at float64
		want    string
	}{
		{100, 99, ""},
		{130, 129, ""}, // nothing was asked in between
		{131, 129, ""}, {133, 129, ""}, {136, 129, ""}, {139, 129, ""}, {141, 141, "app-0 of the job node is scraped every 12s, want 8s at most"},
		{142, 141, "is scraped every 12s"},
		{145, 144, ""},
		{146, 144, ""}, {149, 144, ""}, {151.5, 151.5, ""}, {154, 151.5, ""}, {156, 151.5, ""}, {159, 151.5, ""}, {161, 151.5, ""}, {162, 151.5, "is 11s old, want less than 10s"},
	} {
		s.up = upOf("app-0", step.now, step.at)
		_, err := p.Sample(t.Context(), time.Now())
		failure.Want(t, err, step.want)
	}
}

// The scrape that the first call finds is stored only if it is of now, and so is the first one
// after a time without calls: a counter would grow by a whole interval within the second until the
// next one. The sums of the CPU are there.
func TestPrometheusFirstScrape(t *testing.T) {
	s := &standIn{metrics: metricOf("node_cpu_seconds_total", "app-0", `,"mode":"user"`, "30")}
	p := watching(t, s)
	for _, step := range []struct {
		now, at float64
		samples int
	}{{100, 95, 2}, {101, 95, 2}, {102, 102, 3}, {103, 102, 2}, {200, 195, 2}, {201, 200, 3}, {300, 299, 3}} {
		s.up = upOf("app-0", step.now, step.at)
		if got, err := p.Sample(t.Context(), time.Now()); err != nil || len(got) != step.samples {
			t.Errorf(
				"at %v, %v s after the scrape: %d samples, %v; want %d",
				step.now,
				step.now-step.at,
				len(got),
				err,
				step.samples,
			)
		}
	}
}
