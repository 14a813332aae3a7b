package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/run/trial"
)

// link is the coordinator's side of one link: to a process of this host, or to another host with
// some.
type link struct {
	n, of   int
	name    string // of the other host
	to      io.ReadWriteCloser
	replies *replyReader
	agents  []*agent // that it leads to
	base    time.Time
	epoch   time.Duration // of the run, from base

	onPanic func(error) // may be nil

	talk sync.Mutex // one request at a time; guards lost
	lost error

	asked atomic.Pointer[time.Time] // when the request was sent that is not answered; nil for none

	mu    sync.Mutex
	mail  []message // acknowledged elsewhere, for its next collect, in the time of the run
	clock clockFit
	ahead time.Duration // of its clock when it was started

	stalls []Stall
}

func newLink(k int, to io.ReadWriteCloser, cfg Config) *link {
	l := &link{n: k, of: len(cfg.Links), to: to, replies: newReplyReader(to), base: time.Now()}
	l.epoch = cfg.Epoch.Sub(l.base)
	if cfg.Hosts != nil {
		l.name = cfg.Hosts.Names[k]
	}
	if cfg.OnError != nil {
		l.onPanic = func(err error) { cfg.OnError(k, -1, err) }
	}
	return l
}

func (l *link) String() string {
	if l.name != "" {
		return fmt.Sprintf("agent %d of %d (%s)", l.n+1, l.of, l.name)
	}
	return fmt.Sprintf("agent %d of %d", l.n+1, l.of)
}

// start starts the agents behind the link.
func (l *link) start(ctx context.Context, cfg Config, agents int) error {
	s := &Start{Agent: l.n, Agents: agents, Epoch: cfg.Epoch.Round(0)}
	each := make([]json.RawMessage, len(l.agents))
	for j, a := range l.agents {
		var err error
		if each[j], err = cfg.Settings(a.n); err != nil {
			return fmt.Errorf("%s: settings: %w", l, err)
		}
	}
	if h := cfg.Hosts; h != nil {
		for range exchanges {
			if _, err := l.call(ctx, request{Clock: &struct{}{}}, cfg.Patience); err != nil {
				return err
			}
		}
		l.mu.Lock()
		l.ahead, _ = l.clock.at(time.Since(l.base))
		l.mu.Unlock()
		s.Epoch = s.Epoch.Add(l.ahead)
		s.Host = &hostStart{Hosts: l.of, Processes: len(l.agents), Settings: each, Tick: h.Tick,
			Leave: h.Leave, Over: h.Over}
	} else {
		s.Settings = each[0]
	}
	p, err := l.call(ctx, request{Start: s}, startPatience)
	if err != nil {
		return err
	}
	if cfg.Hosts == nil {
		p.PIDs = []int{p.PID}
	}
	if len(p.PIDs) != len(l.agents) {
		return fmt.Errorf("%s has started %d processes, want %d", l, len(p.PIDs), len(l.agents))
	}
	for j, a := range l.agents {
		a.pid = p.PIDs[j]
	}
	return nil
}

// refused is an error that an agent replied; it is there still.
type refused struct{ error }

