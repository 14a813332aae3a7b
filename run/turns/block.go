package turns

import (
	"context"
	"sync/atomic"
	"time"

	"plimsoll/load/wire"

	"plimsoll/load/clock"
	"plimsoll/run/duet"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

// A DuetBlock is shared by the runs of one block that are made at the same time in this process, in
// turns.
type DuetBlock struct {
	table    *duet.RoundTable
	seats    int
	counts   *sharedCounts
	over     chan struct{} // closed when no run needs turns any more
	prepared *muster       // of the targets
}

// NewDuetBlock returns the block of so many runs, whose turns have the order of a seed and last a
// slice. log reports to people.
func NewDuetBlock(
	runs int, seed uint64, slice time.Duration, log func(format string, args ...any),
) *DuetBlock {
	return &DuetBlock{
		table:    duet.New(duet.Config{Seats: runs, Seed: seed, Slice: slice, Log: log}),
		seats:    runs,
		counts:   &sharedCounts{stamps: wire.Stamps(), refused: wire.Refused()},
		over:     make(chan struct{}),
		prepared: newMuster(runs),
	}
}

// Run gives the turns until no run needs one, or ctx ends.
func (b *DuetBlock) Run(ctx context.Context) error { return b.table.Run(ctx) }

// End ends the block: no run needs turns any more.
func (b *DuetBlock) End() { close(b.over) }

// A Watch is called before the bounded test of a run of a duet begins, in the time of a clock. It
// may set how the test ends, by the series of the run, which are there until ctx ends.
type Watch func(ctx context.Context, test *trial.BoundedTest, run *clock.Clock, db *series.DB)

// Place returns the place of a run at the table, which has a name, on an engine. watch may be nil.
// The caller calls Vacate when the run has ended, or will not begin.
func (b *DuetBlock) Place(name, engine string, watch Watch) *DuetPlace {
	return &DuetPlace{Seat: b.table.Sit(name, engine), block: b, Watch: watch}
}

// A muster is complete when all that it waits for have arrived. Its methods are safe for concurrent
// use.
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
