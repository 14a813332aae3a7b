package turns

import (
	"context"
	"testing"

	"plimsoll/load/wire"
)

// obedient is a target that is paused and continued.
type obedient struct{}

func (obedient) Pause(context.Context) error { return nil }
func (obedient) Continue() error             { return nil }
func (obedient) PausedBy() string            { return "signals" }

// An answer that comes in a foreign turn, and is refused, is not the other arm's alone: where
// nothing is paused it is counted for all arms.
func TestCountsOfForeignTurns(t *testing.T) {
	for _, tt := range []struct {
		name   string
		paused bool
		base   int64 // the refusals of the arm that had the first turn, after one in each turn
	}{{"paused", true, 1}, {"elsewhere", false, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			block := NewDuetBlock(2, 1, 0, t.Logf)
			base, other := block.Place("base", "", nil), block.Place("other", "", nil)
			shared := block.counts
			if tt.paused {
				base.target, other.target = obedient{}, obedient{}
			}
			before, _ := base.Refused()
			for _, p := range []*DuetPlace{base, other} {
				shared.begin(&p.counts)
				_ = wire.Exceeded(wire.ErrElements)
			}
			shared.begin(nil)
			after, _ := base.Refused()
			if n := after.Sub(before).Elements; n != tt.base || base.OfAll() == tt.paused {
				t.Errorf("%d refusals, of all %v; want %d", n, base.OfAll(), tt.base)
			}
		})
	}
}
