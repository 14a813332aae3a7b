package promapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"plimsoll/internal/boundary"
	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

var t0 = time.Unix(1_700_000_000, 0)

// stored makes a sealed run of a minute: requests_total{role} counts 10 and 20 a second, odd has no
// usual values.
func stored(t *testing.T) *series.DB {
	t.Helper()
	dir := t.TempDir() + "/series"
	db, err := series.Create(dir)
	failure.None(t, err)
	for i := range 60 {
		batch := []series.Sample{
			{
				Name:   "requests_total",
				Labels: []series.Label{{Name: "role", Value: "app"}},
				Value:  float64(10 * i),
			},
			{
				Name:   "requests_total",
				Labels: []series.Label{{Name: "role", Value: "db"}},
				Value:  float64(20 * i),
			},
			{Name: "odd", Labels: []series.Label{{Name: "v", Value: "nan"}}, Value: math.NaN()},
			{Name: "odd", Labels: []series.Label{{Name: "v", Value: "inf"}}, Value: math.Inf(1)},
			{
				Name:   "odd",
				Labels: []series.Label{{Name: "v", Value: "small \"quoted\""}},
				Value:  -2.5e-9,
			},
		}
		failure.None(t, db.Append(t0.Add(time.Duration(i)*time.Second+5*time.Millisecond), batch))
	}
	failure.None(t, db.Close())
	if db, err = series.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func serve(t *testing.T, c Config) string {
	t.Helper()
	srv := httptest.NewServer(Handler(c))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestPrometheusClient queries with the client of the Prometheus project.
func TestPrometheusClient(t *testing.T) {
	known := []Metadata{{Name: "odd", Type: "gauge", Help: "What is odd.", Unit: "oddities"}}
	addr := serve(t, Config{Source: of(stored(t)), Version: "1.2.3", Known: known})
	client, err := api.NewClient(api.Config{Address: addr})
	failure.None(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := v1.NewAPI(client)

	v, warn, infos, err := c.Query(
		ctx,
		`sum by (role) (rate(requests_total[10s]))`,
		t0.Add(30*time.Second),
	)
	if err != nil || len(warn)+len(infos) > 0 {
		t.Fatal(err, warn, infos)
	}
	if got, want := v.String(), "{role=\"app\"} => 10 @[1700000030]\n{role=\"db\"} => 20 @[1700000030]"; got != want {
		t.Errorf("query: got\n%s\nwant\n%s", got, want)
	}
	if v, _, _, err = c.Query(ctx, `requests_total{role="db"}[3s]`, t0.Add(10*time.Second)); err != nil {
		t.Error(err)
	} else if got, want := v.String(), "requests_total{role=\"db\"} =>\n140 @[1700000007.005]\n160 @[1700000008.005]\n180 @[1700000009.005]"; got != want {
		t.Errorf("a range: got\n%s\nwant\n%s", got, want)
	}
	if v, _, _, err = c.Query(ctx, `odd`, t0.Add(30*time.Second)); err != nil {
		t.Error(err)
	} else if got, want := v.String(), `odd{v="inf"} => +Inf @[1700000030]
odd{v="nan"} => NaN @[1700000030]
odd{v="small \"quoted\""} => -0.0000000025 @[1700000030]`; got != want {
		t.Errorf("odd values: got\n%s\nwant\n%s", got, want)
	}
	v, _, _, err = c.QueryRange(ctx, `requests_total`, v1.Range{
		Start: t0.Add(10 * time.Second),
		End:   t0.Add(20 * time.Second),
		Step:  5 * time.Second,
	}, v1.WithTimeout(time.Second))
	failure.None(t, err)
	if got, want := v.String(), `requests_total{role="app"} =>
90 @[1700000010]
140 @[1700000015]
190 @[1700000020]
requests_total{role="db"} =>
180 @[1700000010]
280 @[1700000015]
380 @[1700000020]`; got != want {
		t.Errorf("query_range: got\n%s\nwant\n%s", got, want)
	}
	names, _, _, err := c.LabelNames(ctx, nil, time.Time{}, time.Time{})
	if err != nil || fmt.Sprint(names) != "__name__, role, v" {
		t.Errorf("labels: %v, %v", names, err)
	}
	names, _, _, err = c.LabelNames(ctx, []string{"requests_total"}, t0, t0.Add(time.Minute))
	if err != nil || fmt.Sprint(names) != "__name__, role" {
		t.Errorf("labels of requests_total: %v, %v", names, err)
	}
	values, _, _, err := c.LabelValues(
		ctx,
		"role",
		[]string{`requests_total{role=~"d.*"}`, `requests_total{role="app"}`},
		time.Unix(math.MinInt64/1000+62135596801, 0),
		time.Unix(math.MaxInt64/1000-62135596801, 0),
	)
	if err != nil || fmt.Sprint(values) != "[app db]" {
		t.Errorf("values of role: %v, %v", values, err)
	}
	sets, _, _, err := c.Series(
		ctx,
		[]string{`{role!=""}`, `odd{v="inf"}`},
		t0,
		t0.Add(time.Minute),
	)
	if err != nil ||
		fmt.Sprint(sets) != `[{__name__="odd", v="inf"} {__name__="requests_total", role="app"} {__name__="requests_total", role="db"}]` {
		t.Errorf("series: %v, %v", sets, err)
	}
	if _, warn, _, err = c.Series(ctx, []string{`{__name__!=""}`}, t0, t0.Add(time.Minute), v1.WithLimit(2)); err != nil ||
		len(warn) != 1 {
		t.Errorf("series with a limit: warnings %v, %v", warn, err)
	}
	if sets, _, _, err = c.Series(ctx, []string{`requests_total`}, t0.Add(-2*time.Hour), t0.Add(-time.Hour)); err != nil ||
		len(sets) > 0 {
		t.Errorf("series of another hour: %v, %v", sets, err)
	}
	meta, err := c.Metadata(ctx, "", "")
	if err != nil || meta["odd"][0].Help != "What is odd." ||
		meta["requests_total"][0].Type != v1.MetricTypeCounter {
		t.Errorf("metadata: %v, %v", meta, err)
	}
	build, err := c.Buildinfo(ctx)
	if err != nil || build.Version != promVersion || build.Revision != "1.2.3" {
		t.Errorf("buildinfo: %+v, %v", build, err)
	}
	if rules, err := c.Rules(ctx, nil); err != nil || len(rules.Groups) != 0 {
		t.Errorf("rules: %v, %v", rules, err)
	}
	if ex, err := c.QueryExemplars(ctx, "odd", t0, t0.Add(time.Minute)); err != nil ||
		len(ex) != 0 {
		t.Errorf("exemplars: %v, %v", ex, err)
	}
	var bad *v1.Error
	if _, _, _, err = c.Query(ctx, `rate(`, t0); !asError(err, &bad) || bad.Type != v1.ErrBadData {
		t.Errorf("a broken query: %v", err)
	}
}

func asError(err error, to **v1.Error) bool {
	e, ok := err.(*v1.Error) //nolint:errorlint // the client returns it bare
	*to = e
	return ok
}

// TestAnswers holds single answers to the documented form.
func TestAnswers(t *testing.T) {
	addr := serve(t, Config{Source: of(stored(t)), Hosts: boundary.Loopback})
	for _, c := range []struct {
		name, path string
		status     int
		want       string // of the answer, or its beginning
	}{
		{"now is the last sample", "query?query=requests_total{role='db'}", 200,
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"requests_total","role":"db"},"value":[1700000059.005,"1180"]}]}}`},
		{"scalar", "query?query=1e30&time=1700000000.5", 200, `{"status":"success","data":{"resultType":"scalar","result":[1700000000.500,"1e+30"]}}`},
		{"string", "query?query=%22a%22&time=-1.25", 200, `{"status":"success","data":{"resultType":"string","result":[-1.250,"a"]}}`},
		{"time by RFC 3339", "query?query=1&time=2023-11-14T22:13:20Z", 200, `{"status":"success","data":{"resultType":"scalar","result":[1700000000,"1"]}}`},
		{"nothing", "query?query=gone", 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`},
		{"limit", "query?query=odd&limit=1", 200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"odd","v":"inf"},"value":[1700000059.005,"+Inf"]}]},"warnings":["results truncated due to limit"]}`},
		{"an info", "query?query=rate(odd[10s])", 200, `{"status":"success","data":`},
		{"an escaped label", "label/U__r_6F_le/values", 200, `{"status":"success","data":["app","db"]}`},
		{"no escaped label", "label/U__r_6F/values", 200, `{"status":"success","data":[]}`},
		{"no labels there", "label/none/values", 200, `{"status":"success","data":[]}`},
		{"no query", "query", 400, `{"error":"invalid parameter \"query\": `},
		{"no number", "query?query=1&time=x", 400, `{"error":"invalid parameter \"time\": cannot parse \"x\" to a valid timestamp","errorType":"bad_data","status":"error"}`},
		{"time is NaN", "query?query=1&time=NaN", 400, `{"error":"invalid parameter \"time\"`},
		{"no start", "query_range?query=1&end=5&step=1", 400, `{"error":"invalid parameter \"start\": it is missing"`},
		{"step 0", "query_range?query=1&start=0&end=5&step=0", 400, `{"error":"invalid parameter \"step\"`},
		{"end before start", "query_range?query=1&start=6&end=5&step=1", 400, `{"error":"invalid parameter \"end\"`},
		{"many points", "query_range?query=1&start=0&end=20000&step=1", 400, `{"error":"exceeded maximum resolution of 11000 points`},
		{"all time", "query_range?query=1&start=-9999999999999&end=9999999999999&step=1ms", 400, `{"error":"exceeded maximum`},
		{"most points", "query_range?query=up&start=0&end=11000&step=1", 200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`},
		{"a range as a range", "query_range?query=odd[5s]&start=0&end=5&step=1", 400, `{"error":"invalid parameter \"query\"`},
		{"two series for one", "query?query=requests_total%2Bon()requests_total", 422, `{"error":"query`},
		{"timeout", "query?query=1&timeout=0.000000001", 503, `{"error":`},
		{"bad timeout", "query?query=1&timeout=soon", 400, `{"error":"invalid parameter \"timeout\"`},
		{"no matcher", "series", 400, `{"error":"no match[] parameter provided"`},
		{"any series", "series?match[]={a=''}", 400, `{"error":`},
		{"broken matcher", "labels?match[]={", 400, `{"error":"invalid parameter \"match[]\"`},
		{"bad limit", "labels?limit=-1", 400, `{"error":"invalid parameter \"limit\"`},
		{"not here", "admin/tsdb/snapshot", 404, `{"error":"GET /api/v1/admin/tsdb/snapshot is not answered here`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, got := get(t, addr+"/api/v1/"+c.path)
			if status != c.status || !strings.HasPrefix(got, c.want) {
				t.Errorf("status %d, want %d; got\n%s\nwant\n%s", status, c.status, got, c.want)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
	if _, got := get(t, addr+"/api/v1/query?query=rate(odd[10s])"); !strings.Contains(
		got,
		`"infos":["PromQL info: metric might not be a counter`,
	) {
		t.Errorf("no info in %s", got)
	}
	if status, got := get(t, addr+"/-/healthy"); status != 200 || got != "Plimsoll is healthy.\n" {
		t.Errorf("%d %q", status, got)
	}
	res, err := http.PostForm(addr+"/api/v1/query", url.Values{"query": {"1"}, "time": {"7"}})
	failure.None(t, err)
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); !strings.Contains(string(b), `[7,"1"]`) {
		t.Errorf("POST: %s", b)
	}
	if res, err := http.PostForm(addr+"/api/v1/query", url.Values{"query": {strings.Repeat("1", maxForm)}}); err != nil ||
		res.StatusCode != 400 {
		t.Errorf("a form that is too long: %v, %v", res, err)
	}
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	res, err := http.Get(address)
	failure.None(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	failure.None(t, err)
	return res.StatusCode, string(b)
}

// TestNoRun checks the answers to a client between two runs, and when a run ends.
func TestNoRun(t *testing.T) {
	db := stored(t)
	addr := serve(t, Config{Source: func() (*series.DB, func(), error) {
		return nil, nil, ErrNoRun
	}})
	if status, got := get(t, addr+"/api/v1/labels"); status != 503 ||
		!strings.Contains(got, "no run is under way") {
		t.Errorf("%d %s", status, got)
	}
	if status, _ := get(t, addr+"/-/healthy"); status != 200 {
		t.Errorf("not healthy: %d", status)
	}
	failure.None(t, db.Close())
	if status, got := get(t, serve(t, Config{Source: of(db)})+"/api/v1/labels"); status != 503 {
		t.Errorf("%d %s", status, got)
	}
}

// of returns the Source of one run that stays open.
func of(db *series.DB) Source {
	return func() (*series.DB, func(), error) { return db, func() {}, nil }
}
