package exit

import (
	"errors"
	"flag"
	"fmt"
	"testing"

	"plimsoll/judge/sizing"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/run/session"
)

// Scripts decide releases by these numbers, and by which of two wins.
func TestExitStatusPrecedence(t *testing.T) {
	all := []int{Usage, Tool, Worse, Invalid, SLO, Inconclusive, OK}
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
	for k, want := range map[verdict.Kind]int{
		verdict.Better:       0,
		verdict.Same:         0,
		verdict.Worse:        3,
		verdict.Inconclusive: 4,
		verdict.Invalid:      5,
	} {
		if got := k.ExitStatus(); got != want {
			t.Errorf("%s exits with %d, want %d", k, got, want)
		}
	}
	for k, want := range map[verdict.Kind]int{
		verdict.Better:       6,
		verdict.Same:         6,
		verdict.Worse:        3,
		verdict.Inconclusive: 6,
		verdict.Invalid:      5,
	} {
		if got := Compared(report.Document{AcknowledgedLost: 1}, []verdict.Verdict{{Kind: k}}); got != want {
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
		doc := &report.SizingPart{
			AcknowledgedLost: tt.lost,
			Result: sizing.Result{
				Steps: []sizing.Step{{Grade: sizing.Good}, {Grade: tt.grade}},
			},
		}
		if got := Sized(tt.state, doc); got != tt.want {
			t.Errorf(
				"a sizing that is %s, graded %q, with %d lost messages exits with %d, want %d",
				tt.state,
				tt.grade,
				tt.lost,
				got,
				tt.want,
			)
		}
	}
	if got := Compared(report.Document{}, []verdict.Verdict{{Kind: verdict.Same}}); got != OK {
		t.Errorf("same without lost messages exits with %d", got)
	}
}

// The status of another process of this program, which has printed its reason, is the program's
// own.
func TestStatusOfErrors(t *testing.T) {
	carried := fmt.Errorf("begin: %w", session.CarriedError{Status: Worse})
	for _, tt := range []struct {
		err     error
		status  int
		printed bool
	}{
		{nil, OK, false},
		{flag.ErrHelp, OK, false},
		{StatusError(SLO), SLO, true},
		{carried, Worse, true},
		{session.CarriedError{}, OK, true},
		{plan.Usagef("-users: want a number above 0"), Usage, false},
		{errors.New("the disk is full"), Tool, false},
	} {
		if got := Of(tt.err); got != tt.status || Printed(tt.err) != tt.printed {
			t.Errorf("%v: status %d, printed %v", tt.err, got, Printed(tt.err))
		}
	}
}
