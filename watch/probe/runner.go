package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/watch/series"
)

// Store takes the samples of probes. *series.DB is one.
type Store interface {
	Append(t time.Time, samples []series.Sample) error
	AppendText(t time.Time, body []byte, contentType string, extra map[string]string) (int, error)
}

// Runner samples every probe once per interval and stores the samples. For each probe it also
// stores
//
//	plimsoll_probe_up{probe}               1, or 0 if anything of the sample failed
//	plimsoll_probe_seconds{probe}          how long the sample took
//	plimsoll_probe_failures_total{probe}   samples that failed
//	plimsoll_probe_missed_total{probe}     ticks let go because the sample before had not ended
//
// and for each scraper up and scrape_samples_scraped with the scraper's labels, as Prometheus does.
//
// Seconds, ticks and dates are of the run's clock: while it stands still, nothing is sampled,
// a sample under way loses no time, and no value grows old.
//
// Add probes, then call Run once; Last and Status may be called at any time from any goroutine.
type Runner struct {
	db       Store
	interval time.Duration
	clock    *clock.Clock
	probes   []*probed
	mu       sync.Mutex
	last     map[string]*lastValue
	key      []byte
	running  bool
	panicked func(*boundary.Panic) // may be nil
}

type lastValue struct {
	v  float64
	at time.Time
}

// probed is one probe and its state.
type probed struct {
	name    string
	probe   Probe
	scraper Scraper
	status  ProbeStatus // guarded by Runner.mu
	label   []series.Label
	target  []series.Label
	health  sink
	began   time.Time // date of the first tick
}

// ProbeStatus is a probe's record so far.
type ProbeStatus struct {
	Name     string
	Samples  int           // complete ones
	Failures int           // incomplete ones, and those that could not be stored
	Missed   int           // ticks without a sample
	LastOK   time.Time     // date of the last complete sample, by the run's clock
	LastErr  error         // why the last failure failed; kept after a success
	Longest  time.Duration // of all samples
	Gap      Gap           // the longest that is over
}

// A Gap is a time between two complete samples, or from the first tick to the first of them. It is
// no longer than the interval if none failed.
type Gap struct {
	From, To time.Time
	Err      error // why the last failure before To failed; nil if there was none
}

// NewRunner makes a Runner that samples every interval; 0 means a second.
func NewRunner(db Store, interval time.Duration) *Runner {
	if interval <= 0 {
		interval = time.Second
	}
	return &Runner{
		db:       db,
		interval: interval,
		clock:    clock.New(time.Now()),
		last:     map[string]*lastValue{},
	}
}

// UseClock takes ticks, deadlines and dates from a run's clock; without it they are real. It is
// called before Run.
func (r *Runner) UseClock(c *clock.Clock) { r.clock = c }

// Add adds a probe. It panics after Run has been called, which is a programming error.
func (r *Runner) Add(p Probe) { r.add(&probed{name: p.Name(), probe: p}) }

// AddScraper adds a scraper; otherwise like Add.
func (r *Runner) AddScraper(s Scraper) {
	p := &probed{name: s.Name(), scraper: s}
	for n, v := range s.Labels() {
		p.target = append(p.target, series.Label{Name: n, Value: v})
	}
	r.add(p)
}

func (r *Runner) add(p *probed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		panic("probe: Add after Run")
	}
	p.status.Name = p.name
	p.label = Labels("probe", p.name)
	r.probes = append(r.probes, p)
}

// Run samples until ctx ends, and waits for the samples under way. All probes share the ticks, so
// their samples of one second carry one time. A probe's sample has one interval as its deadline. A
// failing probe, or a store that refuses, is counted and does not stop the others. The error is not
// nil only if Run could not start.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	names := map[string]bool{}
	for _, p := range r.probes {
		if names[p.name] {
			r.mu.Unlock()
			return fmt.Errorf("two probes are named %q", p.name)
		}
		names[p.name] = true
	}
	if r.running {
		r.mu.Unlock()
		return errors.New("the probes are running already")
	}
	r.running = true
	r.mu.Unlock()

	// A clock counts on the monotonic one: if the wall clock is set, times go on evenly.
	start := r.clock.Now()
	var wg sync.WaitGroup
	for _, p := range r.probes {
		p.began = r.clock.Date(start)
		wg.Go(func() { r.loop(ctx, p, start) })
	}
	wg.Wait()
	return nil
}

