package compare

import (
	"strings"
	"testing"

	"plimsoll/record"
)

// TestSearchesBeginBelowWhatThePilotReached: a start that rests on a bound alone is so low that a
// short search ends in its ramp again.
func TestSearchesBeginBelowWhatThePilotReached(t *testing.T) {
	for _, tt := range []struct {
		c    record.Capacity
		want int
	}{
		{record.Capacity{Kind: record.Unstable, Reached: 3000, Held: 1800}, 1080},
		{record.Capacity{Kind: record.Unstable, Reached: 3000}, 1800},
		{record.Capacity{Kind: record.Unstable}, 0},
		{record.Capacity{Kind: record.AtLeast, Users: 108, Reached: 211}, 127},
		{record.Capacity{Kind: record.AtLeast, Users: 108}, 65},
		{record.Capacity{Kind: record.Estimate, Users: 200}, 120},
	} {
		if got, ok := searchStart(&tt.c); got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%+v: got %d, %v; want %d", tt.c, got, ok, tt.want)
		}
	}
}

// TestPilotThatFindsNothingFallsBack makes a pilot that finds nothing once more. When that finds
// nothing either, the searches begin at the plan's start, and the comparison records it; it does
// not end.
func TestPilotThatFindsNothingFallsBack(t *testing.T) {
	for blind, unguided := range map[int]bool{1: false, 2: true} {
		b := newBench(t)
		b.blind = blind
		c := b.compare(2)
		if c.State != record.Sealed || len(c.Runs) != 2+1+24 {
			t.Fatalf(
				"%d pilots that find nothing: %d runs, %s %s",
				blind,
				len(c.Runs),
				c.State,
				c.Why,
			)
		}
		why, said := c.Unguided["postgresql"]
		if said != unguided || said && !strings.Contains(why, "the host was busy") ||
			c.Start["mysql"] == 0 {
			t.Errorf(
				"%d pilots that find nothing: unguided %q, starts %v",
				blind,
				c.Unguided,
				c.Start,
			)
		}
		for i, s := range b.starts[3:] {
			if engine := c.Runs[3+i].Engine; (s == 0) != (unguided && engine == "postgresql") {
				t.Errorf(
					"%d pilots that find nothing: a search on %s began at %d",
					blind,
					engine,
					s,
				)
			}
		}
	}
}
