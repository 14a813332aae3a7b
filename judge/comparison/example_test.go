package comparison_test

import (
	"fmt"

	"plimsoll/judge/comparison"
)

// The second block of a pair has the order of the first reversed, so that a steady drift cancels.
func ExampleOrder() {
	for _, block := range comparison.Order(7, 2, []string{"base", "new"}, []string{"postgresql", "mysql"}) {
		for _, cell := range block {
			fmt.Println(cell.Block, cell.Order, cell.Engine, cell.Arm)
		}
	}
	// Output:
	// 1 1 postgresql new
	// 1 2 postgresql base
	// 1 3 mysql new
	// 1 4 mysql base
	// 2 1 mysql base
	// 2 2 mysql new
	// 2 3 postgresql base
	// 2 4 postgresql new
}
