package report

import (
	"fmt"
	"time"

	"plimsoll/plan"
)

// DuetTurns sums up how the judged runs of a duet took turns. Durations are nanoseconds in JSON.
type DuetTurns struct {
	Runs int `json:"runs"` // judged, with a record of their turns
	// Slice is the plan's length of a turn; 0 for one that follows the latencies. SliceMin and SliceMax are the lengths
	// that there were; 0 if they are not known.
	Slice    time.Duration `json:"slice"`
	SliceMin time.Duration `json:"slice_min,omitempty"`
	SliceMax time.Duration `json:"slice_max,omitempty"`
	Turns    int           `json:"turns"`
	// Carried is how many turns ended with operations under way, which went on in the next; CarriedOps is how many these
	// were.
	Carried    int `json:"carried"`
	CarriedOps int `json:"carried_ops"`
	// LongestForeign is the longest time that a run had to wait for its next turn.
	LongestForeign time.Duration `json:"longest_foreign"`
	// PausedBy is the means by which a run without its turn was paused; empty if unknown.
	PausedBy string `json:"paused_by,omitempty"`
}

// duetTurns sums up the turns of the judged runs; nil for a sequence.
func (b *builder) duetTurns() *DuetTurns {
	if !b.c.InTurns() {
		return nil
	}
	t := &DuetTurns{Slice: b.c.Slice}
	for _, r := range b.judged {
		d := r.Manifest.Duet
		if d == nil {
			continue
		}
		if t.Runs == 0 || d.SliceMin < t.SliceMin {
			t.SliceMin = d.SliceMin
		}
		t.Runs++
		t.SliceMax, t.LongestForeign = max(t.SliceMax, d.SliceMax), max(t.LongestForeign, d.LongestForeign)
		t.Turns, t.Carried, t.CarriedOps, t.PausedBy = t.Turns+d.Turns, t.Carried+d.Carried, t.CarriedOps+d.CarriedOps,
			d.PausedBy
	}
	return t
}

// modeTexts describe how the comparison was carried out; none where it is not recorded.
func (p *Protocol) modeTexts(d Document) []string {
	switch {
	case p.Duet != nil:
		return p.Duet.texts(d)
	case p.Mode == plan.ModeSequence && p.ModeWhy != "":
		return []string{fmt.Sprintf("Sequence: the arms of a block ran one after the other (%s).", p.ModeWhy)}
	case p.Mode == plan.ModeSequence:
		return []string{"Sequence: the arms of a block ran one after the other."}
	}
	return nil
}

func (t *DuetTurns) texts(d Document) []string {
	who := "both arms"
	if n := len(d.Arms); n != 2 {
		who = fmt.Sprintf("all %d arms", n)
	}
	switch n := len(d.Engines); {
	case n == 2:
		who += " on both databases"
	case n > 2:
		who += fmt.Sprintf(" on all %d databases", n)
	}
	low, high := t.SliceMin, t.SliceMax
	if high == 0 {
		low, high = t.Slice, t.Slice
	}
	turns := "turns"
	switch a, z := secondsText(low.Seconds()), secondsText(high.Seconds()); {
	case high == 0:
	case a == z:
		turns += " of " + a
	default:
		turns += " of " + a + " to " + z
	}
	by := ""
	if t.PausedBy != "" {
		by = " (" + t.PausedBy + ")"
	}
	out := []string{fmt.Sprintf("Duet: %s were up at once and took %s; without its turn a server was paused%s and its time stood still, "+
		"so that noise of the host met all of them.", who, turns, by)}
	if t.Turns > 0 {
		out = append(out, fmt.Sprintf("%s had %s; %d of them ended with operations under way (%d in all), "+
			"which went on in the next; the longest wait for a turn was %s.",
			count(t.Runs, "judged run", "judged runs"), count(t.Turns, "turn", "turns"), t.Carried, t.CarriedOps,
			secondsText(t.LongestForeign.Seconds())))
	}
	return out
}
