package trial

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/record"
)

// silent is a driver of whose agents one is silent for a while: its tick is as late.
type silent struct {
	*lab
	ticks int
	at    int // the tick
	set   int // how often the search decided in the ticks that were late
	until time.Time
}

func (s *silent) Collect(context.Context) error {
	if s.ticks++; s.ticks == s.at {
		time.Sleep(10 * time.Second)
		s.until = time.Now()
	}
	return nil
}

func (s *silent) SetUsers(n int, over time.Duration) error {
	// the ticks that are made up for take no time
	if !s.until.IsZero() && time.Now().Equal(s.until) {
		s.set++
	}
	return s.lab.SetUsers(n, over)
}

// A search takes no step in ticks whose reports are more than 3 s late, and says so; it goes on
// when they are in time, and that time leaves no rule without data.
func TestSearchHoldsWhileAnAgentIsSilent(t *testing.T) {
	search := func(hold time.Duration) (decisions int, noted bool, kind string) {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(800)
			s := searchSpec(spec(t, l), 100, 5000)
			d := &silent{lab: l, at: 60}
			s.Driver, s.Hold = d, hold
			out := carryOut(t, s)
			events := eventsOf(t, finish(t, s, out))
			for _, e := range events {
				noted = noted ||
					e.Kind == "note" &&
						strings.HasPrefix(
							e.Text,
							"the search holds its level: reports of an agent are 10s late",
						)
			}
			decisions, kind = d.set, out.Capacity.Kind
		})
		return decisions, noted, kind
	}
	all, noted, _ := search(0)
	held, said, kind := search(3 * time.Second)
	if noted || !said || all < 4 || 2*held > all {
		t.Errorf(
			"%d decisions while reports were late (said: %v), %d without holding (said: %v)",
			held,
			said,
			all,
			noted,
		)
	}
	if kind != record.AtLeast {
		t.Errorf(
			"the search that held ended as %s, want the bound of a ramp whose time is over",
			kind,
		)
	}
}
