package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/watch/profile/symbols"
)

const (
	pageSpan = 10 * time.Second // of one profile
	// pagePatience is how long a server may take beyond that.
	pagePatience = 10 * time.Second
)

// A PprofPage is a server that profiles itself (net/http/pprof) while the gate is open, ten seconds at a
// time: the rest of the time, shorter than that, is not profiled. Its methods are safe for
// concurrent use.
type PprofPage struct {
	role  string
	fetch Fetch
	life  context.Context
	stop  context.CancelFunc
	over  sync.WaitGroup

	mu     sync.Mutex
	open   context.CancelFunc // nil: the gate is closed
	folded *folded
	sum    Stored
	err    error // the last
}

// A Fetch gets a profile of a time from a server, in the format of pprof.
type Fetch func(ctx context.Context, d time.Duration) ([]byte, error)

// OpenPage returns the page of a role, with a closed gate. The caller calls Close.
func OpenPage(ctx context.Context, role string, fetch Fetch) *PprofPage {
	p := &PprofPage{role: role, fetch: fetch, folded: newFolded(1)}
	p.life, p.stop = context.WithCancel(ctx)
	return p
}

// Gate opens or closes the gate, and returns at once. A profile under way at its end is left out.
func (p *PprofPage) Gate(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case open == (p.open != nil) || p.life.Err() != nil:
	case !open:
		p.open()
		p.open = nil
	default:
		var ctx context.Context
		ctx, p.open = context.WithCancel(p.life)
		p.over.Go(func() { p.follow(ctx) })
	}
}

// follow takes profiles until ctx ends.
func (p *PprofPage) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.next(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		select { // the server may be busy with a profile for another
		case <-time.After(pageSpan):
		case <-ctx.Done():
		}
	}
}

func (p *PprofPage) next(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, pageSpan+pagePatience)
	defer cancel()
	body, err := p.fetch(limited, pageSpan)
	if err != nil {
		return err
	}
	one, err := Read(bytes.NewReader(body))
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() == nil {
		p.add(one)
	}
	return nil
}

// add adds a profile to the sum. The page does not name the modules of the program: what is its own
// is known by the paths of files alone ([symbols.Kind]).
func (p *PprofPage) add(one Stored) {
	p.sum.Seconds += one.Seconds
	p.sum.Period = one.Period
	for _, b := range one.Binaries {
		p.folded.programs[b.Name] = symbols.Executable{Language: "Go", BuildID: b.BuildID}
	}
	for _, st := range one.Stacks {
		n := uint32(0)
		for _, i := range st.Functions {
			fn := one.Functions[i]
			fn.Kind = symbols.Kind(
				symbols.Call{Function: fn.Name, File: fn.File}, p.folded.programs[fn.Binary],
			)
			n = p.folded.child(0, n, p.folded.functions.number(fn))
		}
		p.folded.tally.nodes[n].count += uint32(st.Samples)
	}
}

// Profiles ends the sampling and returns the profile of the role, or the error.
func (p *PprofPage) Profiles() (map[string]Stored, error) {
	_ = p.Close()
	s := p.folded.stored(0)
	if len(s.Stacks) == 0 {
		return nil, fmt.Errorf("role %s: %w: does url of its probe of kind pprof end in "+
			"/debug/pprof, and may this host read it?", p.role, errors.Join(p.err, ErrNoSamples))
	}
	s.Period, s.Seconds, s.Source = p.sum.Period, p.sum.Seconds, FromServer
	return map[string]Stored{p.role: s}, nil
}

// Close ends the sampling.
func (p *PprofPage) Close() error {
	p.stop()
	p.over.Wait()
	return nil
}
