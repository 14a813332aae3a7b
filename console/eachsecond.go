package console

import (
	"context"
	"math"
	"time"

	"plimsoll/watch/series"
)

// eachSecond reads series at the whole seconds of a run's clock.
type eachSecond struct {
	ctx   context.Context //nolint:containedctx // of one request, as the value is
	db    *series.DB
	epoch time.Time
	last  int
}

// of evaluates an expression at every second and passes each value to take; the values of one
// series come in the order of time.
func (x eachSecond) of(
	expr string,
	take func(labels map[string]string, second int, v float64),
) error {
	const step = series.MaxPoints - 1000
	for from := 1; from <= x.last; from += step {
		to := min(from+step-1, x.last)
		lines, err := x.db.Range(
			x.ctx,
			expr,
			x.epoch.Add(time.Duration(from)*time.Second),
			x.epoch.Add(time.Duration(to)*time.Second),
			time.Second,
		)
		if err != nil {
			return err
		}
		for _, l := range lines {
			for i, t := range l.T {
				take(l.Labels, int(math.Round(t.Sub(x.epoch).Seconds())), l.V[i])
			}
		}
	}
	return nil
}
