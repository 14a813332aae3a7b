package perf

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"plimsoll/newsfeed/server"
)

// Defaults of a [Config].
const (
	DefaultWidth    = time.Minute
	DefaultLateness = 10 * time.Second
)

// mostAhead is how far in the future a record may lie: one whose clock is wrong would make all
// others late.
const mostAhead = time.Minute

// Limits of the keys of an [Aggregator].
const (
	mostKeys    = 256
	mostServers = 10_000
)

// Config configures an [Aggregator]. The zero value is usable.
type Config struct {
	// Width of a window, default DefaultWidth. Windows begin at Origin and at multiples of Width
	// from there, in both directions; the zero Origin is the first instant of year 1, UTC, so that
	// minutes are those of clocks.
	Width  time.Duration
	Origin time.Time
	// Lateness is how long after the end of a window its records are waited for, in the time of
	// records; default DefaultLateness, negative for none.
	Lateness time.Duration
	// Zone is that of lines of eight fields, which have none; default UTC.
	Zone *time.Location
}

// A Key identifies a set of figures.
type Key struct{ Entity, Operation string }

func (k Key) String() string { return k.Entity + " " + k.Operation }

// A Window holds the requests of one key in one stretch of time.
type Window struct {
	Key
	Start  time.Time // UTC
	Width  time.Duration
	Micros Values        // latencies of the answers with status 200
	Failed map[int]int64 // other answers, by status; nil for none
}

// Failures returns how many answers had another status than 200.
func (w *Window) Failures() (n int64) {
	for _, k := range w.Failed {
		n += k
	}
	return n
}

// Seconds returns the mean, median and 95th percentile of the latencies; none without any.
func (w *Window) Seconds() map[string]float64 {
	if w.Micros.Count() == 0 {
		return nil
	}
	return map[string]float64{
		"mean": w.Micros.Mean() / 1e6,
		"p50":  float64(w.Micros.Percentile(50)) / 1e6,
		"p95":  float64(w.Micros.Percentile(95)) / 1e6,
	}
}

// Counts holds the numbers of records by outcome. Records is the sum of Taken, Late, Duplicate,
// Garbled, Ahead and Untracked.
type Counts struct {
	Records   int64 `json:"records"`
	Taken     int64 `json:"taken"`
	Late      int64 `json:"late"`      // their window was closed
	Duplicate int64 `json:"duplicate"` // their number had come before
	Garbled   int64 `json:"garbled"`
	Ahead     int64 `json:"ahead"`     // their time has not come yet
	Untracked int64 `json:"untracked"` // of a key too many, or that perf3 does not have
	// Anonymous are those of Taken that could not be distinguished from duplicates.
	Anonymous int64 `json:"anonymous"`
	// Missing are numbers of servers that have not come, below the highest that has.
	Missing int64 `json:"missing"`
	Servers int   `json:"servers"`
}

// Left returns how many records count nowhere, by reason.
func (c Counts) Left() map[string]int64 {
	return map[string]int64{
		"late":      c.Late,
		"duplicate": c.Duplicate,
		"garbled":   c.Garbled,
		"ahead":     c.Ahead,
		"untracked": c.Untracked,
	}
}

// An Aggregator gathers records into windows of their own time. Make it with [New]. It is not safe
// for concurrent use.
type Aggregator struct {
	cfg       Config
	open      map[windowAt]*Window
	closed    []Window
	watermark time.Time
	servers   map[string]*seen
	keys      map[Key]struct{}
	counts    Counts
	garbled   error // the first
}

type windowAt struct {
	key   Key
	start int64
}

// New returns an empty aggregator.
func New(cfg Config) *Aggregator {
	cfg.Width = cmp.Or(cfg.Width, DefaultWidth)
	cfg.Lateness = max(cmp.Or(cfg.Lateness, DefaultLateness), 0)
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	return &Aggregator{
		cfg:     cfg,
		open:    map[windowAt]*Window{},
		servers: map[string]*seen{},
		keys:    map[Key]struct{}{},
	}
}

