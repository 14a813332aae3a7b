package perf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A Source is a topic that can be read from any place. Fetch returns the records from an offset on,
// none when there are no more yet; ctx has a deadline. the Bus of the news feed is one.
type Source interface {
	Fetch(ctx context.Context, offset int64) ([][]byte, error)
}

const (
	fetchTime   = 5 * time.Second
	followRest  = 200 * time.Millisecond // at the end of the bus, and after a failure
	sinkTime    = 30 * time.Second
	lastTime    = 5 * time.Second // for the rest when following ends
	mostPending = 10_000          // documents
)

// A Followed configures the use of the records that [Follow] reads. Sink is called by one goroutine
// at a time.
type Followed struct {
	Source Source
	Config Config
	// Perf3 aggregates as the studied program does, instead of by Config.
	Perf3 bool
	// Once ends at the end of the bus instead of waiting for more, and closes all windows.
	Once bool
	// Sink takes documents; those that it fails to take are given to it again, with those after
	// them.
	Sink func(ctx context.Context, docs []Document) error
	// Meter shows how it goes; nil for none.
	Meter *Meter
	Log   *slog.Logger // nil discards
}

// Follow reads records from the beginning and hands the figures of each closed window to the sink,
// until ctx ends or, with Once, the end of the bus. Then it closes all windows. It returns the
// counts, and an error if documents could not be handed over; a bus that does not answer is waited
// for.
func Follow(ctx context.Context, f Followed) (Counts, error) {
	if f.Log == nil {
		f.Log = slog.New(slog.DiscardHandler)
	}
	p := &pump{Followed: f, agg: New(f.Config)}
	if f.Perf3 {
		p.perf3 = NewPerf3(time.Now(), f.Config.Zone)
	}
	err := p.read(ctx)
	p.take(time.Now(), true)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	return p.counts(), errors.Join(err, p.hand(last))
}

// A pump is a Follow under way.
type pump struct {
	Followed
	agg     *Aggregator
	perf3   *Perf3
	pending []Document
	silent  bool // the bus did not answer, and that was logged
}

// read reads until ctx ends, or with Once to the end. Only with Once a bus that does not answer is
// an error.
func (p *pump) read(ctx context.Context) error {
	offset := int64(0)
	for ctx.Err() == nil {
		fctx, cancel := context.WithTimeout(ctx, fetchTime)
		records, err := p.Source.Fetch(fctx, offset)
		cancel()
		now := time.Now()
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil && p.Once:
			return fmt.Errorf("reading the bus from record %d: %w", offset, err)
		case err != nil && !p.silent:
			p.silent = true
			p.Log.Warn("the bus does not answer; waiting for it", "error", err)
		case err == nil && p.silent:
			p.silent = false
			p.Log.Warn("the bus answers again")
		}
		for _, r := range records {
			if p.perf3 != nil {
				p.perf3.Add(r)
			} else {
				p.agg.Add(r, now)
			}
		}
		offset += int64(len(records))
		if err == nil && len(records) == 0 {
			if p.Once {
				return nil
			}
			// the bus has no more: nothing from before is on its way
			p.agg.Advance(now.Add(-p.agg.cfg.Lateness))
		}
		p.take(now, false)
		if err := p.hand(ctx); err != nil {
			p.Log.Warn("documents wait", "documents", len(p.pending), "error", err)
		}
		if len(records) == 0 {
			rest(ctx, followRest)
		}
	}
	return nil
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// take makes documents of closed windows.
func (p *pump) take(now time.Time, all bool) {
	var windows []Window
	switch {
	case p.perf3 != nil:
		if all { // the minute under way ends early
			now = p.perf3.end
		}
		p.pending = append(p.pending, p.perf3.Tick(now)...)
	case all:
		windows = p.agg.Flush()
	default:
		windows = p.agg.Closed()
	}
	for _, w := range windows {
		if d, ok := w.Document(); ok {
			p.pending = append(p.pending, d)
		}
	}
	p.Meter.show(p.counts(), p.agg.Watermark(), windows)
}

func (p *pump) counts() Counts {
	if p.perf3 != nil {
		return p.perf3.Counts()
	}
	return p.agg.Counts()
}

// hand gives the pending documents to the sink. Documents beyond mostPending that it does not take
// are lost, and counted.
func (p *pump) hand(ctx context.Context) error {
	if len(p.pending) == 0 || p.Sink == nil {
		p.pending = nil
		return nil
	}
	sctx, cancel := context.WithTimeout(ctx, sinkTime)
	defer cancel()
	err := p.Sink(sctx, p.pending)
	refused, partly := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		p.Meter.wrote(len(p.pending), 0)
		p.pending = nil
	case partly: // they would be refused again
		p.Meter.wrote(len(p.pending)-refused.N, refused.N)
		p.pending = nil
	case len(p.pending) > mostPending:
		lost := len(p.pending) - mostPending
		p.Meter.wrote(0, lost)
		p.pending = p.pending[lost:]
	}
	if err != nil {
		return fmt.Errorf("handing over documents: %w", err)
	}
	return nil
}

// A Meter holds metrics of [Follow]. All its methods may be called from several goroutines; a nil
// Meter shows nothing.
type Meter struct {
	mu        sync.Mutex
	counts    Counts
	watermark time.Time
	last      map[Key]Window
	written   int64
	lost      int64
}

func (m *Meter) show(c Counts, watermark time.Time, closed []Window) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts, m.watermark = c, watermark
	if m.last == nil {
		m.last = map[Key]Window{}
	}
	for _, w := range closed {
		m.last[w.Key] = w
	}
}

func (m *Meter) wrote(n, lost int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written += int64(n)
	m.lost += int64(lost)
}
