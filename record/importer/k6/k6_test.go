package k6_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/record"
	"plimsoll/record/importer/k6"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The files are of k6 v1.8.1 against a server on the same host: the three shapes of one script.
func TestRead(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"export.json": {
			"throughput": 433.3079232164504,
			"p95":        12.7244152,
			"p99":        14.376426560000002,
			"errors":     0,
			"mean":       11.325802091747352,
			"p50":        11.182394,
		},
		"handle.json": {
			"throughput": 437.8442270715156,
			"p95":        12.12026165,
			"p99":        13.910827420000002,
			"errors":     0,
			"mean":       11.272351714416061,
			"p50":        11.2137925,
		},
		"machine.json": {
			"throughput": 2201 / 5.007365403,
			"p95":        12.088773,
			"errors":     0,
			"mean":       11.237306850976816,
			"p50":        11.181187,
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := read(t, name)
			if !k6.Detect(data) {
				t.Error("not detected")
			}
			got, err := k6.Read(name, data)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if len(got[0].Figures) != len(want) {
				t.Errorf("%d figures, want %d: %+v", len(got[0].Figures), len(want), got[0].Figures)
			}
			for n, v := range want {
				f, ok := got[0].Figure(n)
				if !ok || math.Abs(f.Value-v) > 1e-9*v || f.Aside != (n == "mean" || n == "p50") ||
					f.Ops < 2000 {
					t.Errorf("%s: %+v, want %v", n, f, v)
				}
			}
			if name == "machine.json" &&
				(len(got[0].Warnings) != 1 || !strings.HasSuffix(got[0].Warnings[0], "no p(99): give the file of --summary-export, with it in summaryTrendStats")) {
				t.Errorf("warnings %q", got[0].Warnings)
			}
		})
	}
}

// Failed requests are passes of http_req_failed: the rate counts.
func TestErrorsAndDrops(t *testing.T) {
	for _, text := range []string{
		`{"metrics": {"http_reqs": {"count": 1000, "rate": 100}, "http_req_duration": {"p(95)": 9}, "http_req_failed": {"passes": 25, "fails": 975, "value": 0.025}, "dropped_iterations": {"count": 7, "rate": 1}}}`,
		`{"metrics": {"http_reqs": {"values": {"count": 1000, "rate": 100}}, "http_req_duration": {"type": "trend", "contains": "time", "values": {"p(95)": 9}}, "http_req_failed": {"values": {"passes": 25, "fails": 975, "rate": 0.025}, "thresholds": {"rate<0.01": {"ok": false}}}, "dropped_iterations": {"values": {"count": 7}}}}`,
	} {
		got, err := k6.Read("a.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := got[0].Figure("errors"); f.Value != 2.5 || f.Unit != "%" {
			t.Errorf("errors %+v", f)
		}
		if all := strings.Join(got[0].Warnings, "\n"); !strings.Contains(
			all,
			"dropped 7 iterations",
		) {
			t.Errorf("warnings %q", all)
		}
	}
}

func TestReadProblems(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"nothing":               {`{}`, `it has no "metrics"`},
		"no HTTP":               {`{"metrics": {"iterations": {"count": 3}}}`, "no http_reqs"},
		"half":                  {`{"metrics": {"http_reqs": {"count": 3, "rate": 1}}}`, "it is not whole"},
		"other unit":            {`{"metrics": {"http_reqs": {"values": {"count": 3, "rate": 1}}, "http_req_duration": {"contains": "data", "values": {"p(95)": 2}}}}`, `contains "data", want time`},
		"text":                  {`{"metrics": {"http_reqs": {"count": "3"}}}`, "want a number"},
		"no metric":             {`{"metrics": {"http_reqs": 3}}`, "http_reqs: not a metric"},
		"negative":              {`{"metrics": {"http_reqs": {"count": 3, "rate": -1}, "http_req_duration": {"p(95)": 2}}}`, "cannot be negative"},
		"null in the new shape": {`{"results": {"metrics": [{"name": "http_reqs", "values": {"count": 1000}}, {"name": "http_req_duration", "contains": "time", "values": {"p95": 9}}, {"name": "http_req_failed", "values": {"rate": null}}]}, "config": {"duration": 5}}`, "http_req_failed: rate is null"},
		"values null":           {`{"metrics": {"http_reqs": {"values": null}}}`, "http_reqs is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := k6.Read("a.json", []byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// FuzzRead checks that accepted input passes the check of its numbers.
func FuzzRead(f *testing.F) {
	f.Add(
		[]byte(
			`{"metrics": {"http_reqs": {"count": 3, "rate": 1}, "http_req_duration": {"p(95)": 2}}}`,
		),
	)
	f.Add(
		[]byte(
			`{"results": {"metrics": [{"name": "http_reqs", "values": {"count": 3}}, {"name": "http_req_duration", "contains": "time", "values": {"p95": 2}}]}, "config": {"duration": 5}}`,
		),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := k6.Read("a.json", data)
		if err != nil {
			return
		}
		for _, g := range got {
			if err := g.Check(); err != nil || g.Tool != k6.Tool || g.Arm != "" {
				t.Fatalf("%+v: %v", g, err)
			}
			for _, fig := range g.Figures {
				if fig.Unit == "" || fig == (record.Figure{}) {
					t.Fatalf("%+v has no unit", fig)
				}
			}
		}
	})
}
