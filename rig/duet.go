package rig

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/judge/comparison"
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

// block carries out the runs of one block side by side: the systems are up at once, and their users take turns.
func (r *cells) block(ctx context.Context, block []comparison.Cell) ([]comparison.BlockRun, error) {
	s, first := r.Session, block[0]
	s.whole.at(first.Block, first.Again)
	s.Progress.What(blockText(first, s.Plan.Compare.Blocks), time.Duration(max(first.Left+1-len(block), 0))*r.pace.each())
	sung, err := r.listen(ctx, time.Duration(len(block))*s.length(r.base))
	if err != nil {
		return nil, err
	}
	systems := make([]*deploy.System, len(block))
	for i, cell := range block {
		if systems[i], err = r.system(ctx, cell); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	table := duet.New(duet.Config{Seats: len(block), Seed: s.Plan.Seed ^ uint64(first.Block)<<32, Slice: s.Plan.Compare.Slice, Log: s.Progress.Say})
	shared := newSharedCounts()
	over := make(chan struct{})
	length := newExtent(s.Plan, r.past)
	prepared := newMuster(len(block))
	out, errs := make([]comparison.BlockRun, len(block)), make([]error, len(block)+1)
	sessions := make([]Session, len(block)) // one each: a session carries out one run at a time
	var wg sync.WaitGroup
	for i, cell := range block {
		name := strings.TrimSpace(cell.Arm + " " + cell.Engine)
		place := &place{Seat: table.Sit(name, cell.Engine), seats: len(block), shared: shared, over: over,
			extent: length.run(cell.Arm, cell.Engine), prepared: prepared}
		sessions[i] = *s
		sessions[i].Progress = s.Progress.Part(name)
		wg.Go(func() {
			defer place.Leave() // the others do not wait for a run that never began
			defer place.arrive()
			pt := r.part(cell)
			pt.place = place
			errs[i] = boundary.Do("a run of a duet", func() (err error) {
				out[i].Run, out[i].Capacity, err = r.carry(ctx, &sessions[i], systems[i], pt, sung)
				return err
			})
		})
	}
	errs[len(block)] = boundary.Do("the table of a duet", func() error { return table.Run(ctx) })
	close(over)
	wg.Wait()
	s.Progress.Joined()
	s.starts = inARow(s.starts, sessions)
	made := make([]comparison.BlockRun, 0, len(block))
	valid := true
	for i, sys := range systems {
		errs[i] = errors.Join(errs[i], sys.Halt(ctx))
		if valid = valid && out[i].Run.Valid; out[i].Run.Run != "" {
			made = append(made, out[i])
		}
	}
	if valid {
		length.finish()
	}
	runs := make([]record.ComparisonRun, len(out))
	for i := range out {
		runs[i] = out[i].Run
	}
	r.noted(runs, began)
	return made, errors.Join(errs...)
}

// A place is that of one run in a duet, and what the run shares with the table of turns.
type place struct {
	*duet.Seat
	seats  int // runs of the block
	shared *sharedCounts
	counts ownCounts
	over   <-chan struct{} // closed when all runs of the block need no turns any more
	extent *extentRun      // nil where the plan declares the length of the measured phase

	prepared *muster // of the block's targets
	arrived  sync.Once
	// What follows is the run's, once it has joined.
	reg    *measure.Registry
	turns  *probe.Turns
	owed   *probe.Backlog // nil: no CPU time can be read
	target target.Pauser  // nil: it runs elsewhere and is not paused
	run    *clock.Clock
	began  atomic.Pointer[time.Time] // the first turn; nil before it
	left   time.Time                 // when the run needed no turns any more
}

// join waits until the turns of the block begin, and returns the clock of the run and the context under which it is
// carried out. The caller calls leave, unless it gets an error.
func (p *place) join(ctx context.Context, sys *deploy.System) (_ context.Context, run *clock.Clock, leave func(), err error) {
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
func (p *place) arrive() { p.arrived.Do(p.prepared.arrive) }

// muster waits until the targets of all runs of the block are prepared.
func (p *place) muster(ctx context.Context) error {
	p.arrive()
	select {
	case <-p.prepared.all:
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
func (p *place) begin() {
	if p.began.Load() == nil {
		now := time.Now()
		p.began.Store(&now)
	}
	if p.owed != nil {
		p.owed.Start()
	}
	p.turns.Begin()
	p.shared.begin(&p.counts)
}

// end is called at the end of each turn.
func (p *place) end() {
	p.turns.End()
	if p.owed != nil {
		p.owed.Stand()
	}
}

// idleTime is how long the target of a duet is read before its users come.
const idleTime = 4 * time.Second

// idle reads the CPU time that the target takes without load, before any of the block is paused.
func (p *place) idle(ctx context.Context, sys *deploy.System) error {
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

// Limits of a duet, in percent of a core, beyond which a run is not valid: what others on the host take of the target's
// cores, and what everybody takes of the generator's busiest core. The second is out of reach.
const (
	mostForeign = 75
	mostOfCore  = 100
)

// gates returns the limits of a run of a duet. Others on the host, and the hypervisor, meet all runs of a block alike:
// they widen the intervals of differences and move none of them. A busy core is as often a neighbor's as the
// generator's; the gates cpu, sched and lag tell whether the generator itself had to wait. Limits of the plan's own
// stay.
func (p *place) gates(all []plan.Gate) []plan.Gate {
	out := slices.Clone(all)
	for i, g := range out {
		switch {
		case g.Source == plan.GateOfPlan:
		case record.Foreign(g.Name):
			out[i].Red = mostForeign
		case g.Name == "core":
			out[i].Red = mostOfCore
		}
	}
	return out
}

// progress reports the latencies of the run to the table before it reports to people.
func (p *place) progress(to func(trial.Progress)) func(trial.Progress) {
	return func(t trial.Progress) {
		p.Report(t.P95)
		to(t)
	}
}

// leave gives the place up when the run needs no turns any more, and waits until the others need none either: the work
// that is left, and the end of the target, would disturb them.
func (p *place) leave(ctx context.Context) error {
	p.left = time.Now()
	p.Leave()
	p.shared.begin(nil)
	failed := p.Err()
	var err error
	if p.target != nil {
		err = p.target.Pause(ctx)
	}
	select {
	case <-p.over:
	case <-ctx.Done():
	}
	if p.target != nil {
		err = errors.Join(err, p.target.Continue())
	}
	return errors.Join(failed, err)
}

// record returns the manifest's part on the duet.
func (p *place) record() *record.Duet {
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
		Seats: p.seats, Turns: st.Turns, SliceMin: st.SliceMin, SliceMax: st.SliceMax, Own: st.Time, Alone: st.Alone,
		Foreign: foreign, LongestForeign: st.Foreign, Carried: st.Carried, CarriedOps: st.CarriedOps,
		Guard: st.Guard, Pausing: st.Pausing, LongestPausing: st.PausingMax, Continuing: st.Continuing, LongestContinuing: st.ContinuingMax,
		CatchingUp: st.CatchingUp,
		PausedBy:   by,
	}
}

// stamps returns how the users' bytes were dated during the turns of the run so far. Of a target that is not paused
// bytes come in any turn, so they are those of all runs of the block.
func (p *place) stamps() wire.Clocks {
	if p.target == nil {
		return wire.Stamps()
	}
	stamps, _ := p.shared.read(&p.counts)
	return stamps
}

// refused returns the refusals during the turns of the run so far, or in all turns as with stamps. The budget is one
// for all runs of the block.
func (p *place) refused() (wire.Refusals, int64) {
	if p.target == nil {
		return refusedHere()
	}
	_, refused := p.shared.read(&p.counts)
	return refused, wire.Process().Peak()
}

// ofAll reports whether the counts of the run are those of all runs of its block.
func (p *place) ofAll() bool { return p != nil && p.target == nil }

// ownCounts are counts of this process over the turns of one run.
type ownCounts struct {
	stamps  wire.Clocks
	refused wire.Refusals
}

// sharedCounts deals the counts of this process out to the runs of a duet: what came since a run's turn began is its
// own until the next turn begins. Its methods are safe for concurrent use.
type sharedCounts struct {
	mu      sync.Mutex
	of      *ownCounts // nil: none's
	stamps  wire.Clocks
	refused wire.Refusals
}

func newSharedCounts() *sharedCounts {
	return &sharedCounts{stamps: wire.Stamps(), refused: wire.Refused()}
}

// begin deals out what has come, and gives what comes from now on to a run, or to none.
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
