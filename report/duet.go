package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target"
)

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
		t.SliceMax = max(t.SliceMax, d.SliceMax)
		t.LongestForeign = max(t.LongestForeign, d.LongestForeign)
		t.Turns += d.Turns
		t.Carried += d.Carried
		t.CarriedOps += d.CarriedOps
		t.PausedBy = d.PausedBy

	}
	return t
}

// modeTexts describe how the comparison was carried out; none where it is not recorded.
func (p *Protocol) modeTexts(d Document) []string {
	var out []string
	switch {
	case p.Duet != nil:
		out = p.Duet.texts(d)
	case p.Mode == plan.ModeSequence && p.ModeWhy != "":
		out = []string{fmt.Sprintf("Sequence: the arms of a block ran one after the other (%s).",
			p.ModeWhy)}
	case p.Mode == plan.ModeSequence:
		out = []string{"Sequence: the arms of a block ran one after the other."}
	}
	if len(p.Places) > 0 {
		effect := "so that a difference of the hosts cancels in the mean and widens the interval"
		if p.Unbalanced {
			effect = "but in the judged blocks not every arm was at every address equally often: a part of any difference of the hosts is in the mean"
		}
		out = append(
			out,
			"The arms exchanged their addresses, "+effect+"; no test of the hosts was made. "+strings.Join(
				p.Places,
				" ",
			),
		)
	}
	return out
}

// places are sentences that state at whose addresses each arm was in some blocks; none where the
// arms did not exchange them. balanced reports whether each arm was at each address equally often.
func places(p *plan.Plan, blocks []int) (out []string, balanced bool) {
	if p == nil || p.Compare == nil || !p.Compare.Swap || len(blocks) == 0 {
		return nil, true
	}
	var stood []string             // in the order of the blocks
	where := map[string][]string{} // the blocks, by the places of all arms
	times := map[string]int{}      // by arm and place
	for _, block := range blocks {
		var at []string
		for _, a := range p.Compare.Arms {
			place := p.Place(a.Name, block).Name
			if times[a.Name+" "+place]++; place != a.Name {
				at = append(at, a.Name+" at the address of "+place)
			}
		}
		text := strings.Join(at, ", ")
		if text == "" {
			text = "each arm at its own address"
		}
		if where[text] == nil {
			stood = append(stood, text)
		}
		where[text] = append(where[text], strconv.Itoa(block))
	}
	for _, text := range stood {
		out = append(out, fmt.Sprintf("%s %s: %s.", verb(len(where[text]), "Block", "Blocks"),
			strings.Join(where[text], ", "), text))
	}
	balanced = true
	for _, a := range p.Compare.Arms {
		for _, at := range p.Compare.Arms {
			balanced = balanced && times[a.Name+" "+at.Name]*len(p.Compare.Arms) == len(blocks)
		}
	}
	return out, balanced
}

// judgedBlocks are the numbers of the judged blocks, ascending.
func (b *builder) judgedBlocks() (all []int) {
	for _, r := range b.judged {
		all = append(all, r.Cell.Block)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// addressesOf returns the addresses of an arm on an engine in its judged runs, each once, in the
// order of the blocks.
func (b *builder) addressesOf(engine, arm string) string {
	var all []string
	for _, r := range b.judged {
		var d target.Description
		if r.Cell.Engine != engine || r.Cell.Arm != arm ||
			json.Unmarshal(r.Manifest.Target, &d) != nil {
			continue
		}
		if at := strings.Join(d.URLs, " "); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		return strings.Join(b.described(engine, arm).URLs, " ")
	}
	return strings.Join(all, ", in other blocks ")
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
	out := []string{
		fmt.Sprintf(
			"Duet: %s were up at once and took %s; without its turn a server was paused%s and its time stood still, "+
				"so that noise of the host met all of them.",
			who,
			turns,
			inParens(t.PausedBy),
		),
	}
	if t.PausedBy == record.PausedByNothing {
		out[0] = fmt.Sprintf(
			"Duet: %s were up elsewhere at once and their load took %s; without its turn an arm's users stood still, "+
				"and its servers, which cannot be paused, worked on without load. Latencies are in real time. "+
				"CPU time was not read, because it would have held that of the others' turns. "+
				"The counters of the generator's network card hold the turns of all arms.",
			who,
			turns,
		)
	}
	if t.Turns > 0 {
		out = append(out,
			fmt.Sprintf(
				"%s had %s; %d of them ended with operations under way (%d in all), "+
					"which went on in the next; the longest wait for a turn was %s.",
				count(t.Runs, "judged run", "judged runs"),
				count(t.Turns, "turn", "turns"),
				t.Carried,
				t.CarriedOps,
				secondsText(t.LongestForeign.Seconds()),
			))
	}
	return out
}
