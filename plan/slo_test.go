package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

func TestParseSLO(t *testing.T) {
	tests := []struct {
		in   string
		want plan.SLO
	}{
		{"p99(post) < 300ms for 30s", plan.SLO{
			Source:    "p99(post) < 300ms for 30s",
			Stat:      "p99",
			Arg:       "post",
			Less:      true,
			Threshold: 0.3,
			Unit:      "s",
			For:       30 * time.Second,
		}},
		{" P99.90( op )<0.25s ", rule("p99.9(op) < 250ms", "p99.9", "op", 0.25, "s", 0)},
		{"rate( failed_checks ) < 1%", rule("rate(failed_checks) < 1% min 200", "rate", "failed_checks", 0.01, "fraction", 200)},
		{"p95(GET /api/{id}) < 1s", rule("p95(GET /api/{id}) < 1s", "p95", "GET /api/{id}", 1, "s", 0)},
		{"mean(op) < 100ms", rule("mean(op) < 100ms", "mean", "op", 0.1, "s", 0)},
		{"max(login) < 1m30s", rule("max(login) < 1m30s", "max", "login", 90, "s", 0)},
		{"service.p99(op) < 2s", plan.SLO{
			Source:    "service.p99(op) < 2s",
			Service:   true,
			Stat:      "p99",
			Arg:       "op",
			Less:      true,
			Threshold: 2,
			Unit:      "s",
		}},
		{"p95(delivery) < 500ms", rule("p95(delivery) < 500ms", "p95", "delivery", 0.5, "s", 0)},
		{"rate(5xx) < 0.025% min 8000", rule("rate(5xx) < 0.025% min 8000", "rate", "5xx", 0.00025, "fraction", 8000)},
		{"rate(timeout) < 0.025%", rule("rate(timeout) < 0.025% min 8000", "rate", "timeout", 0.00025, "fraction", 8000)},
		{"rate(errors) < 3%", rule("rate(errors) < 3% min 67", "rate", "errors", 0.03, "fraction", 67)},
		{"rate(disconnected) < 1%", rule("rate(disconnected) < 1% min 200", "rate", "disconnected", 0.01, "fraction", 200)},
		{"rate(4xx) < 1% min 50 for 1m", plan.SLO{
			Source:    "rate(4xx) < 1% for 1m min 50",
			Stat:      "rate",
			Arg:       "4xx",
			Less:      true,
			Threshold: 0.01,
			Unit:      "fraction",
			For:       time.Minute,
			Min:       50,
		}},
		{"cpu(app) < 85%", rule("cpu(app) < 85%", "cpu", "app", 0.85, "fraction", 0)},
		{"promql: sum(rate(x[1m])) / 2 < 0.5", plan.SLO{
			Source:    "promql: sum(rate(x[1m])) / 2 < 0.5",
			Stat:      "promql",
			Arg:       "sum(rate(x[1m])) / 2",
			Less:      true,
			Threshold: 0.5,
		}},
		{"p99(op) < 2s min 459 over 1m grace 2m warning", plan.SLO{
			Source:    "p99(op) < 2s over 1m min 459 grace 2m warning",
			Stat:      "p99",
			Arg:       "op",
			Less:      true,
			Threshold: 2,
			Unit:      "s",
			Over:      time.Minute,
			Min:       459,
			Grace:     2 * time.Minute,
			Warning:   true,
		}},
		{"promql: x[$window] < 1 grace 30s  warning", plan.SLO{
			Source:    "promql: x[$window] < 1 grace 30s warning",
			Stat:      "promql",
			Arg:       "x[$window]",
			Less:      true,
			Threshold: 1,
			Grace:     30 * time.Second,
			Warning:   true,
		}},
		{"promql: a < 1 and b > -1e3 for 30s", plan.SLO{
			Source:    "promql: a < 1 and b > -1000 for 30s",
			Stat:      "promql",
			Arg:       "a < 1 and b",
			Threshold: -1000,
			For:       30 * time.Second,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := plan.ParseSLO(tt.in)
			failure.None(t, err)
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
