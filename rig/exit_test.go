package rig

import (
	"testing"

	"plimsoll/judge/sizing"
	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/report"
)

// Scripts decide releases by these numbers, and by which of two wins.
func TestExitStatusPrecedence(t *testing.T) {
	all := []int{ExitUsage, ExitTool, ExitWorse, ExitInvalid, ExitSLO, ExitInconclusive, ExitOK}
	for i, want := range []int{2, 1, 3, 5, 6, 4, 0} {
		if all[i] != want {
			t.Errorf("status %d of the order is %d, want %d", i, all[i], want)
		}
	}
	for i, a := range all {
		for _, b := range all[i:] {
			if got := Worst(b, a); got != a {
				t.Errorf("of %d and %d, %d won", a, b, got)
			}
		}
	}
}

func TestExitStatusOfVerdicts(t *testing.T) {
	for k, want := range map[verdict.Kind]int{verdict.Better: 0, verdict.Same: 0, verdict.Worse: 3, verdict.Inconclusive: 4, verdict.Invalid: 5} {
		if got := k.ExitStatus(); got != want {
			t.Errorf("%s exits with %d, want %d", k, got, want)
		}
	}
	for k, want := range map[verdict.Kind]int{verdict.Better: 6, verdict.Same: 6, verdict.Worse: 3, verdict.Inconclusive: 6, verdict.Invalid: 5} {
		if got := ComparedStatus(report.Document{AcknowledgedLost: 1}, []verdict.Verdict{{Kind: k}}); got != want {
			t.Errorf("%s with lost messages exits with %d, want %d", k, got, want)
		}
	}
	for _, tt := range []struct {
		state record.State
		grade sizing.Grade
		lost  int
		want  int
	}{
		{record.Sealed, sizing.Poor, 0, 0}, {record.Sealed, sizing.Excellent, 1, 6}, {record.Sealed, "", 1, 5}, {record.Sealed, "", 0, 5},
		{record.Interrupted, sizing.Good, 1, 1}, {record.Running, "", 0, 1},
	} {
		doc := &report.SizingPart{AcknowledgedLost: tt.lost, Result: sizing.Result{Steps: []sizing.Step{{Grade: sizing.Good}, {Grade: tt.grade}}}}
		if got := SizedStatus(tt.state, doc); got != tt.want {
			t.Errorf("a sizing that is %s, graded %q, with %d lost messages exits with %d, want %d", tt.state, tt.grade, tt.lost, got, tt.want)
		}
	}
	if got := ComparedStatus(report.Document{}, []verdict.Verdict{{Kind: verdict.Same}}); got != ExitOK {
		t.Errorf("same without lost messages exits with %d", got)
	}
}
