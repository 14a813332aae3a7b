package evidence

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// TestCostIsOfContinuousTime reads a run of a duet whose target had three seconds of pauses for
// each second with a turn, and used 20 ms in each second of both: of 0.28 s in a second of the run
// the pauses used 0.06 s. The database, of which no backlog is known, keeps its cost.
func TestCostIsOfContinuousTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Manifest{
		ID:     "r",
		Epoch:  epoch,
		Duet:   &record.Duet{Seats: 4},
		Phases: []record.Phase{{Name: "measure", From: 3 * time.Second, To: 11 * time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := series.Create(filepath.Join(dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	app := labels("role", "app")
	for s := range 15 {
		post := measure.NewWindow("post")
		for range 100 {
			post.Response.Record(time.Millisecond)
		}
		post.Classes[measure.OK] = 100
		at := float64(s)
		err := db.Append(epoch.Add(time.Duration(s)*time.Second), []series.Sample{
			{Name: "plimsoll_process_cpu_seconds_total", Labels: app, Value: 0.28 * at},
			{
				Name:   "plimsoll_process_cpu_seconds_total",
				Labels: labels("role", "db"),
				Value:  0.3 * at,
			},
			{Name: "plimsoll_idle_cpu_ratio", Labels: app, Value: 0.02},
			{Name: "plimsoll_idle_cpu_error_ratio", Labels: app, Value: 0.001},
			{Name: "plimsoll_pause_seconds_total", Value: 3 * at},
			{Name: "plimsoll_backlog_pause_seconds_total", Value: 2 * at},
			{Name: "plimsoll_backlog_cpu_seconds_total", Labels: app, Value: 0.04 * at}})
		if err := errors.Join(err, w.Windows(s, []*measure.Window{post})); err != nil {
			t.Fatal(err)
		}
	}
	got, err := new(Catalog).Costs(t.Context())(sealed(t, w, db, dir))
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []float64{2.2, 3} {
		v := got[i]
		if math.Abs(v.Value-want) > 0.001 ||
			math.Abs(v.Mix.CPU[0]/v.Mix.Part["post"][0]-want) > 0.001 {
			t.Errorf("%s is %.3f ms, want %.1f: %+v", v.Name, v.Value, want, v)
		}
	}
}
