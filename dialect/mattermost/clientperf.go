package mattermost

import (
	"context"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// mostTimes bounds the measurements that a client keeps for its next report.
const mostTimes = 16

// measured keeps the time since start for the report of the client's measurements, if the server
// takes such reports.
func (a *person) measured(metric string, start time.Time) {
	if a.b.lacks(hasClientPerf) != "" || !a.b.set.periodic {
		return
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.times) < mostTimes {
		a.times = append(a.times, api.Measurement{
			Metric: metric,
			Took:   a.u.Clock().Took(start, now),
			At:     now,
		})
	}
}

// report sends the measurements since the last report.
func (a *person) report(ctx context.Context, c *api.Client) {
	a.mu.Lock()
	times := a.times
	a.times = nil
	a.mu.Unlock()
	if len(times) == 0 {
		return
	}
	_ = c.ClientPerformance(ctx, times[0].At, times[len(times)-1].At, times) // recorded
}
