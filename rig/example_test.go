package rig_test

import (
	"fmt"

	"plimsoll/record"
	"plimsoll/rig"
)

// A ladder of load steps surrounds the capacity that a search found, and does not exceed the users that there are.
func ExampleStepsAround() {
	found := record.Capacity{Kind: record.Estimate, Users: 537}
	fmt.Println(rig.StepsAround(found, 10000))
	fmt.Println(rig.StepsAround(found, 600))
	// Output:
	// [54 210 430 540 810]
	// [54 210 430 540 600]
}
