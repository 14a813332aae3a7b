package series_test

import (
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// The series behind a maximum or a minimum is named; a sum has none.
func TestWorst(t *testing.T) {
	db, err := series.Create(t.TempDir() + "/series")
	failure.None(t, err)
	defer db.Close()
	at := time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
	of := func(instance string, v float64) series.Sample {
		return series.Sample{
			Name: "lag",
			Labels: []series.Label{{
				Name:  "role",
				Value: "replica",
			}, {Name: "instance", Value: instance}},
			Value: v,
		}
	}
	for i, batch := range [][]series.Sample{{of("replica-0", 1), of("replica-1", 7)}, {of("replica-0", 3), of("replica-1", 2)}} {
		failure.None(t, db.Append(at.Add(time.Duration(i)*time.Second), batch))
	}
	for _, tt := range []struct {
		expr    string
		highest bool
		want    string
		value   float64
	}{
		{"max(max_over_time(lag[10s]))", true, "replica-1", 7},
		{"max(lag)", true, "replica-0", 3},
		{"(max by (role) ((lag)))", true, "replica-0", 3},
		{"min(lag)", false, "replica-1", 2},
		{`lag{instance="replica-1"}`, true, "replica-1", 2},
		{"sum(lag)", true, "", 0},
		{"max(sum(lag))", true, "", 0},
		{"max(lag)", false, "", 0}, // a rule that wants more: no replica alone has too little
		{"max(lag) / 2", true, "", 0},
		{"max(none)", true, "", 0},
	} {
		r, ok, err := db.Worst(t.Context(), tt.expr, at.Add(time.Second), tt.highest)
		if err != nil || ok != (tt.want != "") ||
			ok && (r.Labels["instance"] != tt.want || r.Value != tt.value) {
			t.Errorf("%s, highest %v: %v %v, %v; want %s", tt.expr, tt.highest, r, ok, err, tt.want)
		}
	}
	if _, _, err := db.Worst(t.Context(), "max(", at, true); err == nil {
		t.Error("an expression that does not parse has no error")
	}
}
