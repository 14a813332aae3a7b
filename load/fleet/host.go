package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/watch/series"
)

// A HostAgent starts the processes of a host and knows its coordinator.
type HostAgent struct {
	// Launch starts n agents of this host, each served by [Serve], and returns the links to them,
	// and the function that ends them.
	Launch func(ctx context.Context, n int) (links []io.ReadWriteCloser, end func(), err error)
	// Silent returns the time since anything came from the coordinator, signs of life included.
	Silent func() time.Duration
	// Samples reads the host's own probes whenever its first process has read its own, about once a
	// second; nil for none. They travel in that process's report.
	Samples func(context.Context, time.Time) ([]series.Sample, error)

	wall func() time.Time // for tests: another clock
}

// stoodStill is the lag beyond which an agent has stood still.
const stoodStill = time.Second

// errSilent reports that the coordinator was silent for too long, and errUnbegun that it was so
// before it had started users.
var (
	errSilent  = errors.New("the coordinator is gone: the users have left")
	errUnbegun = errors.New("the coordinator is gone: it had started no users")
)

// mostUnbegun is the longest silence of a coordinator before it has started users. It gives up an
// agent that is silent for 20 s ([plan.Fleet]).
const mostUnbegun = 30 * time.Second

// watchEvery is the time between two looks for a silent coordinator.
const watchEvery = 250 * time.Millisecond

// hosted is the state of a host in one run.
type hosted struct {
	HostAgent
	start  *hostStart
	driver *RemoteDriver // of this host's processes; its registry and ledger stay empty
	end    func()
	epoch  time.Time // of the run, with both clocks

	last  time.Duration // the last tick that was collected
	fixed bool          // the mark stays where it is: a phase is being drained
	mark  time.Duration
	ends  time.Duration // it is not set beyond without a request; 0 for no such bound
	kept  []round
	mail  map[*link][]message // of the host's own processes to each other
	// broken is the error of a tick that the host collected by itself, and whose records are lost.
	// It answers later requests.
	broken error

	mu    sync.Mutex
	panic *panicked // of a process, that the coordinator does not know yet
}

// round holds the reports of one tick that the coordinator has not had yet.
type round struct {
	at    time.Duration
	parts []part
}

// ServeHost is the life of another host's agent in one run: like [Serve], but the users are in
// processes of this host, which it leads, and whose reports it sends together. When no request of a
// tick comes, it collects them by itself and keeps them, so that each tick's records come as a
// report of that tick, however late. When the coordinator is silent for as long as the start has
// said, the users leave and it returns an error. That holds also while out takes no more of a
// reply: its write is given up then, and ends when out is closed.
func ServeHost(ctx context.Context, in io.Reader, out io.Writer, h HostAgent) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	base := time.Now()
	if h.wall == nil {
		// Steps of the wall clock are no drift.
		h.wall = func() time.Time { return base.Round(0).Add(time.Since(base)) }
	}
	s := &hosted{HostAgent: h, mail: map[*link][]message{}}
	defer s.close()
	requests, broken := readRequests(ctx, in, h.wall)
	replies := replyWriter{to: out}
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	var written chan error // gets the end of the reply that is being written; nil for none
	var over bool          // that reply is the last, and ends this life with last
	var last error
	for {
		due := s.due()
		come := requests
		lost := broken
		if written != nil {
			come = nil
		}
		if over { // whether its coordinator gets the last reply is all that matters
			due, lost = nil, nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-lost:
			if s.driver != nil && s.start.Over > 0 {
				s.leave(ctx)
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
				return errSilent
			}
			return fmt.Errorf("a request cannot be read: %w", err)
		case <-due:
			s.cut(ctx)
		case <-look.C:
			if err := s.forsaken(ctx); err != nil {
				return err
			}
		case err := <-written:
			if written = nil; err != nil {
				return fmt.Errorf("a reply cannot be sent: %w", err)
			}
			if over {
				return last
			}
		case r := <-come:
			p := reply{Received: r.at}
			err := boundary.Do("a request", func() error { return s.do(ctx, r.request, &p) })
			if err != nil {
				p.Error, p.Panic, p.Lost = errorText(err), panicOf(err), errors.Is(err, errProcess)
				if p.Panic == nil {
					p.Panic = s.panicked()
				}
			}
			p.Replied = h.wall()
			end := make(chan error, 1)
			// A link that is cut takes a large reply when it is whole again, or never.
			go func() { end <- replies.write(p) }()
			written = end
			if over = p.Lost || r.Stop != nil; p.Lost { // the run is over
				last = err
			}
		}
	}
}

