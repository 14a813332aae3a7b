package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

const (
	// DefaultPatience is how long an agent may take for a reply.
	DefaultPatience = 5 * time.Second
	// startPatience is how long it may take to build its engine.
	startPatience = 30 * time.Second
	// stale is the age of a report beyond which an agent's samples are missing.
	stale = 3 * time.Second
)

// Config configures a [RemoteDriver]. All fields but OnError and Patience are required.
type Config struct {
	// Links lead to the agents: writes reach agent k's Serve, and reads return its replies. They are closed by Stop.
	Links []io.ReadWriteCloser
	// Epoch is the run's.
	Epoch time.Time
	// Settings are given to every agent, with its number.
	Settings json.RawMessage
	// Registry, Tally and Ledger receive the records of all agents.
	Registry *measure.Registry
	Tally    *workload.Tally
	Ledger   *workload.Ledger
	// OnError is called for users that failed, and for errors of an agent itself (then user is -1). A panic
	// there is a
	// *boundary.Panic here.
	OnError func(agent, user int, err error)
	// Patience is how long an agent may take for a reply; 0 means DefaultPatience.
	Patience time.Duration
}

// A RemoteDriver drives users in other processes. It is a [trial.Driver], [trial.Counter], [trial.Stormer],
// [trial.Collector] and [trial.Drainer]. Methods are safe for concurrent use; Collect and Activity are for one
// goroutine.
type RemoteDriver struct {
	cfg    Config
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
	censor  *censor // for the next Collect
}

// agent is the coordinator's side of one.
type agent struct {
	n, of int
	link  io.ReadWriteCloser
	enc   *json.Encoder
	dec   *json.Decoder
	pid   int

	onPanic func(error) // may be nil

	talk sync.Mutex // one request at a time; guards lost
	lost error

	mu      sync.Mutex
	last    report
	at      time.Time // of the last report
	samples []series.Sample
	sampled time.Time
	bins    int            // of 100 ms that it has reported
	mail    []message      // acknowledged elsewhere, for its next collect
	offsets [8]clockSample // the last ones
	replies int
}

type clockSample struct{ offset, way time.Duration }

// New starts the agents. On an error those that had begun are stopped.
func New(ctx context.Context, cfg Config) (*RemoteDriver, error) {
	if len(cfg.Links) == 0 {
		return nil, errors.New("a fleet needs an agent")
	}
	if cfg.Patience <= 0 {
		cfg.Patience = DefaultPatience
	}
	d := &RemoteDriver{cfg: cfg}
	for k, link := range cfg.Links {
		var onPanic func(error)
		if cfg.OnError != nil {
			onPanic = func(err error) { cfg.OnError(k, -1, err) }
		}
		d.agents = append(d.agents, &agent{onPanic: onPanic, n: k, of: len(cfg.Links), link: link, enc: json.NewEncoder(link), dec: json.NewDecoder(link)})
	}
	err := d.all(func(a *agent) error {
		r, err := a.call(ctx, request{Start: &Start{Agent: a.n, Agents: a.of, Epoch: cfg.Epoch.Round(0), Settings: cfg.Settings}}, startPatience)
		a.pid = r.PID
		return err
	})
	if err != nil {
		d.Stop(0)
		return nil, err
	}
	return d, nil
}

