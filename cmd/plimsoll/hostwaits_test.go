package main

import (
	"math"
	"testing"
	"time"

	"plimsoll/report"
)

// TestHostWaits reads what kept a target waiting of its own cores and host, and nothing of tests that there were not.
func TestHostWaits(t *testing.T) {
	r := seenRun(t, func(int) time.Duration { return 10 * time.Millisecond })
	db, err := openSeries(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := hostWaits(t.Context(), db, r)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []report.HostWait{{Name: report.WaitSteal, Test: report.Bounded, Share: 0.02}, {Name: report.WaitDisk, Test: report.Bounded, Share: 0.1}} {
		if g := got[i]; g.Name != want.Name || g.Test != want.Test || math.Abs(g.Share-want.Share) > 0.001 {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
}
