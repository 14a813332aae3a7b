package main

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/evidence"
	"plimsoll/judge/limiter"
	"plimsoll/watch/series"
)

// The wait of events follows from the events that all instances publish, since every hub gets them, and not from the
// number of sockets that each event is written to.
func TestEventsWaitForTheHub(t *testing.T) {
	epoch := time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
	db, err := series.Create(filepath.Join(t.TempDir(), "series"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	labels := func(pairs ...string) (out []series.Label) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, series.Label{Name: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	for second := range 60 {
		s := float64(second)
		var out []series.Sample
		for i, of := range []struct {
			instance         string
			waiting, publish float64
		}{{"app-0", 30, 20}, {"app-1", 0, 40}} {
			role := []string{"role", "app", "instance", of.instance}
			out = append(out,
				series.Sample{Name: "mattermost_websocket_broadcast_buffer_size", Labels: labels(append(role, "hub", "0")...), Value: of.waiting},
				series.Sample{Name: "mattermost_websocket_broadcast_buffer_size", Labels: labels(append(role, "hub", "1")...), Value: float64(i)},
				series.Sample{Name: "mattermost_websocket_event_total", Labels: labels(append(role, "type", "posted")...), Value: of.publish / 2 * s},
				series.Sample{Name: "mattermost_websocket_event_total", Labels: labels(append(role, "type", "typing")...), Value: of.publish / 2 * s},
				series.Sample{Name: "mattermost_websocket_broadcasts_total", Labels: labels(append(role, "name", "posted")...), Value: 3000 * s})
		}
		if err := db.Append(epoch.Add(time.Duration(second)*time.Second), out); err != nil {
			t.Fatal(err)
		}
	}
	const what = "time that an event waits before it is sent to WebSockets"
	i := slices.IndexFunc(catalog().Indicators(), func(x limiter.Indicator) bool { return x.What == what })
	if i < 0 {
		t.Fatalf("there is no indicator %q", what)
	}
	got, err := db.Query(t.Context(), evidence.Expand(catalog().Indicators()[i].Query, 5*time.Second), epoch.Add(59*time.Second))
	if err != nil || len(got) != 1 || got[0].Labels["role"] != "app" || math.Abs(got[0].Value-0.5) > 1e-6 {
		t.Errorf("30 events wait and 60 a second come: %v, %v, want 0.5 s", got, err)
	}
}
