package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

const (
	// DefaultPatience is the longest time for a reply of an agent.
	DefaultPatience = 5 * time.Second
	// startPatience is the longest time for the start of its engine.
	startPatience = 30 * time.Second
	// stale is the age of a report beyond which an agent's samples are missing.
	stale = 3 * time.Second
)

// Config configures a [RemoteDriver]. All fields but OnError and Patience are required.
type Config struct {
	// Links lead to the agents: writes reach agent k's Serve, and reads return its replies. They
	// are closed by Stop.
	Links []io.ReadWriteCloser
	// Epoch is the run's.
	Epoch time.Time
	// Settings returns the settings of an agent by its number, from 0. It is called once for each,
	// for several at a time.
	Settings func(agent int) (json.RawMessage, error)
	// Registry, Tally and Ledger receive the records of all agents.
	Registry *measure.Registry
	Tally    *workload.Tally
	Ledger   *workload.Ledger
	// OnError is called for users that failed, and for errors of an agent itself (then user is -1).
	// A panic there is a *boundary.Panic here.
	OnError func(agent, user int, err error)
	// Patience is the longest time for a reply; 0 means DefaultPatience.
	Patience time.Duration
	// Hosts describes the links that lead to [ServeHost] of other hosts; nil: they lead to Serve of
	// processes of this one.
	Hosts *Hosts
}

// Hosts are the settings of agents on other hosts.
type Hosts struct {
	// Names are the names of the hosts, by link.
	Names []string
	// Processes is the number of processes that each of them starts.
	Processes int
	// Tick is the trial's.
	Tick time.Duration
	// Leave is the silence of the coordinator after which an agent's users leave, over the time
	// Over.
	Leave, Over time.Duration
}

// A RemoteDriver drives users in other processes. It is a [trial.Driver], [trial.Counter],
// [trial.Stormer], [trial.Collector], [trial.Drainer] and [trial.Ender]. Methods are safe for
// concurrent use; Collect and Activity are for one goroutine.
type RemoteDriver struct {
	cfg    Config
	links  []*link
	agents []*agent

	mu      sync.Mutex
	desired int
	storms  []*workload.StormState
	sum     workload.Activity // not handed out yet, without Begun
	begun   []uint32          // from bin given on
	given   int
	stopped bool
	ended   error // of the agents that were lost at the stop
	mark    time.Duration
	ends    time.Duration // see Ends
	tick    time.Duration // of the next Collect; 0: none
	censor  *censor       // for the next Collect
	between between

	stopAt atomic.Pointer[time.Time] // when Stop was called; nil before

	relay relay
}

// agent is the coordinator's side of one process with users.
type agent struct {
	n    int
	link *link
	pid  int

	mu      sync.Mutex
	last    report
	at      time.Time // of the last report
	samples []series.Sample
	sampled time.Time
	lag     recentLag
	late    time.Duration // of its reports, the longest, forgotten slowly
	bins    int           // of 100 ms that it has reported
}

// New starts the agents. On an error, agents that had begun are stopped.
func New(ctx context.Context, cfg Config) (*RemoteDriver, error) {
	if len(cfg.Links) == 0 {
		return nil, errors.New("a fleet needs an agent")
	}
	if cfg.Patience <= 0 {
		cfg.Patience = DefaultPatience
	}
	d := newDriver(cfg)
	err := d.all(func(l *link) error { return l.start(ctx, cfg, len(d.agents)) })
	if err != nil {
		d.Stop(0)
		return nil, err
	}
	return d, nil
}

// newDriver returns the driver of agents that are not started.
func newDriver(cfg Config) *RemoteDriver {
	d := &RemoteDriver{cfg: cfg}
	each := 1
	if cfg.Hosts != nil {
		each = max(cfg.Hosts.Processes, 1)
		d.between.within = measure.NewRegistry(1)
		d.between.held = measure.NewRegistry(1)
		d.between.recent = new(measure.Histogram)
	}
	d.agents = make([]*agent, len(cfg.Links)*each)
	for k, to := range cfg.Links {
		l := newLink(k, to, cfg)
		for j := range each { // neighbors, who start together, are on different hosts
			a := &agent{n: k + j*len(cfg.Links), link: l}
			d.agents[a.n], l.agents = a, append(l.agents, a)
		}
		d.links = append(d.links, l)
	}
	return d
}

