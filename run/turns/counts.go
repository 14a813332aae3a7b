package turns

import (
	"sync"

	"plimsoll/load/wire"
)

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

// begin assigns the counts so far, and gives those from now on to a run, or to none.
func (c *sharedCounts) begin(to *ownCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamps, refused := wire.Stamps(), wire.Refused()
	if c.of != nil {
		c.of.stamps = c.of.stamps.Add(stamps.Sub(c.stamps))
		c.of.refused = c.of.refused.Add(refused.Sub(c.refused))
	}
	c.of = to
	c.stamps = stamps
	c.refused = refused
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