// forsaken returns an error when the coordinator has been silent for too long. Then the users have
// left.
func (s *hosted) forsaken(ctx context.Context) error {
	silent := s.Silent()
	switch {
	case s.driver == nil && silent >= mostUnbegun:
		return errUnbegun
	case s.driver == nil || s.start.Leave <= 0 || silent < s.start.Leave:
		return nil
	}
	s.leave(ctx)
	return errSilent
}

// panicked takes the last panic of a process.
func (s *hosted) panicked() *panicked {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.panic
	s.panic = nil
	return p
}

func (s *hosted) close() {
	if s.driver != nil && !s.driver.stopped { // nobody takes the last reports
		_ = s.driver.all(func(l *link) error {
			_, err := l.call(context.Background(), request{Stop: &stop{}}, DefaultPatience)
			return err
		})
	}
	if s.end != nil {
		s.end()
	}
}

// leave ends the users over the time of the start.
func (s *hosted) leave(ctx context.Context) {
	_ = s.driver.SetUsers(0, s.start.Over) // a process that is lost has none
	_ = clock.Sleep(ctx, s.start.Over)
}

// each sends a request to every process at the same time.
func (s *hosted) each(
	ctx context.Context,
	patience time.Duration,
	of func(*link) request,
	take func(*link, reply),
) error {
	return s.driver.all(func(l *link) error {
		p, err := l.call(ctx, of(l), patience)
		take(l, p)
		return ofProcess(err)
	})
}

// slack returns the lateness of a tick's request beyond which the reports are collected without it.
func (s *hosted) slack() time.Duration { return max(s.start.Tick/2, 250*time.Millisecond) }

// due returns a channel that reports when the next tick is collected without a request; nil for
// never.
func (s *hosted) due() <-chan time.Time {
	if s.driver == nil || s.start.Tick <= 0 {
		return nil
	}
	at := s.last + s.start.Tick
	if len(s.kept) == 0 {
		at += s.slack()
	}
	return time.After(at - time.Since(s.epoch))
}

// cut collects the next tick's reports and keeps them.
func (s *hosted) cut(ctx context.Context) {
	s.last += s.start.Tick
	if !s.fixed {
		if s.mark = s.last; s.ends > 0 {
			s.mark = min(s.last, s.ends)
		}
	}
	parts, err := s.collect(ctx, &collect{Mark: s.mark, At: s.last})
	if err != nil {
		s.broken = err // the next request is answered with it
		return
	}
	s.kept = append(s.kept, round{s.last, parts})
}

// do carries out a request.
func (s *hosted) do(ctx context.Context, r request, p *reply) (err error) {
	switch {
	case r.Clock != nil:
		return nil
	case r.Start != nil:
		return s.begin(ctx, r.Start, p)
	case s.driver == nil:
		return errNotBegun
	case r.Collect != nil:
		p.Parts, err = s.answer(ctx, r.Collect)
	case r.Stop != nil:
		p.Parts, err = s.stop(ctx, r)
	case r.Users != nil, r.Storm != nil:
		var mu sync.Mutex
		err = s.each(ctx, DefaultPatience, func(*link) request {
			return r
		}, func(_ *link, q reply) {
			mu.Lock()
			defer mu.Unlock()
			p.Affected += q.Affected
		})
	default:
		return errKind
	}
	return err
}

// errProcess reports that a process of this host is lost.
var errProcess = errors.New("a process of this host is lost")

func ofProcess(err error) error {
	if _, is := errors.AsType[refused](err); err == nil || is {
		return err
	}
	return fmt.Errorf("%w: %w", errProcess, err)
}

