package trial_test

import (
	"fmt"
	"time"

	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/run/trial"
)

// A rule is evaluated over the merged windows of its operations. Without an operation it has no
// value.
func ExampleValue() {
	post := measure.NewWindow("post")
	for i := range 1000 {
		post.Classes[measure.OK]++
		post.Response.Record(time.Duration(i) * time.Millisecond)
	}
	post.Classes[measure.Status5xx] = 10
	window := func(op string) *measure.Window {
		if op == "post" || op == "op" {
			return post
		}
		return measure.NewWindow(op)
	}
	for _, text := range []string{"p99(post) < 300ms", "rate(5xx) < 2%", "p99(login) < 1s"} {
		rule, err := plan.ParseSLO(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		v, n, ok := trial.Value(rule, window)
		fmt.Printf("%s: %.2f of %d operations, known: %t\n", text, v, n, ok)
	}
	// Output:
	// p99(post) < 300ms: 0.99 of 1000 operations, known: true
	// rate(5xx) < 2%: 0.01 of 1010 operations, known: true
	// p99(login) < 1s: 0.00 of 0 operations, known: false
}
