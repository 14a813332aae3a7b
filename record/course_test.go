package record_test

import (
	"math"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
)

func TestCourse(t *testing.T) {
	// 205 s: 68 intervals of 3 s, and one second left.
	ph := record.Phase{Name: "measure", From: 3 * time.Second, To: 208 * time.Second}
	c := record.NewCourse(ph, func(series string) []string {
		if series == "schedule" {
			return nil
		}
		return []string{series, "op"}
	})
	for second := range 215 {
		if second == 50 { // a second in which nothing ended
			continue
		}
		post := measure.NewWindow("post")
		view := measure.NewWindow("view")
		other := measure.NewWindow("schedule")
		post.Response.RecordN(time.Duration(second)*time.Millisecond, 2)
		post.Classes[measure.OK], post.Classes[measure.Status5xx] = 2, 1
		if second == 100 {
			view.Response.Record(time.Second)
			view.Classes[measure.OK] = 1
		}
		other.Lag.Record(time.Second)
		c.Add(second, []*measure.Window{post, other, view})
	}
	c.Close()
	if c.Step != 3*time.Second || c.N != 68 || len(c.Groups) != 3 {
		t.Fatalf("%d intervals of %v, %d groups", c.N, c.Step, len(c.Groups))
	}
	post, op := c.Groups["post"], c.Groups["op"]
	// seconds 3 to 5, 204 to 206, 48 and 49
	for i, want := range map[int]float64{0: 4, 67: 205, 15: 48.5} {
		if got := post.Mean(i); math.Abs(got-want) > 0.01 {
			t.Errorf("interval %d: mean %v ms, want %v", i, got, want)
		}
	}
	if post.Ops[0] != 9 || post.Failed[0] != 3 || post.Timed[0] != 6 || post.Timed[15] != 4 {
		t.Errorf(
			"interval 0: %d ops, %d failed, %d timed; interval 15: %d timed",
			post.Ops[0],
			post.Failed[0],
			post.Timed[0],
			post.Timed[15],
		)
	}
	at := (100 - 3) / 3
	if op.Timed[at] != 7 || math.Abs(op.Quantile(at, 1)-1000) > 4 ||
		math.Abs(op.Quantile(at, 0.5)-100) > 1 {
		t.Errorf(
			"all operations of interval %d: %d timed, median %v, largest %v",
			at,
			op.Timed[at],
			op.Quantile(at, 0.5),
			op.Quantile(at, 1),
		)
	}
	if view := c.Groups["view"]; !math.IsNaN(view.Mean(0)) || !math.IsNaN(view.Quantile(0, 0.5)) ||
		len(view.Response[0].Value) != 0 {
		t.Error("an interval without operations has a mean")
	} else if view.Ops[at] != 1 || view.Ops[at+1] != 0 || view.Timed[at+1] != 0 {
		t.Errorf("one operation is counted in other intervals too: %v", view.Ops)
	}
	for n, want := range map[int]int{
		0:     0,
		1:     1,
		49:    49,
		50:    50,
		100:   100,
		101:   50,
		199:   99,
		201:   67,
		86400: 100,
	} {
		if got := record.NewCourse(record.Phase{To: time.Duration(n) * time.Second}, nil).N; got != want {
			t.Errorf("%d seconds: %d intervals, want %d", n, got, want)
		}
	}
}
