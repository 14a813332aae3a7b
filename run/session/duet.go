package session

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/duet"
	"plimsoll/run/trial"
	"plimsoll/target"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// A DuetBlock is shared by the runs of one block that are made at the same time in this process, in
// turns.
type DuetBlock struct {
	seats    int
	counts   *sharedCounts
	over     chan struct{} // closed when no run needs turns any more
	prepared *muster       // of the targets
}

// NewDuetBlock returns the block of so many runs.
func NewDuetBlock(runs int) *DuetBlock {
	return &DuetBlock{seats: runs, counts: newSharedCounts(), over: make(chan struct{}), prepared: newMuster(runs)}
}

// End ends the block: no run needs turns any more.
func (b *DuetBlock) End() { close(b.over) }

// A Watch is called before the bounded test of a run of a duet begins, in the time of a clock. It
// may set how the test ends, by the series of the run, which are there until ctx ends.
type Watch func(ctx context.Context, test *trial.BoundedTest, run *clock.Clock, db *series.DB)

// Place returns the place of a run at the table. watch may be nil. The caller calls Vacate when the
// run has ended, or will not begin.
func (b *DuetBlock) Place(seat *duet.Seat, watch Watch) *DuetPlace {
	return &DuetPlace{Seat: seat, block: b, watch: watch}
}

// Vacate has the other runs of the block not wait for this one, which is over or never began.
func (p *DuetPlace) Vacate() {
	p.arrive()
	p.Leave()
}

// A DuetPlace is the place of a run at the table of turns.
type DuetPlace struct {
	*duet.Seat
	block   *DuetBlock
	counts  ownCounts
	watch   Watch
	arrived sync.Once
	// The rest is set when the run joins.
	reg    *measure.Registry
	turns  *probe.Turns
	owed   *probe.Backlog // nil: no CPU time can be read
	target target.Pauser  // nil: it runs elsewhere and is not paused
	run    *clock.Clock
	began  atomic.Pointer[time.Time] // the first turn; nil before it
	left   time.Time                 // when the run needed no turns any more
}

// join waits until the turns of the block begin, and returns the clock of the run and the context
// under which it is carried out. The caller calls leave, unless it gets an error.
func (p *DuetPlace) join(ctx context.Context, sys *deploy.System) (_ context.Context, run *clock.Clock, leave func(), err error) {
	seated := duet.Seated{Begin: p.begin}
	switch t, ok := sys.Deployment.(target.Pauser); {
	case ok:
		p.target, seated.Target = t, t
	case sys.Deployment.Describe().Driver != plan.External:
		return ctx, nil, nil, plan.Usagef("compare.mode: the driver %s starts nothing that can be paused; write mode: sequence", sys.Deployment.Describe().Driver)
	}
	p.reg = measure.NewRegistry(runtime.GOMAXPROCS(0))
	if p.turns, err = probe.NewTurns(""); err != nil {
		return ctx, nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.turns.Close())
		}
	}()
	seated.InFlight, seated.End = p.reg.InFlight, p.end
	if err = p.idle(ctx, sys); err != nil {
		return ctx, nil, nil, err
	}
	if p.owed != nil {
		seated.CatchUp = p.owed.CatchUp
	}
	p.run, err = p.Join(ctx, seated)
	if err != nil {
		return ctx, nil, nil, err
	}
	ctx, cancel := p.Context(ctx)
	return ctx, p.run, func() {
		cancel()
		p.Leave()
		_ = p.turns.Close() // they were read
	}, nil
}

// arrive notes that the target of the run is prepared, or will never be.
func (p *DuetPlace) arrive() { p.arrived.Do(p.block.prepared.arrive) }

