package fleet

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// exchanges is the number of readings of an agent's clock before it starts.
const exchanges = 16

// A clock fit keeps one exchange of each stretch of time, the one of the shortest way, of the
// newest mostStretches: a day.
const (
	stretch       = 10 * time.Second
	mostStretches = 8640
)

// clockSample is one exchange: by how much the other clock was ahead at an instant, and how long
// the way there and back was.
type clockSample struct{ at, offset, way time.Duration }

// clockFit follows another clock by the exchanges of the shortest ways: a line, with an offset and
// a drift.
type clockFit struct {
	best []clockSample
	fit  *clockLine // through them; nil when they have changed
}

// clockLine is the line through the exchanges whose way is not much longer than the shortest.
type clockLine struct {
	offset, drift float64       // at 0, and for each nanosecond
	half          time.Duration // of the shortest way, beyond which the offset is not known
	// since is the instant of the only exchange that counts when they are too few for a drift; else
	// it is negative.
	since time.Duration
}

// add takes in an exchange. Instants do not decrease.
func (f *clockFit) add(s clockSample) {
	if n := len(f.best); n > 0 && s.at/stretch == f.best[n-1].at/stretch {
		if s.way < f.best[n-1].way {
			f.best[n-1], f.fit = s, nil
		}
		return
	}
	f.fit = nil
	f.best = append(f.best, s)
	f.best = f.best[max(0, len(f.best)-mostStretches):]
}

// near reports whether the way of an exchange is not much longer than the shortest.
func (s clockSample) near(first clockSample) bool {
	return s.way <= 2*first.way+100*time.Microsecond
}

// line returns the line. It is read for each message, and changes once in a stretch.
func (f *clockFit) line() clockLine {
	if f.fit == nil {
		l := f.through()
		f.fit = &l
	}
	return *f.fit
}

func (f *clockFit) through() clockLine {
	if len(f.best) == 0 {
		return clockLine{}
	}
	first := f.shortest()
	half := max(first.way, 0) / 2
	var n, x, y, xx, xy float64
	for _, s := range f.best {
		if s.near(first) {
			at, off := float64(s.at), float64(s.offset)
			n = n + 1
			x = x + at
			y = y + off
			xx = xx + at*at
			xy = xy + at*off
		}
	}
	if det := n*xx - x*x; n >= 3 && det > 0 {
		drift := (n*xy - x*y) / det
		return clockLine{(y - drift*x) / n, drift, half, -1}
	}
	return clockLine{float64(first.offset), 0, half, first.at}
}

// at returns by how much the other clock is ahead at an instant, and the greatest error of that.
func (f *clockFit) at(t time.Duration) (ahead, half time.Duration) {
	l := f.line()
	return time.Duration(l.offset + l.drift*float64(t)), l.half
}

// due reports whether the newest stretch lacks an exchange of a short way.
func (f *clockFit) due(t time.Duration) bool {
	if len(f.best) == 0 || t/stretch > f.best[len(f.best)-1].at/stretch {
		return true
	}
	return !f.best[len(f.best)-1].near(f.shortest())
}

// shortest returns the exchange of the shortest way. There is one.
func (f *clockFit) shortest() clockSample {
	return slices.MinFunc(f.best, func(a, b clockSample) int { return cmp.Compare(a.way, b.way) })
}

// rereads is the largest number of readings of an agent's clock at one tick.
const rereads = 4

// reread reads the clock of an agent elsewhere, until the stretch of time has an exchange of a
// short way: a report takes longer to write and to read than its way is, and without such exchanges
// no drift is found.
func (l *link) reread(ctx context.Context, patience time.Duration) error {
	for range rereads {
		l.mu.Lock()
		due := l.name != "" && l.clock.due(time.Since(l.base))
		l.mu.Unlock()
		if !due {
			return nil
		}
		if _, err := l.call(ctx, request{Clock: &struct{}{}}, patience); err != nil {
			return err
		}
	}
	return nil
}

// mostDrift is the assumed drift between two clocks while it is unknown: twice the drift of
// crystals.
const mostDrift = 100e-6

// doubt returns by how much an instant may be off: half of the shortest way, and what the clocks
// may have drifted while that is not known.
func (f *clockFit) doubt(t time.Duration) time.Duration {
	l := f.line()
	if l.since < 0 {
		return l.half
	}
	return l.half + time.Duration(mostDrift*float64((t-l.since).Abs()))
}

// apartAfter is the age of a run from which the error of a clock whose drift is not known counts
// the drift.
const apartAfter = 4 * stretch

// errorAt returns the possible error of the clock at an instant, for the rule of deliveries between
// hosts. The rule cannot wait for the drift to be known, which takes half a minute, and does not
// wait longer.
func (f *clockFit) errorAt(t time.Duration) time.Duration {
	if t < apartAfter {
		return f.line().half
	}
	return f.doubt(t)
}

// measure takes in the instants of a reply.
func (l *link) measure(sent, came time.Time, p reply) {
	base := l.base.Round(0)
	// Steps of this clock are no drift.
	wall := func(t time.Time) time.Time { return base.Add(t.Sub(l.base)) }
	out, back := p.Received.Sub(wall(sent)), p.Replied.Sub(wall(came))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock.add(clockSample{came.Sub(l.base), (out + back) / 2,
		came.Sub(sent) - p.Replied.Sub(p.Received)})
}

// drifted returns the lead of an agent's time of the run at an instant of the run. l.mu is held.
func (l *link) drifted(at time.Duration) time.Duration {
	if l.name == "" {
		return 0 // one host has one clock
	}
	ahead, _ := l.clock.at(at + l.epoch)
	return ahead - l.ahead
}

// A ClockReading describes the clock of an agent.
type ClockReading struct {
	Agent  string
	Ahead  time.Duration // at present
	Drift  float64       // seconds for each second
	Within time.Duration // the error of Ahead is at most this
}

// Readings returns the clocks of the agents.
func (d *RemoteDriver) Readings() (out []ClockReading) {
	for _, l := range d.links {
		l.mu.Lock()
		drift := l.clock.line().drift
		ahead, half := l.clock.at(time.Since(l.base))
		l.mu.Unlock()
		out = append(out, ClockReading{l.String(), ahead, drift, half})
	}
	return out
}

// Clocks returns the largest possible error of an agent's instants: on this host the distance of
// the wall clocks; on others, whose distance is taken out, its uncertainty.
func (d *RemoteDriver) Clocks() (worst time.Duration) {
	for _, r := range d.Readings() {
		if d.cfg.Hosts == nil {
			r.Within = r.Ahead.Abs()
		}
		worst = max(worst, r.Within)
	}
	return worst
}
