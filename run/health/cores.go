package health

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"plimsoll/plan"
)

// A host is quiet when its cores, while no target runs, are busy for less than the gate others
// calls amber in each of quietReadings readings in a row.
const (
	quietReadings = 3
	quietEvery    = time.Second
)

// OthersLimit returns the share of a core that the gate others calls amber.
func OthersLimit() float64 {
	gate, _ := plan.Gates(nil).Of("others")
	return gate.Amber / 100
}

// WaitQuiet waits until no other process uses some cores of this host. After most it returns
// without an error, and the host is used as it is.
func WaitQuiet(ctx context.Context, most time.Duration, cores []int) error {
	return waitQuiet(ctx, most, OthersLimit(), func() (busy, total float64, err error) {
		stat, err := os.ReadFile("/proc/stat")
		if err != nil {
			return 0, 0, err
		}
		return CoreTimes(stat, cores)
	})
}

// waitQuiet reads the cumulative CPU times of some cores until their busy share is below the limit
// in several readings in a row, or most has passed, which is not an error.
func waitQuiet(ctx context.Context, most time.Duration, limit float64,
	read func() (busy, total float64, err error)) error {
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

// CoreTimes adds up the lines of /proc/stat of some cores, in seconds (a tick is 10 ms, as in all
// Linux ABIs of our platforms). Everything but idle and iowait is busy; guest time is inside user
// time and not counted twice.
func CoreTimes(stat []byte, cores []int) (busy, total float64, err error) {
	seen := 0
	for line := range bytes.Lines(stat) {
		f := bytes.Fields(line)
		if len(f) < 8 || !bytes.HasPrefix(f[0], []byte("cpu")) {
			continue
		}
		core, err := strconv.Atoi(string(f[0][3:]))
		if err != nil || !slices.Contains(cores, core) {
			continue
		}
		seen++
		for i, v := range f[1:min(len(f), 9)] {
			t, err := strconv.ParseFloat(string(v), 64)
			if err != nil {
				return 0, 0, fmt.Errorf("/proc/stat: %w", err)
			}
			total += t / 100
			if i != 3 && i != 4 {
				busy += t / 100
			}
		}
	}
	if seen != len(cores) {
		return 0, 0, fmt.Errorf("/proc/stat shows %d of the cores %v", seen, cores)
	}
	return busy, total, nil
}
