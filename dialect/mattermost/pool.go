package mattermost

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/boundary"
	"plimsoll/load/workload"
)

// A pool holds a person's HTTP connections. A client at rest keeps one; others are made when calls
// go out at the same time, up to the budget that a browser has for one server, and kept until the
// person's action ends: an action that has calls together more than once does not connect each
// time. Its zero value needs cfg and budget. It is safe for concurrent use.
type pool struct {
	cfg    api.Options
	budget int

	mu     sync.Mutex
	idle   []*api.Client // one while the person rests
	acting bool
	open   int
	closed bool
}

// take returns a client that records with rec under t, or nil if the budget is spent.
func (p *pool) take(rec api.Recorder, t *api.Table) *api.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 && p.open >= p.budget {
		return nil
	}
	return p.get(rec, t)
}

// force is take beyond the budget: the person itself never waits for calls that events set off.
func (p *pool) force(rec api.Recorder, t *api.Table) *api.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.get(rec, t)
}

// apart returns a client that opens a WebSocket and does nothing else: it is none of the
// connections, and is not given back.
func (p *pool) apart(rec api.Recorder, t *api.Table) *api.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client(rec, t)
}

// client makes a client. The lock is held.
func (p *pool) client(rec api.Recorder, t *api.Table) *api.Client {
	cfg := p.cfg
	cfg.Recorder = rec
	cfg.Table = t
	c, _ := api.NewClient(cfg) // the configuration was checked when the person was made
	return c
}

// get returns an idle client or a new one. The lock is held.
func (p *pool) get(rec api.Recorder, t *api.Table) *api.Client {
	n := len(p.idle)
	if n == 0 {
		p.open++
		return p.client(rec, t)
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	c.Lend(rec, t, p.cfg.Token)
	return c
}

// give takes a client back.
func (p *pool) give(c *api.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) > 0 && (!p.acting || p.open > p.budget) {
		p.drop(c)
	} else {
		p.idle = append(p.idle, c)
	}
}

// act records that the person's action begins, or that it has ended.
func (p *pool) act(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.acting = on; !on && len(p.idle) > 1 {
		p.dropAll(1)
	}
}

// dropAll closes the idle clients from one on. The lock is held.
func (p *pool) dropAll(from int) {
	for _, c := range p.idle[from:] {
		p.drop(c)
	}
	p.idle = slices.Clone(p.idle[:from])
}

// drop closes a client. The lock is held.
func (p *pool) drop(c *api.Client) {
	p.open--
	c.Close()
}

func (p *pool) setToken(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cfg.Token = token
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.dropAll(0)
}

// A call is one of several that go out together. It must not touch the person.
type call func(ctx context.Context, c *api.Client) error

// do makes the call; a panic of it is its error, whichever goroutine it is on.
func (f call) do(ctx context.Context, c *api.Client) (err error) {
	defer boundary.Recover("one of several calls", &err)
	return f(ctx, c)
}

// together makes calls at the same time, as a browser does, as far as the budget of connections
// goes; with the setting parallel off, one after the other. The person's own goroutine makes the
// first one. All are intended when the person could go on; a call that follows another on its
// connection, when that one was done. It returns the first error of the earliest call when all have
// ended.
func (a *act) together(calls ...call) error {
	errs := make([]error, len(calls))
	var taken atomic.Int64 // the first call is the person's
	work := func(c *api.Client, i int) {
		for ; i < len(calls); i = int(taken.Add(1)) {
			errs[i] = calls[i].do(a, c)
		}
	}
	var wg sync.WaitGroup
	var others []*workload.Beside
	for range len(calls) - 1 {
		if !a.b.set.parallel {
			break
		}
		rec := a.u.Beside(a.u.Intended()).Followed()
		c := a.pool.take(rec, a.c.Table)
		if c == nil {
			rec.Close()
			break
		}
		others = append(others, rec)
		wg.Go(func() {
			defer a.pool.give(c)
			work(c, int(taken.Add(1)))
			if a.Err() == nil { // otherwise the abandoned call is still under way
				rec.Close()
			}
		})
	}
	work(a.c, 0)
	wg.Wait()
	for _, o := range others {
		a.u.Rejoin(o.Intended())
	}
	return cmp.Or(errs...)
}
