package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/watch/series"
)

// mostAway limits how far the run's epoch is from this process' clock: a schedule that begins
// farther off is reckoned arrival by arrival.
const mostAway = 24 * time.Hour

// check refuses a start that no coordinator sends.
func (s *Start) check(now time.Time) error {
	const most = plan.MostProcesses * plan.MostAgents
	if s.Agent < 0 || s.Agents < 0 || s.Agents > most || s.Agent > 0 && s.Agent >= s.Agents {
		return fmt.Errorf("start: agent %d of %d; want one of at most %d", s.Agent, s.Agents, most)
	}
	if away := s.Epoch.Sub(now); away.Abs() > mostAway {
		return fmt.Errorf("start: the epoch %s is more than %v from this clock",
			s.Epoch.UTC().Format(time.RFC3339), mostAway)
	}
	return nil
}

// mostErrors is the number of users' errors that one report carries.
const mostErrors = 50

// mostErrorText is the number of bytes of one error that a reply carries: an error may quote what
// the coordinator sent.
const mostErrorText = 1500

func errorText(err error) foreign { return foreign(plain.Cut(err.Error(), mostErrorText)) }

// An Agent is an engine with the recorders of its users, driven by [Serve]. All fields but Samples
// are required.
type Agent struct {
	Engine   *engine.Local
	Registry *measure.Registry
	Tally    *workload.Tally
	Ledger   *workload.Ledger // that shares
	// Samples reads this process's own probe, about once a second.
	Samples func(context.Context, time.Time) ([]series.Sample, error)
}

// A Build makes an agent. epoch is the run's on this process's clock; onError is for the engine.
type Build func(ctx context.Context, s Start, epoch time.Time,
	onError func(user int, err error)) (*Agent, error)

// Serve is an agent's life: it carries out the requests that come in until it gets a request to
// stop, in ends or ctx does. Then the users have stopped. The error is nil only after a request to
// stop, and when nothing of the agent panicked. A request that panics is answered with an error; it
// and the panics of users are reported to the coordinator.
func Serve(ctx context.Context, in io.Reader, out io.Writer, build Build) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &served{build: build, sampled: time.Now()}
	defer func() {
		if s.agent != nil {
			// It can only be the second.
			_ = boundary.Do("stopping", func() error { s.agent.Engine.Stop(0); return nil })
		}
	}()
	requests, broken := readRequests(ctx, in, time.Now)
	replies := replyWriter{to: out}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-broken:
			if errors.Is(err, io.EOF) {
				return errors.New("the coordinator is gone")
			}
			return fmt.Errorf("a request cannot be read: %w", err)
		case r := <-requests:
			p := reply{Received: r.at}
			err := boundary.Do("a request", func() error { return s.do(ctx, r.request, &p) })
			if err != nil {
				p.Error, p.Panic = errorText(err), panicOf(err)
				if p.Panic != nil {
					s.panicked()
				}
			}
			p.Replied = time.Now()
			if err := replies.write(p); err != nil {
				return fmt.Errorf("a reply cannot be sent: %w", err)
			}
			if r.Stop != nil {
				return s.whole()
			}
		}
	}
}

// Refusals of requests that no coordinator of this program sends.
var (
	errBegun    = errors.New("the agent has begun already")
	errNotBegun = errors.New("the agent has not begun")
	errKind     = errors.New(
		"the request is of no kind that this agent knows; are both programs of one version?",
	)
)

// incoming is a request, and when it came.
type incoming struct {
	request
	at time.Time
}

// readRequests reads requests until ctx ends, or one cannot be read.
func readRequests(ctx context.Context, in io.Reader,
	now func() time.Time) (<-chan incoming, <-chan error) {
	requests, broken := make(chan incoming), make(chan error, 1)
	go func() {
		dec := json.NewDecoder(in)
		for {
			var r incoming
			if err := dec.Decode(&r.request); err != nil {
				broken <- err
				return
			}
			r.at = now()
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return requests, broken
}

// served is the state of an agent.
type served struct {
	build   Build
	agent   *Agent
	epoch   time.Time
	storms  []*workload.StormState
	sampled time.Time
	held    int64 // bytes of the process's budget, at most at once

	mu     sync.Mutex // of:
	errs   []userError
	unsaid int
	panics int
}

func (s *served) panicked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panics++
}

// whole is nil if nothing has panicked.
func (s *served) whole() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics > 0 {
		return fmt.Errorf(
			"%d panics: a defect of this program, whose stacks are with who leads the "+
				"fleet",
			s.panics,
		)
	}
	return nil
}

