package dialect_test

import (
	"fmt"

	"plimsoll/dialect"
	"plimsoll/load/workload"
)

// A dialect names its settings, and each mistake in a plan is reported with the remedy.
func ExampleSet_CheckSettings() {
	shop := &dialect.Dialect{
		Name:      "shop",
		Title:     "the shop",
		Behaviors: dialect.Registry{"buyers": func() workload.Behavior { return nil }},
		Settings:  dialect.Settings{Params: map[string]string{"basket": "things in a basket"}},
	}
	err := dialect.Set{shop}.CheckSettings([]string{"buyers"}, map[string]string{
		"basket": "3",
		"color":  "red",
	})
	fmt.Println(err)
	// Output: setting color is unknown; there are basket
}
