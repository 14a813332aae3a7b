package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// A Load is the CPU time of all cores of this host up to a moment, in seconds: what programs used,
// what other guests of the machine took, and all of it.
type Load struct{ Used, Stolen, All float64 }

// ReadLoad returns the load up to now.
func ReadLoad() (l Load, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return l, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	f := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal
	if len(f) < 9 {
		return l, fmt.Errorf("/proc/stat begins with %q", line)
	}
	l.All, err = Seconds(f[1:9])
	idle, err2 := Seconds(f[4:6])
	stolen, err3 := Seconds(f[8:9])
	l.Used, l.Stolen = l.All-idle-stolen, stolen
	return l, errors.Join(err, err2, err3)
}

// Since returns the share of the cores that was used or taken since a load, without so many CPU
// seconds.
func (l Load) Since(was Load, own float64) float64 {
	return max(l.Used+l.Stolen-was.Used-was.Stolen-own, 0) / max(l.All-was.All, tick)
}

// A host is calm when each of so many readings in a row is below the limit.
const (
	calmReadings = 5
	calmEvery    = 2 * time.Second
)

// Calm waits until less than a share of all cores is used, and returns the share that was, and the
// time that it waited. It fails when the host is not so calm within a time. With a share of 1 it
// waits for one reading. The load is read by a function such as [ReadLoad].
func Calm(
	ctx context.Context,
	most float64,
	within time.Duration,
	read func() (Load, error),
) (used float64, waited time.Duration, err error) {
	began := time.Now()
	for time.Since(began) <= within {
		first, err := read()
		if err != nil {
			return 0, 0, err
		}
		last := first
		for n := 0; ; n++ {
			if n == calmReadings || n > 0 && most >= 1 {
				return last.Since(first, 0), time.Since(began), nil
			}
			if err := Pause(ctx, calmEvery); err != nil {
				return 0, 0, err
			}
			now, err := read()
			if err != nil {
				return 0, 0, err
			}
			used, last = now.Since(last, 0), now
			if used >= most && most < 1 {
				break
			}
		}
	}
	return used, time.Since(began), fmt.Errorf(
		"others on this host still use %.0f %% of its cores after %v; want less than %.0f %%",
		100*used,
		within,
		100*most,
	)
}
