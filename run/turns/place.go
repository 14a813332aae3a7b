package turns

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
)

// Vacate has the other runs of the block not wait for this one, which is over or never began.
func (p *DuetPlace) Vacate() {
	p.Arrive()
	p.Leave()
}

// A DuetPlace is the place of a run at the table of turns.
type DuetPlace struct {
	*duet.Seat
	block   *DuetBlock
	counts  ownCounts
	Watch   Watch // nil: none
	arrived sync.Once
	// The rest is set by Take.
	Reg    *measure.Registry
	Turns  *probe.Turns
	Owed   *probe.Backlog // nil: no CPU time can be read
	target target.Pauser  // nil: it runs elsewhere and is not paused
	run    *clock.Clock
	began  atomic.Pointer[time.Time] // the first turn; nil before it
	left   time.Time                 // when the run needed no turns any more
}

// Take waits until the turns of the block begin, and returns the clock of the run and the context
// under which it is carried out. The caller calls leave, unless it gets an error.
func (p *DuetPlace) Take(
	ctx context.Context,
	sys *deploy.System,
) (_ context.Context, run *clock.Clock, leave func(), err error) {
	seated := duet.Seated{Begin: p.begin}
	switch t, ok := sys.Deployment.(target.Pauser); {
	case ok:
		p.target, seated.Target = t, t
	case sys.Deployment.Describe().Driver != plan.External:
		return ctx, nil, nil, plan.Usagef(
			"compare.mode: the driver %s starts nothing that can be paused; write mode: sequence",
			sys.Deployment.Describe().Driver,
		)
	}
	p.Reg = measure.NewRegistry(runtime.GOMAXPROCS(0))
	if p.Turns, err = probe.NewTurns(""); err != nil {
		return ctx, nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Turns.Close())
		}
	}()
	seated.InFlight, seated.End = p.Reg.InFlight, p.end
	if err = p.idle(ctx, sys); err != nil {
		return ctx, nil, nil, err
	}
	if p.Owed != nil {
		seated.CatchUp = p.Owed.CatchUp
	}
	p.run, err = p.Join(ctx, seated)
	if err != nil {
		return ctx, nil, nil, err
	}
	ctx, cancel := p.Context(ctx)
	return ctx, p.run, func() {
		cancel()
		p.Leave()
		_ = p.Turns.Close() // they were read
	}, nil
}

// Arrive notes that the target of the run is prepared, or will never be.
func (p *DuetPlace) Arrive() { p.arrived.Do(p.block.prepared.arrive) }

// Muster waits until the targets of all runs of the block are prepared.
func (p *DuetPlace) Muster(ctx context.Context) error {
	p.Arrive()
	select {
	case <-p.block.prepared.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin is called at the beginning of each turn.
func (p *DuetPlace) begin() {
	if p.began.Load() == nil {
		now := time.Now()
		p.began.Store(&now)
	}
	if p.Owed != nil {
		p.Owed.Start()
	}
	p.Turns.Begin()
	p.block.counts.begin(&p.counts)
}

// end is called at the end of each turn.
func (p *DuetPlace) end() {
	p.Turns.End()
	if p.Owed != nil {
		p.Owed.Stand()
	}
}

// idleTime is the time for which the target of a duet is read before its users come.
const idleTime = 4 * time.Second

// idle reads the CPU time that the target takes without load, before any of the block is paused.
func (p *DuetPlace) idle(ctx context.Context, sys *deploy.System) error {
	if p.target == nil {
		return nil
	}
	if p.Owed = probe.NewBacklog(sys.Roles()); p.Owed == nil {
		return nil
	}
	if err := p.Owed.Idle(ctx, idleTime); err != nil {
		return err
	}
	p.Owed.Stand()
	return nil
}

// Progress reports the latencies of the run to the table before it reports to people.
func (p *DuetPlace) Progress(to func(trial.Progress)) func(trial.Progress) {
	return func(t trial.Progress) {
		p.Report(t.P95)
		to(t)
	}
}

// Yield gives the place up when the run needs no turns any more, and waits until the others need
// none either: the work that is left, and the end of the target, would disturb them.
func (p *DuetPlace) Yield(ctx context.Context) error {
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

// Record returns the manifest's part on the duet.
func (p *DuetPlace) Record() *record.Duet {
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
		Seats:             p.block.seats,
		Turns:             st.Turns,
		SliceMin:          st.SliceMin,
		SliceMax:          st.SliceMax,
		Own:               st.Time,
		Alone:             st.Alone,
		Foreign:           foreign,
		LongestForeign:    st.Foreign,
		Carried:           st.Carried,
		CarriedOps:        st.CarriedOps,
		Guard:             st.Guard,
		Pausing:           st.Pausing,
		LongestPausing:    st.PausingMax,
		Continuing:        st.Continuing,
		LongestContinuing: st.ContinuingMax,
		CatchingUp:        st.CatchingUp,
		PausedBy:          by,
	}
}

// Stamps returns the clocks by which the users' bytes were dated during the turns of the run so
// far. Bytes of a target that is not paused come in any turn: then all runs of the block are
// counted.
func (p *DuetPlace) Stamps() wire.Clocks {
	if p.target == nil {
		return wire.Stamps()
	}
	stamps, _ := p.block.counts.read(&p.counts)
	return stamps
}

// Refused returns the refusals during the turns of the run so far, or in all turns as with Stamps,
// and the peak of the budget, which all runs of the block share.
func (p *DuetPlace) Refused() (wire.Refusals, int64) {
	if p.target == nil {
		return wire.Refused(), wire.Process().Peak()
	}
	_, refused := p.block.counts.read(&p.counts)
	return refused, wire.Process().Peak()
}

// OfAll reports whether the counts of the run are of all runs of its block.
func (p *DuetPlace) OfAll() bool { return p != nil && p.target == nil }

// Turn returns the function that reports whether a run has the turn; nil outside a duet.
func (p *DuetPlace) Turn() func() bool {
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
