package evidence

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
)

// A tail of 2 in 1,000 shows in p99.9 alone: in the JSON of a run, and as a lower bound where
// operations were open.
func TestShownOperationHasP999(t *testing.T) {
	w := measure.NewWindow("post")
	for i := range 1000 {
		took := time.Millisecond
		if i < 2 {
			took = time.Second
		}
		w.Response.Record(took)
		w.Classes[measure.OK]++
	}
	row := opsOf(map[string]*measure.Window{"post": w}, time.Minute)[0]
	row.end(record.TailOp{Open: 1, Least: 500 * time.Millisecond}, w, time.Minute)
	b, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	p99, _ := got["p99_ms"].(float64)
	p999, _ := got["p99.9_ms"].(float64)
	if p99 > 2 || p999 < 990 {
		t.Errorf("p99 %v ms, p99.9 %v ms: %s", p99, p999, b)
	}
	if !slices.Equal(row.AtLeast, []string{"max", "mean", "p99.9"}) {
		t.Errorf("lower bounds: %q", row.AtLeast)
	}
}
