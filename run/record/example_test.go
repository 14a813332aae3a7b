package record_test

import (
	"bytes"
	"fmt"
	"time"

	"plimsoll/load/measure"
	"plimsoll/run/record"
)

// A run that was killed while it wrote keeps every second before the last.
func ExampleReadWindows() {
	var file bytes.Buffer
	w, err := record.NewWindowWriter(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for second := range 3 {
		window := measure.NewWindow("post")
		window.Classes[measure.OK] = 1
		window.Response.Record(time.Duration(second+1) * 10 * time.Millisecond)
		if err := w.Write(second, []*measure.Window{window}); err != nil {
			fmt.Println(err)
			return
		}
	}
	file.Truncate(file.Len() - 1)
	truncated, err := record.ReadWindows(&file, func(second int, windows []*measure.Window) bool {
		for _, w := range windows {
			fmt.Println("second", second, w.Name, w.Count(), w.Response.Max().Round(time.Millisecond))
		}
		return true
	})
	fmt.Println("truncated:", truncated, "error:", err)
	// Output:
	// second 0 post 1 10ms
	// second 1 post 1 20ms
	// truncated: true error: <nil>
}