// loop samples one probe at every tick from start on.
func (r *Runner) loop(ctx context.Context, p *probed, start time.Duration) {
	for n := int64(0); ; {
		tick := start + time.Duration(n)*r.interval
		if r.clock.SleepUntil(ctx, tick) != nil {
			return
		}
		sctx, cancel := r.clock.WithTimeout(ctx, tick+r.interval-r.clock.Now())
		t := r.clock.Date(tick)
		err := r.sample(sctx, p, t)
		if errors.Is(err, context.Canceled) &&
			errors.Is(context.Cause(sctx), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v: %w", r.interval, context.DeadlineExceeded)
		}
		cancel()
		if err != nil && ctx.Err() != nil {
			return // the end of the run cut the sample off; that is not a failure
		}
		now := r.clock.Now()
		next := max(n+1, int64((now-start)/r.interval))
		if now-start > time.Duration(next)*r.interval+r.interval/2 {
			next++ // the tick is half over
		}
		r.note(p, t, now-tick, err, int(next-n-1))
		n = next
	}
}

// OnPanic makes the runner call f with each panic of a probe, whose sample has failed by it. It is
// called before Run; f is called from any goroutine.
func (r *Runner) OnPanic(f func(*boundary.Panic)) { r.panicked = f }

// sample takes and stores one sample. It is the boundary of a probe.
func (r *Runner) sample(ctx context.Context, p *probed, t time.Time) error {
	err := boundary.Do("probe "+p.name, func() error { return r.take(ctx, p, t) })
	if x, ok := errors.AsType[*boundary.Panic](err); ok && r.panicked != nil {
		r.panicked(x)
	}
	return err
}

func (r *Runner) take(ctx context.Context, p *probed, t time.Time) error {
	p.health.reset()
	if p.scraper != nil {
		health := func(up, n int) {
			p.health.reset()
			p.health.add("up", p.target, float64(up))
			p.health.add("scrape_samples_scraped", p.target, float64(n))
		}
		health(0, 0) // should it panic
		body, kind, err := p.scraper.Scrape(ctx)
		n := 0
		if err == nil {
			n, err = r.db.AppendText(t, body, kind, p.scraper.Labels())
		}
		if err == nil && n == 0 {
			err = errors.New("the answer holds no sample")
		}
		up := 1
		if err != nil {
			up = 0
		}
		health(up, n)
		return err
	}
	s, err := p.probe.Sample(ctx, t)
	if serr := r.db.Append(t, s); serr != nil {
		return errors.Join(err, serr)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range s {
		r.key = s[i].AppendKey(r.key[:0])
		l := r.last[string(r.key)]
		if l == nil {
			l = &lastValue{}
			r.last[string(r.key)] = l
		}
		l.v, l.at = s[i].Value, t
	}
	return err
}

// note records the outcome of a sample, and stores it as a series.
func (r *Runner) note(p *probed, t time.Time, took time.Duration, err error, missed int) {
	r.mu.Lock()
	st := &p.status
	up := 1.0
	if err != nil {
		up = 0
		st.Failures++
		st.LastErr = fmt.Errorf("probe %s: %w", p.name, err)
	} else {
		st.Samples++
		from := st.LastOK
		if from.IsZero() {
			from = p.began
		}
		if t.Sub(from) > st.Gap.To.Sub(st.Gap.From) {
			st.Gap = Gap{from, t, st.LastErr}
		}
		st.LastOK = t
	}
	st.Missed += missed
	st.Longest = max(st.Longest, took)
	p.health.add("plimsoll_probe_up", p.label, up)
	p.health.add("plimsoll_probe_seconds", p.label, took.Seconds())
	p.health.add("plimsoll_probe_failures_total", p.label, float64(st.Failures))
	p.health.add("plimsoll_probe_missed_total", p.label, float64(st.Missed))
	r.mu.Unlock()
	if err := r.db.Append(t, p.health.s); err != nil {
		r.mu.Lock()
		st.LastErr = fmt.Errorf("probe %s: storing its state: %w", p.name, err)
		r.mu.Unlock()
	}
}

// Last returns the latest value of one series of a Probe (not of a scraper) and its date. key is
// the series in the notation of series.Sample.AppendKey, for example
// plimsoll_cpu_busy_ratio{role="target"}. ok is false if there was none within series.Lookback: a
// rule must treat that as a missing signal, not as a good value.
func (r *Runner) Last(key string) (v float64, at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.last[key]
	if l == nil || r.clock.Now()-l.at.Sub(r.clock.Epoch()) > series.Lookback {
		return 0, time.Time{}, false
	}
	return l.v, l.at, true
}

// Status returns every probe's record, in the order of their adding.
func (r *Runner) Status() []ProbeStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []ProbeStatus
	for _, p := range r.probes {
		out = append(out, p.status)
	}
	return out
}
