package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/plan"
)

func TestParseSLO(t *testing.T) {
	tests := []struct {
		in   string
		want plan.SLO
	}{
		{"p99(post) < 300ms for 30s", plan.SLO{Source: "p99(post) < 300ms for 30s", Stat: "p99", Arg: "post", Less: true, Threshold: 0.3, Unit: "s", For: 30 * time.Second}},
		{" P99.90( op )<0.25s ", plan.SLO{Source: "p99.9(op) < 250ms", Stat: "p99.9", Arg: "op", Less: true, Threshold: 0.25, Unit: "s"}},
		{"mean(op) < 100ms", plan.SLO{Source: "mean(op) < 100ms", Stat: "mean", Arg: "op", Less: true, Threshold: 0.1, Unit: "s"}},
		{"max(login) < 1m30s", plan.SLO{Source: "max(login) < 1m30s", Stat: "max", Arg: "login", Less: true, Threshold: 90, Unit: "s"}},
		{"service.p99(op) < 2s", plan.SLO{Source: "service.p99(op) < 2s", Service: true, Stat: "p99", Arg: "op", Less: true, Threshold: 2, Unit: "s"}},
		{"p95(delivery) < 500ms", plan.SLO{Source: "p95(delivery) < 500ms", Stat: "p95", Arg: "delivery", Less: true, Threshold: 0.5, Unit: "s"}},
		{"rate(5xx) < 0.025% min 8000", plan.SLO{Source: "rate(5xx) < 0.025% min 8000", Stat: "rate", Arg: "5xx", Less: true, Threshold: 0.00025, Unit: "fraction", Min: 8000}},
		{"rate(timeout) < 0.025%", plan.SLO{Source: "rate(timeout) < 0.025% min 8000", Stat: "rate", Arg: "timeout", Less: true, Threshold: 0.00025, Unit: "fraction", Min: 8000}},
		{"rate(errors) < 3%", plan.SLO{Source: "rate(errors) < 3% min 67", Stat: "rate", Arg: "errors", Less: true, Threshold: 0.03, Unit: "fraction", Min: 67}},
		{"rate(disconnected) < 1%", plan.SLO{Source: "rate(disconnected) < 1% min 200", Stat: "rate", Arg: "disconnected", Less: true, Threshold: 0.01, Unit: "fraction", Min: 200}},
		{"rate(4xx) < 1% min 50 for 1m", plan.SLO{Source: "rate(4xx) < 1% for 1m min 50", Stat: "rate", Arg: "4xx", Less: true, Threshold: 0.01, Unit: "fraction", For: time.Minute, Min: 50}},
		{"cpu(app) < 85%", plan.SLO{Source: "cpu(app) < 85%", Stat: "cpu", Arg: "app", Less: true, Threshold: 0.85, Unit: "fraction"}},
		{"promql: sum(rate(x[1m])) / 2 < 0.5", plan.SLO{Source: "promql: sum(rate(x[1m])) / 2 < 0.5", Stat: "promql", Arg: "sum(rate(x[1m])) / 2", Less: true, Threshold: 0.5}},
		{"p99(op) < 2s min 459 over 1m grace 2m warning", plan.SLO{Source: "p99(op) < 2s over 1m min 459 grace 2m warning", Stat: "p99", Arg: "op", Less: true, Threshold: 2, Unit: "s", Over: time.Minute, Min: 459, Grace: 2 * time.Minute, Warning: true}},
		{"promql: x[$window] < 1 grace 30s  warning", plan.SLO{Source: "promql: x[$window] < 1 grace 30s warning", Stat: "promql", Arg: "x[$window]", Less: true, Threshold: 1, Grace: 30 * time.Second, Warning: true}},
		{"promql: a < 1 and b > -1e3 for 30s", plan.SLO{Source: "promql: a < 1 and b > -1000 for 30s", Stat: "promql", Arg: "a < 1 and b", Threshold: -1000, For: 30 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := plan.ParseSLO(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseSLO (-want +got):\n%s", diff)
			}
			again, err := plan.ParseSLO(got.String())
			if err != nil || again != got {
				t.Errorf("%q is read as %+v, %v; want %+v", got.String(), again, err, got)
			}
		})
	}
}

