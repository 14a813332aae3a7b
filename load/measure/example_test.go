package measure_test

import (
	"fmt"
	"time"

	"plimsoll/load/measure"
)

// An operation is charged by its four instants: the generator's lateness is lag, and no part of the
// response.
func ExampleRegistry() {
	registry := measure.NewRegistry(1)
	recorder := registry.Recorder(0)
	post := recorder.Name("post")
	for i := range 100 {
		service := time.Duration(i+1) * time.Millisecond
		recorder.Record(post, &measure.Op{
			Scheduled: true,
			Due:       5 * time.Millisecond,
			Sent:      6 * time.Millisecond,
			Done:      6*time.Millisecond + service,
		})
	}
	recorder.Error(post, measure.Dial)
	for _, w := range registry.Cut() {
		fmt.Println(w.Name, w.Count(), "operations,", w.Errors(), "failed")
		fmt.Println(
			"response p50",
			w.Response.Quantile(0.5).Round(time.Millisecond),
			"p99",
			w.Response.Quantile(0.99).Round(time.Millisecond),
		)
		fmt.Println("service p99", w.Service.Quantile(0.99).Round(time.Millisecond), "wait",
			w.Wait.Max())
		fmt.Println("lag p99", w.Lag.Quantile(0.99).Round(time.Millisecond))
	}
	fmt.Println("after the cut:", len(registry.Cut()), "windows")
	// Output:
	// post 101 operations, 1 failed
	// response p50 51ms p99 100ms
	// service p99 99ms wait 1ms
	// lag p99 5ms
	// after the cut: 0 windows
}