func (s *served) onError(user int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := panicOf(err)
	if p != nil {
		s.panics++
	}
	const most = mostErrors // and panics have room of their own
	if len(s.errs) >= most && (p == nil || len(s.errs) >= 2*most) {
		s.unsaid++
		return
	}
	s.errs = append(s.errs, userError{user, errorText(err), p})
}

func (s *served) do(ctx context.Context, r request, p *reply) (err error) {
	if r.Start != nil {
		if s.agent != nil {
			return errBegun
		}
		if err := r.Start.check(time.Now()); err != nil {
			return err
		}
		now := time.Now() // with both clocks: the epoch gets a place on the monotonic one
		epoch := now.Add(r.Start.Epoch.Sub(now.Round(0)))
		agent, err := s.build(ctx, *r.Start, epoch, s.onError)
		if err != nil {
			return err // and it has not begun
		}
		s.epoch, s.agent = epoch, agent
		p.PID = os.Getpid()
		return nil
	}
	if s.agent == nil {
		return errNotBegun
	}
	switch {
	case r.Users != nil:
		if n := r.Users.N; n < 0 || n > plan.MaxUsers || r.Users.Over < 0 {
			return fmt.Errorf(
				"users: %d over %v; want 0 to %d over no negative time",
				n,
				r.Users.Over,
				plan.MaxUsers,
			)
		}
		return s.agent.Engine.SetUsers(r.Users.N, r.Users.Over)
	case r.Storm != nil:
		if st := r.Storm; st.Share < 0 || st.Share > 1 || st.Over < 0 {
			return fmt.Errorf(
				"storm: a share of %v over %v; want 0 to 1 over no negative time",
				st.Share,
				st.Over,
			)
		}
		state := s.agent.Engine.Storm(*r.Storm)
		s.storms = append(s.storms, state)
		p.Affected = state.Affected
	case r.Collect != nil:
		now := time.Now()
		for _, m := range r.Collect.Acked {
			s.agent.Ledger.Heard(m.unpack(s.epoch), now)
		}
		if r.Collect.Mark > 0 {
			s.agent.Registry.Mark(r.Collect.Mark)
		}
		if c := r.Collect.Censor; c != nil {
			s.agent.Registry.Censor(c.At, c.Timeout)
		}
		p.Report, err = s.report(ctx)
	case r.Stop != nil:
		s.agent.Ledger.Settle(time.Now())
		s.agent.Engine.Stop(r.Stop.Grace)
		p.Report, err = s.report(ctx)
	default:
		return errKind
	}
	return err
}

// report collects the records until now.
func (s *served) report(ctx context.Context) (*report, error) {
	a := s.agent
	// Operations under way are counted first: those that end meanwhile are in the windows below.
	r := &report{Open: a.Registry.Open(), Activity: a.Engine.Activity(), Tally: a.Tally.Snapshot(),
		Stamps: wire.Stamps(), Refused: wire.Refused()}
	s.held = max(s.held, wire.Process().Peak())
	r.Held = s.held
	_, r.Active, r.Failed = a.Engine.Users()
	now := time.Now()
	if now.Sub(s.sampled) >= 900*time.Millisecond {
		a.Ledger.Settle(now)
		if a.Samples != nil {
			var err error
			if r.Samples, err = a.Samples(ctx, now); err != nil {
				s.onError(-1, err)
			}
		}
		s.sampled = now
	}
	t := a.Ledger.Outbox()
	r.Acked = packMessages(t.Acked, s.epoch)
	r.Deleted = t.Deleted
	r.Foreign = t.Foreign
	r.Early = t.Early
	r.Channels = t.Channels
	r.Messages = a.Ledger.Count()
	for _, st := range s.storms {
		var g stormProgress
		g.Done, g.Missed, g.Took = st.Progress()
		r.Storms = append(r.Storms, g)
	}
	s.mu.Lock()
	r.Errors, r.Unsaid = s.errs, s.unsaid
	s.errs, s.unsaid = nil, 0
	s.mu.Unlock()
	var err error
	ws := a.Registry.Cut()
	for _, w := range ws {
		if w.Lag.Count() > 0 {
			r.Lag = max(r.Lag, w.Lag.Max())
		}
	}
	r.packs, err = packWindows(ws)
	return r, err
}