// all calls f for every agent at the same time.
func (d *RemoteDriver) all(f func(*agent) error) error {
	errs := make([]error, len(d.agents))
	var wg sync.WaitGroup
	for k, a := range d.agents {
		wg.Go(func() { errs[k] = f(a) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// refused is an error that an agent replied; it is there still.
type refused struct{ error }

// call sends a request and waits for the reply. An agent that does not reply is lost from then on.
func (a *agent) call(ctx context.Context, r request, patience time.Duration) (p reply, err error) {
	a.talk.Lock()
	defer a.talk.Unlock()
	if a.lost != nil {
		return p, a.lost
	}
	if err := ctx.Err(); err != nil {
		return p, context.Cause(ctx)
	}
	sent := time.Now()
	done := make(chan error, 1)
	go func() {
		if err := a.enc.Encode(r); err != nil {
			done <- gone(err)
			return
		}
		if err := a.dec.Decode(&p); err != nil {
			done <- gone(err)
			return
		}
		done <- nil
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err = <-done:
	case <-timer.C:
		_ = a.link.Close() // ends the read
		<-done
		err = fmt.Errorf("no reply within %v", patience)
	}
	if err != nil {
		a.lost = fmt.Errorf("%w: %d of %d: %w", trial.ErrLost, a.n+1, a.of, err)
		return p, a.lost
	}
	came := time.Now()
	if p.Panic != nil && a.onPanic != nil {
		a.onPanic(p.Panic.error())
	}
	if p.Error != "" {
		return p, refused{fmt.Errorf("agent %d of %d: %s", a.n+1, a.of, p.Error)}
	}
	a.clock(sent.Round(0), came.Round(0), p)
	return p, nil
}

// gone returns a readable error for a stream that has ended.
func gone(err error) error {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.EPIPE} {
		if errors.Is(err, end) {
			return errors.New("its process has ended")
		}
	}
	return err
}

// clock takes in one measurement of the clocks' distance.
func (a *agent) clock(sent, came time.Time, p reply) {
	out, back := p.Received.Sub(sent), p.Replied.Sub(came)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.offsets[a.replies%len(a.offsets)] = clockSample{(out + back) / 2, came.Sub(sent) - p.Replied.Sub(p.Received)}
	a.replies++
}

// SetUsers implements [trial.Driver].
func (d *RemoteDriver) SetUsers(n int, over time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return errors.New("the fleet has stopped")
	}
	err := d.all(func(a *agent) error {
		_, err := a.call(context.Background(), request{Users: &users{N: n, Over: over}}, d.cfg.Patience)
		return err
	})
	if err == nil {
		d.desired = max(n, 0)
	}
	return err
}

// Users implements [trial.Driver]: active and failed are as of the last Collect.
func (d *RemoteDriver) Users() (desired, active, failed int) {
	for _, a := range d.agents {
		a.mu.Lock()
		active += a.last.Active
		failed += a.last.Failed
		a.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.desired, active, failed
}

// Mark implements [trial.Drainer].
func (d *RemoteDriver) Mark(at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mark = at
}

// Censor implements [trial.Drainer].
func (d *RemoteDriver) Censor(at, timeout time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.censor = &censor{at, timeout}
}

// Open implements [trial.Drainer], as of the last Collect.
func (d *RemoteDriver) Open() (n int) {
	for _, a := range d.agents {
		a.mu.Lock()
		n += a.last.Open
		a.mu.Unlock()
	}
	return n
}

// Storm implements [trial.Stormer]. An agent that is lost has no part in it; the next Collect reports
// it.
func (d *RemoteDriver) Storm(s workload.Storm) *workload.StormState {
	var mu sync.Mutex
	affected := 0
	_ = d.all(func(a *agent) error {
		p, err := a.call(context.Background(), request{Storm: &s}, d.cfg.Patience)
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
	mark, censor := d.mark, d.censor
	d.censor = nil
	d.mu.Unlock()
	if stopped {
		return ended // Stop has collected the rest
	}
	err := d.all(func(a *agent) error {
		a.mu.Lock()
		mail := a.mail
		a.mail = nil
		a.mu.Unlock()
		p, err := a.call(ctx, request{Collect: &collect{Acked: mail, Mark: mark, Censor: censor}}, d.cfg.Patience)
		if err != nil {
			return err
		}
		return d.take(a, p.Report)
	})
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
		return fmt.Errorf("agent %d of %d sent no report", a.n+1, a.of)
	}
	windows, err := unpackWindows(r.Windows)
	if err != nil {
		return fmt.Errorf("agent %d of %d: %w", a.n+1, a.of, err)
	}
	d.cfg.Registry.Merge(windows)
	d.cfg.Tally.Gather(a.n, r.Tally)
	t := workload.Traffic{Deleted: r.Deleted, Foreign: r.Foreign}
	for _, m := range r.Acked {
		t.Acked = append(t.Acked, m.unpack(d.cfg.Epoch))
	}
	d.cfg.Ledger.Gather(a.n, t, r.Messages)
	if len(r.Acked) > 0 {
		for _, other := range d.agents {
			if other != a {
				other.mu.Lock()
				other.mail = append(other.mail, r.Acked...)
				other.mu.Unlock()
			}
		}
	}
	now := time.Now()
	a.mu.Lock()
	if len(r.Samples) > 0 {
		a.samples, a.sampled = r.Samples, now
	}
	from := a.bins
	a.bins += len(r.Activity.Begun)
	a.last, a.at = *r, now
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
			err := errors.New(e.Text)
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
	for _, a := range d.agents {
		a.mu.Lock()
		whole = min(whole, max(0, a.bins-d.given))
		a.mu.Unlock()
	}
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
	err := d.all(func(a *agent) error {
		defer a.link.Close()
		p, err := a.call(context.Background(), request{Stop: &stop{Grace: grace}}, grace+d.cfg.Patience)
		if err == nil {
			err = d.take(a, p.Report)
		}
		return err
	})
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
	for _, a := range d.agents {
		a.mu.Lock()
		s := a.last.Stamps
		a.mu.Unlock()
		sum = sum.Add(s)
	}
	return sum
}

// Refused counts the answers that the agents cut off since they began, and returns how many bytes of their budgets
// they held together, at most.
func (d *RemoteDriver) Refused() (sum wire.Refusals, held int64) {
	for _, a := range d.agents {
		a.mu.Lock()
		sum, held = sum.Add(a.last.Refused), held+a.last.Held
		a.mu.Unlock()
	}
	return sum, held
}

// Clocks returns by how much the wall clock of an agent differs from this process's, at most of all agents.
func (d *RemoteDriver) Clocks() (worst time.Duration) {
	for _, a := range d.agents {
		a.mu.Lock()
		best := clockSample{way: 1 << 62}
		for _, s := range a.offsets[:min(a.replies, len(a.offsets))] {
			if s.way < best.way {
				best = s
			}
		}
		a.mu.Unlock()
		worst = max(worst, best.offset.Abs())
	}
	return worst
}

// Name implements [plimsoll/probe.Probe].
func (d *RemoteDriver) Name() string { return "agents" }

// Sample implements [plimsoll/probe.Probe]: the last samples of the agents' own probes, with the label
// agent.
func (d *RemoteDriver) Sample(context.Context, time.Time) (out []series.Sample, err error) {
	for k, a := range d.agents {
		a.mu.Lock()
		samples, at := a.samples, a.sampled
		a.mu.Unlock()
		if time.Since(at) > stale {
			err = errors.Join(err, fmt.Errorf("agent %d has sent no samples for more than %v", k, stale))
			continue
		}
		for _, s := range samples {
			s.Labels = append(append([]series.Label(nil), s.Labels...), Label(k))
			out = append(out, s)
		}
	}
	return out, err
}

// Label is the label of agent k's series.
func Label(k int) series.Label { return series.Label{Name: "agent", Value: fmt.Sprint(k)} }

var (
	_ trial.Driver    = (*RemoteDriver)(nil)
	_ trial.Counter   = (*RemoteDriver)(nil)
	_ trial.Stormer   = (*RemoteDriver)(nil)
	_ trial.Collector = (*RemoteDriver)(nil)
	_ trial.Drainer   = (*RemoteDriver)(nil)
)