// all calls f for every link at the same time.
func (d *RemoteDriver) all(f func(*link) error) error {
	errs := make([]error, len(d.links))
	var wg sync.WaitGroup
	for k, l := range d.links {
		wg.Go(func() { errs[k] = f(l) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// each calls f for every agent, one after the other, with its lock held.
func (d *RemoteDriver) each(f func(*agent)) {
	for _, a := range d.agents {
		a.mu.Lock()
		f(a)
		a.mu.Unlock()
	}
}

// SetUsers implements [trial.Driver].
func (d *RemoteDriver) SetUsers(n int, over time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return errors.New("the fleet has stopped")
	}
	err := d.all(func(l *link) error {
		_, err := l.call(context.Background(), request{Users: &users{
			N:    n,
			Over: over,
		}}, d.cfg.Patience)
		return err
	})
	if err == nil {
		d.desired = max(n, 0)
	}
	return err
}

// Users implements [trial.Driver]: active and failed are as of the last Collect.
func (d *RemoteDriver) Users() (desired, active, failed int) {
	d.each(func(a *agent) {
		active += a.last.Active
		failed += a.last.Failed
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.desired, active, failed
}

// Tick implements [trial.Ticker].
func (d *RemoteDriver) Tick(at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tick = at
}

// Mark implements [trial.Drainer].
func (d *RemoteDriver) Mark(at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mark = at
}

// Ends implements [trial.Ender].
func (d *RemoteDriver) Ends(at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = at
}

// Censor implements [trial.Drainer].
func (d *RemoteDriver) Censor(at, timeout time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.censor = &censor{at, timeout}
}

// Open implements [trial.Drainer], as of the last Collect.
func (d *RemoteDriver) Open() (n int) {
	d.each(func(a *agent) { n += a.last.Open })
	return n
}

// Storm implements [trial.Stormer]. An agent that is lost has no part in it; the next Collect
// reports it.
func (d *RemoteDriver) Storm(s workload.Storm) *workload.StormState {
	var mu sync.Mutex
	affected := 0
	_ = d.all(func(l *link) error {
		p, err := l.call(context.Background(), request{Storm: &s}, d.cfg.Patience)
		mu.Lock()
		defer mu.Unlock()
		affected += p.Affected
		return err
	})
	state := workload.NewStormState(affected, clock.New(d.cfg.Epoch))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.storms = append(d.storms, state)
	return state
}

// Collect implements [trial.Collector].
func (d *RemoteDriver) Collect(ctx context.Context) error {
	d.mu.Lock()
	stopped, ended := d.stopped, d.ended
	mark := d.mark
	ends := d.ends
	censor := d.censor
	tick := d.tick
	d.censor, d.tick = nil, 0
	d.mu.Unlock()
	if stopped {
		return ended // Stop has collected the rest
	}
	err := d.all(func(l *link) error {
		c := &collect{Acked: l.mailed(), Mark: mark, Ends: ends, Censor: censor, At: tick}
		p, err := l.call(ctx, request{Collect: c}, d.cfg.Patience)
		if err == nil {
			err = d.takeAll(l, p)
		}
		if err == nil {
			err = l.reread(ctx, d.cfg.Patience)
		}
		return err
	})
	d.settle(tick)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, st := range d.storms {
		var sum stormProgress
		for _, a := range d.agents {
			if i < len(a.last.Storms) { // no report is under way
				g := a.last.Storms[i]
				sum.Done += g.Done
				sum.Missed += g.Missed
				sum.Took = max(sum.Took, g.Took)
			}
		}
		st.Report(sum.Done, sum.Missed, sum.Took)
	}
	return err
}

// take merges a report.
func (d *RemoteDriver) take(a *agent, r *report) error {
	if r == nil {
		return fmt.Errorf("%s sent no report", a.link)
	}
	if err := d.merge(r); err != nil {
		return fmt.Errorf("%s: %w", a.link, err)
	}
	d.early(a.link, r.Early)
	d.cfg.Tally.Gather(a.n, r.Tally)
	t := workload.Traffic{Deleted: r.Deleted, Foreign: r.Foreign}
	for _, m := range r.Acked {
		t.Acked = append(t.Acked, m.unpack(d.cfg.Epoch))
	}
	d.cfg.Ledger.Gather(a.n, t, r.Messages)
	now := time.Now()
	if len(d.links) > 1 {
		d.relay.take(a.link, r.Channels, r.Acked, now)
	}
	a.mu.Lock()
	a.took(r, now)
	from := a.bins
	a.bins += len(r.Activity.Begun)
	r.packs, r.Channels = packs{}, nil
	a.last, a.at = *r, now
	a.lag.add(r.Lag, now)
	a.mu.Unlock()
	d.mu.Lock()
	for i, n := range r.Activity.Begun {
		for from+i-d.given >= len(d.begun) {
			d.begun = append(d.begun, 0)
		}
		d.begun[from+i-d.given] += n
	}
	r.Activity.Begun = nil
	d.sum = d.sum.Add(r.Activity)
	d.mu.Unlock()
	if d.cfg.OnError != nil {
		for _, e := range r.Errors {
			err := errors.New(string(e.Text))
			if e.Panic != nil {
				err = e.Panic.error()
			}
			d.cfg.OnError(a.n, e.User, err)
		}
		if r.Unsaid > 0 {
			d.cfg.OnError(a.n, -1, fmt.Errorf("%d more errors of users", r.Unsaid))
		}
	}
	return nil
}

// Activity implements [trial.Counter], as of the last Collect.
func (d *RemoteDriver) Activity() workload.Activity {
	d.mu.Lock()
	defer d.mu.Unlock()
	whole := len(d.begun) // bins that all agents have reported
	d.each(func(a *agent) { whole = min(whole, max(0, a.bins-d.given)) })
	out := d.sum
	out.Begun = append([]uint32(nil), d.begun[:whole]...)
	d.begun = append(d.begun[:0], d.begun[whole:]...)
	d.given += whole
	d.sum = workload.Activity{}
	return out
}

// Stop implements [trial.Driver]; it collects the agents' records until their end.
func (d *RemoteDriver) Stop(grace time.Duration) {
	d.mu.Lock()
	was := d.stopped
	d.stopped = true
	d.desired = 0
	d.mu.Unlock()
	if was {
		return
	}
	now := time.Now()
	d.stopAt.Store(&now)
	err := d.all(func(l *link) error {
		defer l.to.Close()
		p, err := l.call(
			context.Background(),
			request{Stop: &stop{Grace: grace}},
			grace+d.cfg.Patience,
		)
		if err == nil {
			err = d.takeAll(l, p)
		}
		return err
	})
	d.settle(time.Since(d.cfg.Epoch))
	d.mu.Lock()
	d.ended = err // which Collect reports
	d.mu.Unlock()
}

// PIDs returns the agents' process numbers, by number.
func (d *RemoteDriver) PIDs() []int {
	out := make([]int, len(d.agents))
	for k, a := range d.agents {
		out[k] = a.pid
	}
	return out
}

// Stamps counts the clocks that stamped the agents' receptions.
func (d *RemoteDriver) Stamps() (sum wire.Clocks) {
	d.each(func(a *agent) { sum = sum.Add(a.last.Stamps) })
	return sum
}

// Refused counts the answers that the agents cut off since they began, and returns how many bytes
// of their budgets they held together, at most.
func (d *RemoteDriver) Refused() (sum wire.Refusals, held int64) {
	d.each(func(a *agent) {
		sum = sum.Add(a.last.Refused)
		held += a.last.Held
	})
	return sum, held
}

var (
	_ trial.Driver    = (*RemoteDriver)(nil)
	_ trial.Counter   = (*RemoteDriver)(nil)
	_ trial.Stormer   = (*RemoteDriver)(nil)
	_ trial.Collector = (*RemoteDriver)(nil)
	_ trial.Drainer   = (*RemoteDriver)(nil)
	_ trial.Ticker    = (*RemoteDriver)(nil)
	_ trial.Ender     = (*RemoteDriver)(nil)
)
