package rig_test

import (
	"fmt"

	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/rig"
)

// A script decides a release by the status of a comparison. Lost messages are no success of a server that is faster.
func ExampleComparedStatus() {
	verdicts := []verdict.Verdict{{Kind: verdict.Better}}
	fmt.Println(rig.ComparedStatus(report.Document{}, verdicts) == rig.ExitOK)
	fmt.Println(rig.ComparedStatus(report.Document{AcknowledgedLost: 3}, verdicts) == rig.ExitSLO)
	// Output:
	// true
	// true
}

// A ladder of load steps surrounds the capacity that a search found, and does not exceed the users that there are.
func ExampleStepsAround() {
	found := record.Capacity{Kind: record.Estimate, Users: 537}
	fmt.Println(rig.StepsAround(found, 10000))
	fmt.Println(rig.StepsAround(found, 600))
	// Output:
	// [54 210 430 540 810]
	// [54 210 430 540 600]
}