func TestParseSLOErrors(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", `"" is not a rule; want STAT(op|role) < VALUE`},
		{"p99 < 2s", "is not a rule"},
		{"p99(op) 2s", "is not a rule"},
		{"p99(op) < ", "has no value"},
		{"p99(op) <= 2s", "p99(op) <=: the only comparison is <"},
		{"p99(op) > 2s", "the only comparison is <"},
		{"p99() < 2s", "p99() names nothing"},
		{"p99(a b) < 2s", "names nothing"},
		{"p9(op) < 2s", `"p9" is not a statistic; did you mean "p90"?`},
		{"p99.99(op) < 2s", "out of range; want p50 to p99.9"},
		{"p49(op) < 2s", "out of range"},
		{"maen(op) < 2s", `"maen" is not a statistic; did you mean "mean"?`},
		{"p99(op) < 2", `"2" has no unit; write 2s for seconds`},
		{"p99(op) < 2%", "is a percentage; want a time"},
		{"p99(op) < 0s", "is not a possible latency"},
		{"p99(op) < 2h", "is not a possible latency"},
		{"p99(op) < 2s warning warning", `"warning" is there twice`},
		{"p99(op) < 2s over 0s", "over 0s means nothing"},
		{"p99(op) < 2s grace x", "grace:"},
		{"p99(op) < 2s for", `"for" has no value`},
		{"p99(op) < 2s for 0s", "means nothing"},
		{"p99(op) < 2s for 5", "for: \"5\" has no unit"},
		{"p99(op) < 2s for 5s for 5s", `"for" is there twice`},
		{"p99(op) < 2s during 5s", "is not understood; want only [for D] [over D]"},
		{"service.rate(5xx) < 1%", "service.rate has no meaning"},
		{"service.cpu(app) < 1%", "service.cpu has no meaning"},
		{"rate(5x) < 1%", `"5x" is not an error class; did you mean "5xx"?`},
		{"rate(op) < 1%", `"op" is not an error class`},
		{"rate(5xx) < 0.01", `"0.01" has no unit; write 0.01%, or 1% if a fraction is meant`},
		{"rate(5xx) < 0%", "can never decide anything"},
		{"rate(5xx) < 1s", "is not a percentage"},
		{"rate(5xx) < 1% min 0", "a rule needs operations"},
		{"rate(5xx) < 1% min x", `min: "x" is not a whole number`},
		{"cpu(app) < 101%", "can never decide anything"},
		{"cpu(app) < 85", "has no unit"},
		{"cpu(app) < 85% min 5", "min counts operations"},
		{"promql:", "does not end in a comparison with a number"},
		{"promql: < 0.5", "does not end in a comparison with a number"},
		{"promql: x <= 0.5", "does not end in a comparison with a number"},
		{"promql: x < 1e999", "is not a number"},
		{"promql: x < 5 min 3", "does not end in a comparison with a number"},
		{"p99(op)\n< 2s", "line break"},
		{"promql: " + strings.Repeat("x", 1000) + " < 1", "longer than 1000 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := plan.ParseSLO(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %+v, %v; want error with %q", got, err, tt.want)
			}
			if got != (plan.SLO{}) {
				t.Errorf("a rule beside the error: %+v", got)
			}
			if !strings.Contains(err.Error(), ";") {
				t.Errorf("no remedy in %q", err)
			}
		})
	}
}

func FuzzParseSLO(f *testing.F) {
	for _, s := range []string{
		"p99(post) < 300ms for 30s", "service.p99.9(op)<1h", "rate(5xx) < 0.025% min 8000", "cpu(app) < 85%",
		"promql: sum(rate(x[1m])) > -1e-3 for 5m grace 1m warning", "mean(op) < 1s over 5m min 3 warning", "max(a.b-c) < 1ns",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := plan.ParseSLO(in)
		if err != nil {
			return
		}
		again, err := plan.ParseSLO(r.String())
		if err != nil || again != r {
			t.Fatalf("%q: %+v became %+v, %v", in, r, again, err)
		}
	})
}
