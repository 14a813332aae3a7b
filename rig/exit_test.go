package rig

import "testing"

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