// begin starts the processes with their parts of the users.
func (s *hosted) begin(ctx context.Context, st *Start, p *reply) error {
	h := st.Host
	switch {
	case s.driver != nil:
		return errBegun
	case h == nil || h.Processes < 1 || h.Processes > plan.MostProcesses || h.Hosts < 1 ||
		h.Hosts > plan.MostAgents:
		return errors.New("start: want the processes of this host, and the number of hosts")
	case st.Agents != h.Hosts*h.Processes || st.Agent < 0 || st.Agent >= h.Hosts:
		return fmt.Errorf(
			"start: host %d of %d with %d of %d processes",
			st.Agent,
			h.Hosts,
			h.Processes,
			st.Agents,
		)
	case len(h.Settings) != h.Processes:
		return fmt.Errorf("start: settings of %d processes, want %d", len(h.Settings), h.Processes)
	case h.Tick < 0 || h.Leave < 0 || h.Over < 0:
		return errors.New("start: a time is negative")
	}
	now, wall := time.Now(), s.wall()
	s.epoch = now.Add(st.Epoch.Sub(wall))
	links, end, err := s.Launch(ctx, h.Processes)
	if err != nil {
		return err
	}
	s.start, s.end = h, end
	s.driver = newDriver(Config{
		Links:    links,
		Patience: DefaultPatience,
		OnError: func(_, _ int, err error) {
			s.mu.Lock()
			s.panic = panicOf(err)
			s.mu.Unlock()
		},
	})
	err = s.each(ctx, startPatience, func(l *link) request {
		return request{Start: &Start{
			Agent:    st.Agent + l.n*h.Hosts,
			Agents:   st.Agents,
			Epoch:    s.epoch.Round(0),
			Settings: h.Settings[l.n],
		}}
	}, func(l *link, q reply) { l.agents[0].pid = q.PID })
	p.PIDs = s.driver.PIDs()
	return err
}

// collect collects the reports of the processes, and passes their messages on to each other.
func (s *hosted) collect(ctx context.Context, c *collect) ([]part, error) {
	parts := make([]part, len(s.driver.links))
	late := time.Duration(0)
	// Where this process itself was held up, records of several ticks come as one.
	if s.start.Tick > 0 && c.At > 0 {
		if late = time.Since(s.epoch) - c.At - s.slack(); late < stoodStill {
			late = 0
		}
	}
	err := s.each(ctx, DefaultPatience, func(l *link) request {
		own := *c
		own.Acked = slices.Concat(c.Acked, s.mail[l])
		return request{Collect: &own}
	}, func(l *link, p reply) { parts[l.n] = part{l.n, c.At, late, p.Report} })
	if err != nil {
		return nil, err
	}
	if first := parts[0].Report; s.Samples != nil && first != nil && len(first.Samples) > 0 {
		samples, err := s.Samples(ctx, time.Now())
		first.Samples = append(first.Samples, samples...)
		if err != nil && len(first.Errors) < mostErrors {
			first.Errors = append(first.Errors, userError{User: -1, Text: errorText(err)})
		}
	}
	clear(s.mail)
	for _, from := range s.driver.links {
		for _, to := range s.driver.links {
			if acked := parts[from.n].Report; to != from && acked != nil {
				s.mail[to] = append(s.mail[to], acked.Acked...)
			}
		}
	}
	return parts, nil
}

// answer replies to a collect with the kept reports up to its tick, or the reports of now.
func (s *hosted) answer(ctx context.Context, c *collect) (out []part, err error) {
	if s.broken != nil {
		return nil, s.broken
	}
	s.ends = c.Ends
	s.fixed = c.Mark < c.At || c.At == 0 && c.Mark > 0
	if c.At > 0 && len(s.kept) > 0 {
		n := 0
		for ; n < len(s.kept) && s.kept[n].at <= c.At; n++ {
			out = append(out, s.kept[n].parts...)
		}
		s.kept = append([]round(nil), s.kept[n:]...)
		if c.At <= s.last {
			s.hear(c)
			return out, nil
		}
	}
	for _, k := range s.kept { // one between two ticks brings all there is
		out = append(out, k.parts...)
	}
	s.kept = nil
	parts, err := s.collect(ctx, c)
	s.last, s.mark = max(s.last, c.At), max(s.mark, c.Mark)
	return append(out, parts...), err
}

// hear keeps the coordinator's mail for the next collect.
func (s *hosted) hear(c *collect) {
	for _, l := range s.driver.links {
		s.mail[l] = append(s.mail[l], c.Acked...)
	}
}

// stop ends the users and returns their last reports.
func (s *hosted) stop(ctx context.Context, r request) (out []part, err error) {
	for _, k := range s.kept {
		out = append(out, k.parts...)
	}
	parts := make([]part, len(s.driver.links))
	err = s.each(ctx, r.Stop.Grace+DefaultPatience, func(*link) request {
		return r
	}, func(l *link, p reply) {
		parts[l.n] = part{Process: l.n, Report: p.Report}
	})
	s.driver.stopped = true
	return append(out, parts...), errors.Join(err, s.broken)
}
