package report

import (
	"testing"
	"time"

	"plimsoll/load/measure"
)

// TestClientAndServer: both sides of an operation stand beside each other, and the difference of
// their means only where both saw the same requests.
func TestClientAndServer(t *testing.T) {
	window := func(n int, d time.Duration) *measure.Window {
		w := measure.NewWindow("")
		w.Classes[measure.OK] = uint64(n)
		w.Response.RecordN(d, uint32(n))
		return w
	}
	in := liveInput("")
	for i := range in.Runs {
		r := &in.Runs[i]
		r.Ops = map[string]*measure.Window{
			"story":       window(1000, 3*time.Millisecond),
			"search":      window(1000, 2*time.Millisecond),
			"setup_story": window(5, time.Second),
		}
		r.Server = map[string]*measure.Window{
			"story":       window(1001, time.Millisecond),
			"search":      window(500, time.Millisecond),
			"setup_story": window(5, time.Second),
			"other":       window(1, time.Second),
		}
	}
	d := From(in)
	if len(d.Sides) == 0 {
		t.Fatal("no table")
	}
	seen := map[string]int{}
	for _, r := range d.Sides[0].Rows {
		seen[r.Name]++
		if r.Client.Count%1000 != 0 || r.Server.Mean != 1 {
			t.Errorf("row %+v", r)
		}
		switch r.Name {
		case "story":
			if r.Between != 2 || r.Client.P95 < 2.98 || r.Client.P95 > 3.02 {
				t.Errorf("story: %+v, want 2 ms between", r)
			}
		case "search":
			if r.Between.Known() {
				t.Errorf("search: %+v, want no difference of different requests", r)
			}
		}
	}
	if seen["story"] != len(d.Arms) || seen["search"] != len(d.Arms) || len(seen) != 2 {
		t.Errorf("rows of %v, want story and search of each arm", seen)
	}
	has(t, written(t, FullMarkdown, d), "### Client and server")
}
