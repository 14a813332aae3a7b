package rig

import (
	"context"
	"os"
	"slices"
	"time"

	"plimsoll/plan"
)

// A host is quiet when its cores, while no target runs, are busy for less than the gate others calls amber in each of
// quietReadings readings in a row.
const (
	quietReadings = 3
	quietEvery    = time.Second
)

// othersLimit returns the share of a core that the gate others calls amber.
func othersLimit() float64 {
	gate, _ := plan.Gates(nil).Of("others")
	return gate.Amber / 100
}

// quiet waits until no other process uses the cores of generator and target, for most at the longest: after that, the
// session uses the host as it is.
func (s *Session) quiet(ctx context.Context, most time.Duration) error {
	limit := othersLimit()
	cores := slices.Concat(s.generator, s.targets)
	if len(cores) == 0 { // the target is elsewhere, and its host is not seen from here
		return nil
	}
	s.Progress.Doing("waiting for a quiet host", most)
	return waitQuiet(ctx, most, limit, func() (busy, total float64, err error) {
		stat, err := os.ReadFile("/proc/stat")
		if err != nil {
			return 0, 0, err
		}
		return coreTimes(stat, cores)
	})
}

// waitQuiet reads the cumulative CPU times of some cores until their busy share is below the limit in several
// readings in a row, or most has passed, which is not an error.
func waitQuiet(ctx context.Context, most time.Duration, limit float64, read func() (busy, total float64, err error)) error {
	end := time.Now().Add(most)
	busy, total, err := read()
	if err != nil {
		return err
	}
	for calm := 0; calm < quietReadings && time.Until(end) > 0; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(quietEvery, time.Until(end))):
		}
		b, t, err := read()
		if err != nil {
			return err
		}
		if t > total && (b-busy)/(t-total) < limit {
			calm++
		} else {
			calm = 0
		}
		busy, total = b, t
	}
	return nil
}
