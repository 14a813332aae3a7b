package evidence

import (
	"context"
	"fmt"
	"time"

	"plimsoll/judge/comparison"
)

// clockwork reads the evidence on the CPU time of a role that follows the clock, between two
// samples of its counter.
func (x phaseReader) clockwork(
	ctx context.Context,
	role string,
	used float64,
	from, to time.Time,
) (comparison.Clockwork, error) {
	c := comparison.Clockwork{Used: used}
	of := func(metric string, at time.Time) (sum float64, err error) {
		values, err := x.db.Query(ctx, metric, at)
		if err != nil {
			return 0, fmt.Errorf("cost: %w", err)
		}
		for _, v := range values {
			if r := v.Labels["role"]; r == "" || r == role {
				sum += v.Value
			}
		}
		return sum, nil
	}
	var err error
	for metric, to := range map[string]*float64{
		"plimsoll_idle_cpu_ratio":       &c.Idle,
		"plimsoll_idle_cpu_error_ratio": &c.Error,
	} {
		if *to, err = of(metric, from); err != nil {
			return c, err
		}
	}
	for metric, grown := range map[string]*float64{
		"plimsoll_backlog_cpu_seconds_total":   &c.Backlog,
		"plimsoll_backlog_pause_seconds_total": &c.Covered,
		"plimsoll_pause_seconds_total":         &c.Paused,
		"plimsoll_turns_total":                 &c.Turns.N,
		"plimsoll_turns_pause_seconds_total":   &c.Turns.Pause,
		"plimsoll_turns_pause_squares_total":   &c.Turns.PauseSquares,
		"plimsoll_turns_cpu_ratio_total":       &c.Turns.Cores,
		"plimsoll_turns_cpu_squares_total":     &c.Turns.CoresSquares,
		"plimsoll_turns_cpu_pause_total":       &c.Turns.Product,
	} {
		a, err := of(metric, from)
		if err != nil {
			return c, err
		}
		b, err := of(metric, to)
		if err != nil {
			return c, err
		}
		*grown = b - a
	}
	return c, nil
}
