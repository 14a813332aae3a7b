package session

import (
	"context"

	"plimsoll/record"
	"plimsoll/run/health"
	"plimsoll/watch/series"
)

// openSeries opens the store of the run's series.
func openSeries(_ context.Context, r *run) (err error) {
	if r.db, err = series.Create(r.w.Dir() + "/" + record.SeriesDir); err != nil {
		return err
	}
	r.closing(r.db.Close)
	r.db.Redact(r.Secrets.Label)
	r.stuck = health.WatchSeries(r.db, r.w, r.clock)
	r.spec.Series = r.db
	return nil
}

// findUnwritten finds series that could not be written.
func findUnwritten(_ context.Context, r *run) error {
	r.found(r.stuck.Finding()...)
	return nil
}

// publishSeries serves the series and sends them elsewhere, as the program's flags request.
func publishSeries(_ context.Context, r *run) error {
	unpublish, err := r.Out.Publish(r.db, r.w, r.clock, r.Progress.Say)
	if err != nil {
		return err
	}
	r.closing(func() error {
		for _, f := range unpublish() {
			r.out.Validity.Add(f)
		}
		return nil
	})
	return nil
}
