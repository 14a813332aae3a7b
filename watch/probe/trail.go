package probe

import (
	"time"

	"plimsoll/watch/series"
)

// A Trail remembers how far a database server was at which time, so that the time can be told which
// a copy that is only known by its position is behind. Positions grow. Its zero value is ready for
// use.
type Trail struct {
	points  []point
	applied uint64
	known   bool
}

type point struct {
	t  time.Time
	at uint64
}

// mostPoints bounds a trail: beyond it, every second point is forgotten.
const mostPoints = 1 << 12

// Head notes where the server is now.
func (r *Trail) Head(t time.Time, at uint64) {
	if n := len(r.points); n > 0 && r.points[n-1].at == at {
		return // it was here before
	}
	if len(r.points) == mostPoints {
		kept := r.points[:0]
		for i := 1; i < mostPoints; i += 2 {
			kept = append(kept, r.points[i])
		}
		r.points = kept
	}
	r.points = append(r.points, point{t, at})
}

// Applied notes what the copy has. A copy that is not heard of keeps what it had.
func (r *Trail) Applied(at uint64) {
	r.applied, r.known = max(r.applied, at), true
	done := 0
	for done < len(r.points) && r.points[done].at <= r.applied {
		done++
	}
	if done > 0 && done == len(r.points) {
		done-- // the last one shows later that the server has not moved
	}
	r.points = append(r.points[:0], r.points[done:]...)
}

// Behind returns how long before t the server was first seen beyond what the copy has, 0 for a copy
// that has all, and how far it is from the server. ok is false until the copy was heard of. The
// time is as coarse as the intervals between two calls of Head.
func (r *Trail) Behind(t time.Time) (lag time.Duration, distance uint64, ok bool) {
	if !r.known || len(r.points) == 0 {
		return 0, 0, r.known
	}
	head := r.points[len(r.points)-1].at
	if head <= r.applied {
		return 0, 0, true
	}
	for _, p := range r.points {
		if p.at > r.applied {
			return t.Sub(p.t), head - r.applied, true
		}
	}
	return 0, 0, true
}

// A Lag is what the probes of a database's copies have in common: the [Trail] of a copy, and its
// samples.
type Lag struct {
	Trail
	name, distance string
	labels         []series.Label
	out            series.Samples
}

// NewLag returns the lag of a copy whose distance is counted in a unit such as bytes.
func NewLag(unit string, labels []series.Label) Lag {
	return Lag{
		name:     NameOf("replication", labels),
		distance: "plimsoll_replication_lag_" + unit,
		labels:   labels,
	}
}

// Name returns "replication" and the instance.
func (l *Lag) Name() string { return l.name }

// Samples returns the series of a lag, valid until the next call.
func (l *Lag) Samples(seconds float64, distance uint64) []series.Sample {
	l.out = l.out[:0]
	l.out.Add("plimsoll_replication_lag_seconds", l.labels, seconds)
	l.out.Add(l.distance, l.labels, float64(distance))
	return l.out
}
