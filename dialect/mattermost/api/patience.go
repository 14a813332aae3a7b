package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"plimsoll/load/wire"
)

const (
	// before the first repetition, where the refusal names no time.
	leastHold = 20 * time.Millisecond
	mostHold  = time.Second // before a later one
	// of one call, which then fails; no limit refuses all for so long.
	mostHeld  = 30 * time.Second
	mostAsked = 2 * time.Minute // of one call whose refusals name a time
)

// A Patience repeats calls that a rate limit of the server or a proxy refuses (429 or 503), and
// counts for how long it did. It is for calls that prepare a server: a load counts refusals as
// errors. Any number of clients may share one. The zero value is ready for use; a nil one repeats
// nothing.
type Patience struct {
	// Log reports that calls begin to be held up. It may be nil.
	Log func(format string, args ...any)

	mu        sync.Mutex
	holding   int       // calls
	since     time.Time // the first of them is held
	held      time.Duration
	refused   int
	announced bool
	spent     bool // a call has waited in vain: nothing is repeated any more
}

// Held returns the time for which at least one call was held up, and the number of refusals.
func (p *Patience) Held() (time.Duration, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held, p.refused
}

// do calls f until it is not refused, for at most mostHeld or mostAsked.
func (p *Patience) do(ctx context.Context, f func() error) error {
	err := f()
	if p == nil || !held(err) || !p.begin() {
		return err
	}
	from := time.Now()
	for pause := leastHold; held(err); pause = min(2*pause, mostHold) {
		e, _ := errors.AsType[*OpError](err)
		// Clients that were refused together do not come back together.
		wait := pause/2 + rand.N(pause)
		most := mostHeld
		if e.After > 0 {
			wait = e.After + wait
			most = mostAsked
		}
		if e.After > most {
			err = fmt.Errorf("%w; it asks for a longer wait than %v", err, most)
			break
		}
		if time.Since(from)+wait > most {
			err = fmt.Errorf("%w; refused for %v", err, time.Since(from).Round(time.Second))
			break
		}
		p.announce()
		select {
		case <-ctx.Done():
			p.end()
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		if err = f(); held(err) {
			p.mu.Lock()
			p.refused++
			p.mu.Unlock()
		}
	}
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = held(err)
	return err
}

// held reports whether a rate limit refused a call.
func held(err error) bool {
	status := statusOf(err)
	return status == 429 || status == 503
}

// statusOf returns the status of the answer to a failed call or handshake; 0 without an answer.
func statusOf(err error) int {
	if h, ok := errors.AsType[*wire.HandshakeError](err); ok {
		return h.Status
	}
	if e, ok := errors.AsType[*OpError](err); ok {
		return e.Status
	}
	return 0
}

// begin reports whether a refused call is to be repeated.
func (p *Patience) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused++
	if p.spent {
		return false
	}
	if p.holding == 0 {
		p.since = time.Now()
	}
	p.holding++
	return true
}

// announce logs, once, that a call is waited for.
func (p *Patience) announce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.announced && p.Log != nil {
		p.Log("a rate limit of the server or a proxy refuses calls: waiting, and going on")
	}
	p.announced = true
}

// end counts the time of a call that was repeated.
func (p *Patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding--; p.holding == 0 {
		p.held += time.Since(p.since)
	}
}
