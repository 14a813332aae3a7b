package report

import (
	"strings"
	"testing"

	"plimsoll/record"
)

// TestRulesWithTooFewOperations checks that a rule that saw too few operations counts as neither
// held nor broken, and that a share is written as a percentage.
func TestRulesWithTooFewOperations(t *testing.T) {
	few := record.Event{
		Kind:      "slo",
		Rule:      "rate(errors) < 0.1%",
		Limit:     0.001,
		Count:     162,
		Phase:     measuredPhase,
		Undecided: true,
	}
	held := record.Event{
		Kind:  "slo",
		Rule:  "p99(op) < 2s",
		Value: 0.03,
		Limit: 2,
		Count: 162,
		Phase: measuredPhase,
	}
	var tally RuleTally
	const numbers = "0 %, limit 0.1 %, 162 operations where it needs 2000"
	if got, want := tally.Add(few), "rate(errors) < 0.1% not judged: "+numbers; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := tally.String(), "none judged, of 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := tally.Add(held); got != "" {
		t.Errorf("a rule that held is %q", got)
	}
	if got, want := tally.String(), "1 of 1 held, 1 not judged"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := RuleLine(few), "not judged rate(errors) < 0.1%: "+numbers; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	brief := record.Event{
		Kind:      "slo",
		Rule:      "p99(op) < 2s for 30s",
		Value:     3,
		Limit:     2,
		Undecided: true,
	}
	if got, want := RuleLine(brief), "not judged p99(op) < 2s for 30s: 3 s, limit 2 s, for too short a time"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	lead := Dominant(RunData{Events: []record.Event{few, held}}, Bounded)
	if !strings.HasSuffix(
		lead,
		"Nearest to its limit was p99(op) < 2s, at 1.5 % of its limit (30.0 ms, limit 2 s). 1 rule had too few operations to be judged.",
	) {
		t.Errorf("lead: %s", lead)
	}
	if got, want := Dominant(RunData{Events: []record.Event{few}}, Bounded), "No rule was judged over the measured phase. 1 rule had too few operations to be judged."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestShareOfErrors checks that the column of errors is computed from its counts, whoever made the
// cell.
func TestShareOfErrors(t *testing.T) {
	for _, tt := range []struct {
		failed, count uint64
		want          string
	}{{162, 162, "100 % (4xx 162)"}, {1, 8000, "0.013 % (4xx 1)"}, {0, 8000, "0"}} {
		c := OpCell{
			Count:   tt.count,
			Failed:  tt.failed,
			Classes: []Count{{Name: "4xx", N: int(tt.failed)}},
		}
		if got := errorText(c); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
