package series

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/internal/race"
)

func TestRejectedBatches(t *testing.T) {
	x := func(v float64) Sample { return sampleOf("x", v, "a", "1", "b", "2") }
	turned := sampleOf("x", 1, "b", "2", "a", "1", "c", "")
	y := Sample{Name: "y", Value: 5}
	for name, c := range map[string]struct {
		at    int
		batch []Sample
		want  RejectedError
	}{
		"same time": {10, []Sample{y, x(1)}, RejectedError{
			OutOfOrder: 1,
			Of:         2,
			First:      `{__name__="x", a="1", b="2"}`,
		}},
		"same time, new value": {10, []Sample{x(2), y}, RejectedError{
			OutOfOrder: 1,
			Of:         2,
			First:      `{__name__="x", a="1", b="2"}`,
		}},
		"earlier": {9, []Sample{x(1), y}, RejectedError{
			OutOfOrder: 1,
			Of:         2,
			First:      `{__name__="x", a="1", b="2"}`,
		}},
		"earlier, turned": {9, []Sample{turned, y}, RejectedError{
			OutOfOrder: 1,
			Of:         2,
			First:      `{__name__="x", a="1", b="2"}`,
		}},
		"twice": {11, []Sample{y, x(1), x(1)}, RejectedError{
			Duplicate: 1,
			Of:        3,
			First:     `{__name__="x", a="1", b="2"}`,
		}},
		"twice, turned": {11, []Sample{y, x(1), turned}, RejectedError{
			Duplicate: 1,
			Of:        3,
			First:     `{__name__="x", a="1", b="2"}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			db := create(t)
			failure.None(t, db.Append(at(10), []Sample{x(1)}))
			before := state(t, db)
			err := db.Append(at(c.at), c.batch)
			var got *RejectedError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a RejectedError", err)
			}
			if d := cmp.Diff(c.want, *got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(before, state(t, db)); d != "" {
				t.Errorf("a rejected batch was stored in part:\n%s", d)
			}
			failure.None(t, db.Append(at(12), []Sample{x(3), y}))
		})
	}
}

func TestBadSamples(t *testing.T) {
	db := create(t)
	for name, s := range map[string]Sample{
		"no name":            {Value: 1},
		"label without name": sampleOf("x", 0, "", "v"),
		"label twice":        sampleOf("x", 0, "a", "1", "a", "2"),
		"name as label":      sampleOf("x", 0, "__name__", "y"),
		"bytes in a value":   sampleOf("x", 0, "a", "\xff"),
		"bytes in a name":    {Name: "x\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			failure.Says(t, db.Append(at(1), []Sample{{Name: "good"}, s}), "sample 1")
		})
	}
	if got := state(t, db); len(got) > 0 {
		t.Errorf("stored in part: %v", got)
	}
}

func TestAppendText(t *testing.T) {
	const om = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	for name, c := range map[string]struct {
		text, kind string
		extra      map[string]string
		want       map[string]float64
		err        string
	}{
		"plain":                      {"x 1\n", "", nil, map[string]float64{`x`: 1}, ""},
		"no last line feed":          {"x 1", "text/plain", nil, map[string]float64{`x`: 1}, ""},
		"own timestamps are ignored": {"x{a=\"b\"} 1 12345\n", "text/plain", nil, map[string]float64{`x{a="b"}`: 1}, ""},
		"extra labels": {"x{a=\"b\"} 1\n", "", map[string]string{"instance": "i", "a": "c"},
			map[string]float64{`x{a="c",exported_a="b",instance="i"}`: 1}, ""},
		"openmetrics": {"# TYPE x counter\nx_total 3.0 # {trace=\"1\"} 1.0\n# EOF\n", om, nil, map[string]float64{`x_total`: 3}, ""},
		"summary": {"# TYPE x summary\nx{quantile=\"0.5\"} 2\nx_sum 4\nx_count 2\n", "", nil,
			map[string]float64{`x{quantile="0.5"}`: 2, `x_sum`: 4, `x_count`: 2}, ""},
		"le is normalized": {"# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"+Inf\"} 2\nx_sum 1\nx_count 2\n", "", nil,
			map[string]float64{
				`x_bucket{le="1.0"}`:  2,
				`x_bucket{le="+Inf"}`: 2,
				`x_sum`:               1,
				`x_count`:             2,
			}, ""},
		"special values": {"a +Inf\nb -Inf\nc 1e-3\n", "", nil, map[string]float64{
			`c`:          0.001,
			`a > 1e300`:  0,
			`b < -1e300`: 0,
		}, ""},
		"nothing":                 {"", "", nil, nil, ""},
		"comments only":           {"# nothing here\n\n", "", nil, nil, ""},
		"a mistake in the last":   {"x 1\ny 2\nz nope\n", "", nil, nil, "sample 3"},
		"an HTML page":            {"<html><body>Just a moment</body></html>", "text/html", nil, nil, `content type "text/html"`},
		"an HTML page as text":    {"<html><body>Just a moment</body></html>", "text/plain", nil, nil, "expected a valid start token"},
		"protobuf":                {"x", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily", nil, nil, "neither"},
		"broken content type":     {"x 1\n", "text/plain; =", nil, nil, "content type"},
		"openmetrics without end": {"# TYPE x counter\nx_total 3.0\n", om, nil, nil, "EOF"},
		"series twice": {"x{a=\"1\",b=\"2\"} 1\nx{b=\"2\",a=\"1\"} 3\ny 2\n", "", nil,
			map[string]float64{`x{a="1",b="2"}`: 1, `y`: 2}, ""},
		"label twice":              {"x{a=\"1\",a=\"2\"} 1\n", "", nil, nil, "occurs twice"},
		"extra renames the metric": {"x 1\n", "", map[string]string{"__name__": "y"}, nil, "would rename"},
	} {
		t.Run(name, func(t *testing.T) {
			db := create(t)
			n, err := db.AppendText(at(1), []byte(c.text), c.kind, c.extra)
			if c.err != "" {
				failure.Says(t, err, c.err)
				if got := state(t, db); len(got) > 0 {
					t.Errorf("stored in part: %v", got)
				}
				return
			}
			failure.None(t, err)
			if n != len(c.want) {
				t.Errorf("stored %d, want %d", n, len(c.want))
			}
			for expr, want := range c.want {
				if strings.Contains(expr, "> ") || strings.Contains(expr, "< ") {
					if res, err := db.Query(t.Context(), expr, at(1)); err != nil || len(res) != 1 {
						t.Errorf("%s: %v, %v", expr, res, err)
					}
					continue
				}
				if got := one(t, db, expr, at(1)); got != want {
					t.Errorf("%s = %v, want %v", expr, got, want)
				}
			}
		})
	}
}

// The same text from two endpoints, and the same series by both ways, must not be mixed up.
func TestCachesKeepApart(t *testing.T) {
	db := create(t)
	for s := range 3 {
		for i, inst := range []string{"a", "b"} {
			failure.None(t, failure.Of(db.AppendText(
				at(s),
				[]byte(fmt.Sprintf("x %d\n", 10*i+s)),
				"",
				map[string]string{"instance": inst},
			)))
		}
	}
	for expr, want := range map[string]float64{`x{instance="a"}`: 2, `x{instance="b"}`: 12} {
		if got := one(t, db, expr, at(2)); got != want {
			t.Errorf("%s = %v, want %v", expr, got, want)
		}
	}
	err := db.Append(at(2), []Sample{sampleOf("x", 2, "instance", "a")})
	if _, ok := errors.AsType[*RejectedError](err); !ok {
		t.Errorf("the same series by the other way at the same time: %v", err)
	}
}

func TestCallersBodyIsNotTouched(t *testing.T) {
	db := create(t)
	buf := []byte("x 1\nREST")
	failure.None(t, failure.Of(db.AppendText(at(1), buf[:4], "", nil)))
	if string(buf) != "x 1\nREST" {
		t.Errorf("the caller's memory reads %q", buf)
	}
}

// exposition is n series of a target's size and look.
func exposition(n int) []byte {
	var b strings.Builder
	b.WriteString("# HELP api_time Time.\n# TYPE api_time histogram\n")
	for i := range n {
		fmt.Fprintf(
			&b,
			"api_time_bucket{handler=\"handler%d\",method=\"GET\",origin_client=\"web\",status_code=\"200\",le=\"%d\"} %d\n",
			i/10,
			i%10,
			i*7,
		)
	}
	return []byte(b.String())
}

// The per-second append runs on the generator's core. Its budget: 0.1 allocations per sample (for
// tsdb's chunks), for each way of appending.
func TestAppendBudget(t *testing.T) {
	race.SkipBudget(t)
	const n = 3000
	db := create(t)
	body := exposition(n)
	extra := map[string]string{"instance": "app-0:8067", "role": "app"}
	batch := make([]Sample, n)
	for i := range batch {
		batch[i] = sampleOf("node_x", 0, "i", fmt.Sprint(i), "device", "eth0")
	}
	s := 0
	step := func() {
		s++
		if got, err := db.AppendText(at(s), body, "", extra); err != nil || got != n {
			t.Fatalf("%d, %v", got, err)
		}
		failure.None(t, db.Append(at(s), batch))
	}
	step()
	if got := testing.AllocsPerRun(100, step) / (2 * n); got > 0.1 {
		t.Errorf("%.3f allocations per sample, want at most 0.1", got)
	}
}

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"x 1\n", "x{a=\"b\"} 1 5\ny NaN\n", "# TYPE x histogram\nx_bucket{le=\"1\"} 1\n", "{\"q.r\",a=\"b\"} 1\n", "x{a=\"\\\"\"} 1e9\n", "x 1\nx 2\n", "x{__name__=\"y\"} 1\n"} {
		f.Add(s, false)
		f.Add(s+"# EOF\n", true)
	}
	db, err := Create(f.TempDir() + "/series")
	failure.None(f, err)
	f.Cleanup(func() { db.Close() })
	n := 0
	f.Fuzz(func(t *testing.T, text string, om bool) {
		n++ // inputs are further apart than Lookback, so a query counts only this input
		now := at(2 * n * int(Lookback.Seconds()))
		kind := "text/plain"
		if om {
			kind = "application/openmetrics-text; version=1.0.0"
		}
		stored, err := db.AppendText(now, []byte(text), kind, map[string]string{"instance": "i"})
		res, qerr := db.Query(t.Context(), `count({instance="i"})`, now)
		failure.None(t, qerr)
		got := 0
		if len(res) > 0 {
			got = int(res[0].Value)
		}
		if err != nil && stored != 0 || got != stored {
			t.Fatalf("AppendText said %d, %v; the directory has %d", stored, err, got)
		}
	})
}

func BenchmarkAppendText3000(b *testing.B) {
	db := create(b)
	body := exposition(3000)
	extra := map[string]string{"instance": "app-0:8067"}
	b.ReportAllocs()
	for s := 0; b.Loop(); s++ {
		failure.None(b, failure.Of(db.AppendText(at(s), body, "", extra)))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3000, "ns/sample")
}
