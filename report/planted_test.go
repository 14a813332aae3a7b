package report

import (
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

func TestPlanted(t *testing.T) {
	cost := func(kind verdict.Kind, effect float64) verdict.Result {
		return verdict.Result{
			Endpoint: plan.Endpoint{Name: leading, Better: plan.Lower, Margin: 0.05, Unit: "ms"},
			Kind:     kind,
			N:        6,
			Alpha:    0.05,
			Effect:   effect,
			Lo:       effect - 0.02,
			Hi:       effect + 0.02,
			Lo90:     effect - 0.01,
			Hi90:     effect + 0.01,
		}
	}
	late := cost(verdict.Worse, 0.41)
	late.Name = "p95(post)"
	of := func(name string, kind verdict.Kind, results ...verdict.Result) NamedVerdict {
		return NamedVerdict{Name: name, Verdict: verdict.Verdict{Kind: kind, Results: results}}
	}
	worse := of("PostgreSQL", verdict.Worse, late, cost(verdict.Worse, 0.25))
	open := of("MariaDB", verdict.Inconclusive, cost(verdict.Inconclusive, 0.01))
	for _, tt := range []struct {
		name, fault string
		verdicts    []NamedVerdict
		judged      int
		want        string
	}{
		{"on both", "cpu:25%", []NamedVerdict{worse, of("MariaDB", verdict.Worse, cost(verdict.Worse, 0.26))}, 6,
			"found: the planted slowdown cpu:25% of the new arm's own CPU time: PostgreSQL worse, cost(app) +25.0 % [+23.0, +27.0] at 95 %, p95(post) +41.0 % [+39.0, +43.0] at 95 %; " +
				"MariaDB worse, cost(app) +26.0 % [+24.0, +28.0] at 95 %"},
		{"on one", "cpu:25%", []NamedVerdict{worse, open}, 6,
			"not found on every database: the planted slowdown cpu:25% of the new arm's own CPU time: PostgreSQL worse, cost(app) +25.0 % [+23.0, +27.0] at 95 %, " +
				"p95(post) +41.0 % [+39.0, +43.0] at 95 %; MariaDB inconclusive, cost(app) +1.0 % [-1.0, +3.0] at 95 %"},
		{"too few blocks", "cpu:25%", nil, 0, "not found on every database: the planted slowdown cpu:25% of the new arm's own CPU time: nothing was judged; 0 of 6 blocks whole"},
		{"of another kind", "slow-post:20ms", nil, 6, "not found on every database: the planted slowdown slow-post:20ms: nothing was judged"},
		{"nothing planted", "", []NamedVerdict{open}, 5, "no difference found, and none planted: MariaDB inconclusive, cost(app) +1.0 % [-1.0, +3.0] at 95 %; 5 of 6 blocks whole"},
		{"the same on both", "", []NamedVerdict{of("MariaDB", verdict.Same, cost(verdict.Same, 0.01)), of("PostgreSQL", verdict.Same, cost(verdict.Same, -0.01))}, 6,
			"same on every database, and no slowdown planted: MariaDB same, cost(app) +1.0 % [+0.0, +2.0] at 90 %; PostgreSQL same, cost(app) -1.0 % [-2.0, +0.0] at 90 %"},
		{"the same on one", "", []NamedVerdict{of("MariaDB", verdict.Same, cost(verdict.Same, 0.01)), open}, 6,
			"no difference found, and none planted: MariaDB same, cost(app) +1.0 % [+0.0, +2.0] at 90 %; MariaDB inconclusive, cost(app) +1.0 % [-1.0, +3.0] at 95 %"},
		{"without a verdict", "", []NamedVerdict{open, of("PostgreSQL", verdict.Invalid)}, 6,
			"no verdict on every database, and nothing planted: MariaDB inconclusive, cost(app) +1.0 % [-1.0, +3.0] at 95 %; PostgreSQL invalid"},
		{"nothing judged", "", nil, 6, "no verdict on every database, and nothing planted: nothing was judged"},
		{"false alarm", "", []NamedVerdict{open, of("PostgreSQL", verdict.Better, cost(verdict.Better, -0.07))}, 6,
			"false alarm: a difference found, and none planted: MariaDB inconclusive, cost(app) +1.0 % [-1.0, +3.0] at 95 %; PostgreSQL better, cost(app) -7.0 % [-9.0, -5.0] at 95 %"},
	} {
		d := Document{Verdicts: tt.verdicts, State: State{Judged: tt.judged, Planned: 6}}
		if got := Planted(d, tt.fault); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}