// Add takes one record as it stands on the bus. now is the present, for records that lie ahead of
// it. raw is not kept.
func (a *Aggregator) Add(raw []byte, now time.Time) {
	a.counts.Records++
	r, err := Parse(raw, a.cfg.Zone)
	if err != nil {
		a.counts.Garbled++
		if a.garbled == nil {
			a.garbled = err
		}
		return
	}
	first, known := a.identify(r)
	if known && !first {
		a.counts.Duplicate++
		return
	}
	start := a.start(r.At)
	key := Key{r.Entity, r.Operation}
	switch _, tracked := a.keys[key]; {
	case r.At.Sub(now) > mostAhead:
		a.counts.Ahead++
		return
	case !start.Add(a.cfg.Width).After(a.watermark):
		a.counts.Late++
		return
	case !tracked && len(a.keys) >= mostKeys:
		a.counts.Untracked++
		return
	}
	a.keys[key] = struct{}{}
	a.counts.Taken++
	if !known {
		a.counts.Anonymous++
	}
	at := windowAt{key, start.UnixNano()}
	w := a.open[at]
	if w == nil {
		w = &Window{Key: key, Start: start, Width: a.cfg.Width}
		a.open[at] = w
	}
	if r.Status == 200 {
		w.Micros.Add(r.Micros, 1)
	} else {
		if w.Failed == nil {
			w.Failed = map[int]int64{}
		}
		w.Failed[r.Status]++
	}
	a.Advance(r.At.Add(-a.cfg.Lateness))
}

// start returns the beginning of the window that holds an instant.
func (a *Aggregator) start(at time.Time) time.Time {
	if a.cfg.Origin.IsZero() {
		return at.UTC().Truncate(a.cfg.Width)
	}
	since := at.Sub(a.cfg.Origin)
	k := since / a.cfg.Width
	if since%a.cfg.Width < 0 {
		k--
	}
	return a.cfg.Origin.Add(k * a.cfg.Width).UTC()
}

// identify reports whether a record comes for the first time, and whether that can be known.
func (a *Aggregator) identify(r server.Record) (first, known bool) {
	if r.Server == "" {
		return true, false
	}
	s := a.servers[r.Server]
	if s == nil {
		if len(a.servers) >= mostServers {
			return true, false
		}
		s = &seen{next: 1, beyond: map[int64]struct{}{}}
		a.servers[r.Server] = s
	}
	return s.note(r.Number), true
}

// Advance moves the watermark to t, unless it is there already: everything before it has come, and
// later arrivals from before it are late.
func (a *Aggregator) Advance(t time.Time) {
	if !t.After(a.watermark) {
		return
	}
	before := a.start(a.watermark)
	a.watermark = t.UTC()
	if a.start(a.watermark).Equal(before) {
		return // no window can end
	}
	a.closeIf(func(w *Window) bool { return !w.Start.Add(w.Width).After(a.watermark) })
}

// closeIf closes windows, the oldest first.
func (a *Aggregator) closeIf(over func(*Window) bool) {
	var done []Window
	maps.DeleteFunc(a.open, func(_ windowAt, w *Window) bool {
		if !over(w) {
			return false
		}
		done = append(done, *w)
		return true
	})
	slices.SortFunc(done, func(x, y Window) int {
		return cmp.Or(
			x.Start.Compare(y.Start),
			cmp.Compare(x.Entity, y.Entity),
			cmp.Compare(x.Operation, y.Operation),
		)
	})
	a.closed = append(a.closed, done...)
}

// Closed returns the windows that were closed since it was last called, the oldest first.
func (a *Aggregator) Closed() []Window {
	out := a.closed
	a.closed = nil
	return out
}

// Flush closes all windows, because nothing more will come, and returns those that Closed has not.
func (a *Aggregator) Flush() []Window {
	for _, w := range a.open {
		if end := w.Start.Add(w.Width); end.After(a.watermark) {
			a.watermark = end
		}
	}
	a.closeIf(func(*Window) bool { return true })
	return a.Closed()
}

// Watermark returns up to when everything is taken to have come; the zero time before the first
// record.
func (a *Aggregator) Watermark() time.Time { return a.watermark }

// Counts returns the counts of the records so far.
func (a *Aggregator) Counts() Counts {
	c := a.counts
	c.Servers = len(a.servers)
	for _, s := range a.servers {
		c.Missing += s.missing()
	}
	return c
}

// Garbled returns the error of the first garbled record; nil if there was none.
func (a *Aggregator) Garbled() error { return a.garbled }
