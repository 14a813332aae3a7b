package exit_test

import (
	"fmt"

	"plimsoll/cmd/exit"
	"plimsoll/judge/verdict"
	"plimsoll/report"
)

// A script decides a release by the status of a comparison. Lost messages are not a success of a
// server that is faster.
func ExampleCompared() {
	verdicts := []verdict.Verdict{{Kind: verdict.Better}}
	fmt.Println(exit.Compared(report.Document{}, verdicts) == exit.OK)
	fmt.Println(exit.Compared(report.Document{AcknowledgedLost: 3}, verdicts) == exit.SLO)
	// Output:
	// true
	// true
}
