package health

import (
	"strings"
	"time"

	"plimsoll/load/clock"
	"plimsoll/run/trial"
)

// fresh is the greatest age of a sample that a gate is read from; the probes sample every second.
const fresh = 3 * time.Second

// A LastSample returns the last sample of a series by its key, with its date; false without one.
type LastSample func(key string) (v float64, at time.Time, ok bool)

// samples are the last samples of the probes, with dates of the run's clock.
type samples struct {
	last  LastSample
	clock *clock.Clock
}

// age returns how much time of the run has passed since a date of its clock.
func (s samples) age(date time.Time) time.Duration {
	return s.clock.Now() - date.Sub(s.clock.Epoch())
}

// read returns the last sample of a series, times scale.
func (s samples) read(key string, scale float64) trial.Reading {
	v, at, ok := s.last(key)
	name, _, _ := strings.Cut(key, "{")
	return s.reading(name, v*scale, at, ok)
}

// reading returns a sample as a reading, which has no value without a fresh sample.
func (s samples) reading(name string, v float64, at time.Time, ok bool) trial.Reading {
	switch {
	case !ok:
		return trial.Unread("there is no sample of %s", name)
	case s.age(at) > fresh:
		return trial.Unread("the last sample of %s is older than %v", name, fresh)
	}
	return trial.Reading{Value: v}
}

// both combines two readings. A reading without a value wins.
func both(a, b trial.Reading, f func(a, b float64) float64) trial.Reading {
	switch {
	case a.Why != "":
		return a
	case b.Why != "":
		return b
	}
	return trial.Reading{Value: f(a.Value, b.Value)}
}

func sum(a, b float64) float64         { return a + b }
func difference(a, b float64) float64  { return a - b }
func percent(part, of float64) float64 { return 100 * part / of }

// Means of the last meanOver samples, of which meanLeast are needed. One second is not enough: a
// guest is robbed in bursts, and the time of a process that has ended is known only when its parent
// waited for it, so that a database that is busy ending connections shows too little in one second
// and too much in the next. The sum is right, so differences keep their sign.
const (
	meanOver  = 10
	meanLeast = 5
)

// A moving is a mean over the last samples of a reading.
type moving struct {
	values []float64
	at     time.Time
}

// fresh reports whether a sample is newer than the sample of the last call.
func (m *moving) fresh(at time.Time) bool {
	if !at.After(m.at) {
		return false
	}
	m.at = at
	return true
}

func (m *moving) add(v float64) {
	m.values = append(m.values, v)
	m.values = m.values[max(0, len(m.values)-meanOver):]
}

// mean returns the mean of the last samples.
func (m *moving) mean() trial.Reading {
	n := len(m.values)
	if n < meanLeast {
		return trial.Unread("%d samples are too few, want %d", n, meanLeast)
	}
	total := 0.0
	for _, v := range m.values {
		total += v
	}
	return trial.Reading{Value: total / float64(n)}
}

// positive returns the mean where it is positive, and else 0.
func (m *moving) positive() trial.Reading {
	out := m.mean()
	out.Value = max(0, out.Value)
	return out
}