// muster waits until the targets of all runs of the block are prepared.
func (p *DuetPlace) muster(ctx context.Context) error {
	p.arrive()
	select {
	case <-p.block.prepared.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A muster is complete when so many have arrived. Its methods are safe for concurrent use.
type muster struct {
	missing atomic.Int64
	all     chan struct{} // closed then
}

func newMuster(n int) *muster {
	m := &muster{all: make(chan struct{})}
	m.missing.Store(int64(n))
	return m
}

func (m *muster) arrive() {
	if m.missing.Add(-1) == 0 {
		close(m.all)
	}
}

// begin is called at the beginning of each turn.
func (p *DuetPlace) begin() {
	if p.began.Load() == nil {
		now := time.Now()
		p.began.Store(&now)
	}
	if p.owed != nil {
		p.owed.Start()
	}
	p.turns.Begin()
	p.block.counts.begin(&p.counts)
}

// end is called at the end of each turn.
func (p *DuetPlace) end() {
	p.turns.End()
	if p.owed != nil {
		p.owed.Stand()
	}
}

// idleTime is the time for which the target of a duet is read before its users come.
const idleTime = 4 * time.Second

// idle reads the CPU time that the target takes without load, before any of the block is paused.
func (p *DuetPlace) idle(ctx context.Context, sys *deploy.System) error {
	if p.target == nil {
		return nil
	}
	if p.owed = probe.NewBacklog(sys.Roles()); p.owed == nil {
		return nil
	}
	if err := p.owed.Idle(ctx, idleTime); err != nil {
		return err
	}
	p.owed.Stand()
	return nil
}

// progress reports the latencies of the run to the table before it reports to people.
func (p *DuetPlace) progress(to func(trial.Progress)) func(trial.Progress) {
	return func(t trial.Progress) {
		p.Report(t.P95)
		to(t)
	}
}

// leave gives the place up when the run needs no turns any more, and waits until the others need
// none either: the work that is left, and the end of the target, would disturb them.
func (p *DuetPlace) leave(ctx context.Context) error {
	p.left = time.Now()
	p.Leave()
	p.block.counts.begin(nil)
	failed := p.Err()
	var err error
	if p.target != nil {
		err = p.target.Pause(ctx)
	}
	select {
	case <-p.block.over:
	case <-ctx.Done():
	}
	if p.target != nil {
		err = errors.Join(err, p.target.Continue())
	}
	return errors.Join(failed, err)
}

// record returns the manifest's part on the duet.
func (p *DuetPlace) record() *record.Duet {
	st := p.Stats()
	foreign := time.Duration(0)
	if began := p.began.Load(); began != nil && !p.left.IsZero() {
		foreign = max(p.left.Sub(*began)-st.Time, 0)
	}
	by := record.PausedByNothing
	if p.target != nil {
		by = p.target.PausedBy()
	}
	return &record.Duet{
		Seats: p.block.seats, Turns: st.Turns, SliceMin: st.SliceMin, SliceMax: st.SliceMax, Own: st.Time, Alone: st.Alone,
		Foreign: foreign, LongestForeign: st.Foreign, Carried: st.Carried, CarriedOps: st.CarriedOps,
		Guard: st.Guard, Pausing: st.Pausing, LongestPausing: st.PausingMax, Continuing: st.Continuing, LongestContinuing: st.ContinuingMax,
		CatchingUp: st.CatchingUp,
		PausedBy:   by,
	}
}

// stamps returns the clocks by which the users' bytes were dated during the turns of the run so
// far. Bytes of a target that is not paused come in any turn: then all runs of the block are
// counted.
func (p *DuetPlace) stamps() wire.Clocks {
	if p.target == nil {
		return wire.Stamps()
	}
	stamps, _ := p.block.counts.read(&p.counts)
	return stamps
}

// refused returns the refusals during the turns of the run so far, or in all turns as with stamps,
// and the peak of the budget, which all runs of the block share.
func (p *DuetPlace) refused() (wire.Refusals, int64) {
	if p.target == nil {
		return wire.Refused(), wire.Process().Peak()
	}
	_, refused := p.block.counts.read(&p.counts)
	return refused, wire.Process().Peak()
}

// ofAll reports whether the counts of the run are of all runs of its block.
func (p *DuetPlace) ofAll() bool { return p != nil && p.target == nil }

// ownCounts are counts of this process over the turns of one run.
type ownCounts struct {
	stamps  wire.Clocks
	refused wire.Refusals
}

// sharedCounts assigns the counts of this process to the runs of a duet: a run gets the counts from
// the beginning of its turn until the next turn begins. Its methods are safe for concurrent use.
type sharedCounts struct {
	mu      sync.Mutex
	of      *ownCounts // nil: none's
	stamps  wire.Clocks
	refused wire.Refusals
}

func newSharedCounts() *sharedCounts {
	return &sharedCounts{stamps: wire.Stamps(), refused: wire.Refused()}
}

// begin assigns the counts so far, and gives those from now on to a run, or to none.
func (c *sharedCounts) begin(to *ownCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamps, refused := wire.Stamps(), wire.Refused()
	if c.of != nil {
		c.of.stamps = c.of.stamps.Add(stamps.Sub(c.stamps))
		c.of.refused = c.of.refused.Add(refused.Sub(c.refused))
	}
	c.of, c.stamps, c.refused = to, stamps, refused
}

// read returns the counts of a run so far.
func (c *sharedCounts) read(of *ownCounts) (wire.Clocks, wire.Refusals) {
	c.mu.Lock()
	to := c.of
	c.mu.Unlock()
	c.begin(to)
	c.mu.Lock()
	defer c.mu.Unlock()
	return of.stamps, of.refused
}

// turn returns the function that reports whether a run has the turn; nil outside a duet.
func (p *DuetPlace) turn() func() bool {
	if p == nil {
		return nil
	}
	return func() bool {
		shared := p.block.counts
		shared.mu.Lock()
		defer shared.mu.Unlock()
		return shared.of == &p.counts
	}
}