// call sends a request and waits for the reply. An agent that does not reply is lost from then on.
func (l *link) call(ctx context.Context, r request, patience time.Duration) (p reply, err error) {
	l.talk.Lock()
	defer l.talk.Unlock()
	if l.lost != nil {
		return p, l.lost
	}
	if err := ctx.Err(); err != nil {
		return p, context.Cause(ctx)
	}
	sent := time.Now()
	l.asked.Store(&sent)
	defer l.asked.Store(nil)
	done := make(chan error, 1)
	go func() {
		if err := json.NewEncoder(l.to).Encode(r); err != nil {
			done <- gone(err)
			return
		}
		if err := l.replies.read(&p); err != nil {
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
		_ = l.to.Close() // ends the read
		<-done
		err = fmt.Errorf("no reply within %v", patience)
	}
	if err != nil {
		l.lost = fmt.Errorf("%w: %s: %w", trial.ErrLost, l, err)
		return p, l.lost
	}
	came := time.Now()
	if p.Panic != nil && l.onPanic != nil {
		l.onPanic(p.Panic.error())
	}
	if p.Error != "" && p.Lost {
		l.lost = fmt.Errorf("%w: %s: %s", trial.ErrLost, l, p.Error)
		return p, l.lost
	}
	if p.Error != "" {
		return p, refused{fmt.Errorf("%s: %s", l, p.Error)}
	}
	l.measure(sent, came, p)
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

// mailed takes the mail, in the time of the agent.
func (l *link) mailed() []message {
	l.mu.Lock()
	defer l.mu.Unlock()
	mail := l.mail
	l.mail = nil
	off := l.clock.doubt(time.Since(l.base))
	for i := range mail {
		m := &mail[i]
		m.shift(l.drifted, 1)
		l.receives(m, off)
	}
	return mail
}

// post adds to the mail.
func (l *link) post(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mail = append(l.mail, m)
}

// takeAll merges the reports of a reply, with the instants of messages mapped to the time of the
// run.
func (d *RemoteDriver) takeAll(l *link, p reply) error {
	parts := p.Parts
	if d.cfg.Hosts == nil {
		parts = []part{{Report: p.Report}}
	}
	for _, x := range parts {
		if x.Process < 0 || x.Process >= len(l.agents) {
			return fmt.Errorf(
				"%s sent a report of its process %d of %d",
				l,
				x.Process+1,
				len(l.agents),
			)
		}
		if x.Report != nil {
			l.mu.Lock()
			off := l.clock.doubt(time.Since(l.base))
			for i := range x.Report.Acked {
				m := &x.Report.Acked[i]
				m.shift(l.drifted, -1)
				l.sends(m, off)
			}
			l.mu.Unlock()
		}
		if err := d.take(l.agents[x.Process], x.Report); err != nil {
			return err
		}
		if lag := max(x.Late, x.Report.Lag); lag > stoodStill && d.cfg.Hosts != nil {
			l.mu.Lock()
			l.stalls = append(l.stalls, Stall{l.String(), x.At, lag})
			l.stalls = slices.Delete(l.stalls, 0, max(0, len(l.stalls)-mostStalls))
			l.mu.Unlock()
		}
	}
	return nil
}

// mostStalls is the number of stalls of an agent that are kept: the newest, as the measured phase
// is near the end of a run.
const mostStalls = 1000

// A Stall is a tick in which an agent elsewhere was late by more than a second, by itself or in an
// operation. Among many agents one would not show in the lag of all.
type Stall struct {
	Agent string
	At    time.Duration // the end of the tick; 0 for a report between two
	Lag   time.Duration
}

// Stalls returns the stalls so far, of each agent the last thousand.
func (d *RemoteDriver) Stalls() (out []Stall) {
	for _, l := range d.links {
		l.mu.Lock()
		out = append(out, l.stalls...)
		l.mu.Unlock()
	}
	return out
}

// staleAfter returns the age of a report beyond which an agent's samples are missing: a report from
// elsewhere may be sent again for as long as patience allows.
func (d *RemoteDriver) staleAfter() time.Duration {
	if d.cfg.Hosts != nil {
		return max(stale, d.cfg.Patience)
	}
	return stale
}

// Lost returns the names of the hosts that were lost.
func (d *RemoteDriver) Lost() (names []string) {
	for _, l := range d.links {
		l.talk.Lock()
		if l.lost != nil && l.name != "" {
			names = append(names, l.name)
		}
		l.talk.Unlock()
	}
	return names
}

// On names the host of an agent by its number; it is empty for this host.
func (h *Hosts) On(k int) string {
	if h == nil {
		return ""
	}
	return " on " + h.Names[k%len(h.Names)]
}
