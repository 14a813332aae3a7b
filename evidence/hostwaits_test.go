package evidence

import (
	"math"
	"testing"
	"time"

	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// TestHostWaits reads the waits of a target on its own cores and host, and none for tests that did
// not run.
func TestHostWaits(t *testing.T) {
	db := sampled(t, t.TempDir(), 73, func(s float64) []series.Sample {
		return []series.Sample{
			{Name: "plimsoll_cpu_steal_ratio", Labels: labels("role", "generator"), Value: 0.4},
			{Name: "plimsoll_cpu_steal_ratio", Labels: labels("role", "host"), Value: 0.21},
			{Name: "plimsoll_cpu_steal_ratio", Labels: labels("role", "target"), Value: 0.02},
			{Name: "node_pressure_io_stalled_seconds_total", Value: 0.1 * s},
		}
	})
	r := asked(&record.Run{Manifest: record.Manifest{
		Epoch: epoch,
		Phases: []record.Phase{{
			Name: "ramp",
			To:   10 * time.Second,
		}, {Name: "measure", From: 10 * time.Second, To: 70 * time.Second}},
	}})
	got, err := r.hostWaits(t.Context(), db)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []report.HostWait{{
		Name:  report.WaitSteal,
		Test:  report.Bounded,
		Share: 0.02,
	}, {Name: report.WaitDisk, Test: report.Bounded, Share: 0.1}} {
		if g := got[i]; g.Name != want.Name || g.Test != want.Test ||
			math.Abs(g.Share-want.Share) > 0.001 {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
}
