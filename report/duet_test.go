package report

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// inTurns is planned as a duet whose runs have a record of their turns.
func inTurns() Input {
	in := planned()
	in.Comparison.Mode, in.Comparison.ModeWhy = plan.ModeDuet, "compare.mode is duet"
	for i := range in.Runs {
		in.Runs[i].Manifest.Duet = &record.Duet{
			Seats:          2,
			Turns:          100,
			SliceMin:       200 * time.Millisecond,
			SliceMax:       200 * time.Millisecond,
			Carried:        3,
			CarriedOps:     4,
			LongestForeign: 310 * time.Millisecond,
			PausedBy:       "freezer",
		}
	}
	return in
}

// TestDuetIsDescribed reports how the arms took turns, in every form, and no order of the runs.
func TestDuetIsDescribed(t *testing.T) {
	in := inTurns()
	d := From(in)
	has(
		t,
		written(t, FullMarkdown, d),
		"Duet: both arms were up at once and took turns of 0.2 s; without its turn a server was paused (freezer) and its time stood still",
		"12 judged runs had 1200 turns; 36 of them ended with operations under way (48 in all), which went on in the next; the longest wait for a turn was 0.31 s",
		"because the runs of a block are made in turns",
		"all runs of a block at once, in turns",
	)
	in.Runs[0].Manifest.Duet.SliceMax = time.Second
	d = From(in)
	has(t, strings.Join(d.Protocol.modeTexts(d), " "), "turns of 0.2 s to 1 s;")
	for i := range in.Runs {
		in.Runs[i].Manifest.Duet = nil
	}
	in.Comparison.Slice = 500 * time.Millisecond
	d = From(in)
	has(t, strings.Join(d.Protocol.modeTexts(d), " "),
		"took turns of 0.5 s; without its turn a server was paused and")
}

// TestCapacityOfADuetIsNoLevel distinguishes the capacity in a duet from the capacity of a server
// alone in every form.
func TestCapacityOfADuetIsNoLevel(t *testing.T) {
	for name, in := range map[string]Input{"duet": inTurns(), "sequence": planned()} {
		d := From(in)
		for want, text := range map[string]string{
			"Each number was found in turns (a duet)":                                 written(t, FullMarkdown, d),
			"found in turns: for comparing the arms, not the level of a server alone": screenText(t, d, 120),
		} {
			if got := strings.Contains(text, want); got != (name == "duet") {
				t.Errorf("a %s: %q is there: %v\n%.3000s", name, want, got, text)
			}
		}
	}
}

// TestSequenceIsDescribed gives the reason for a sequence; a comparison of an older version has no
// mode.
func TestSequenceIsDescribed(t *testing.T) {
	in := planned()
	d := From(in)
	if texts := d.Protocol.modeTexts(d); texts != nil || d.Protocol.Duet != nil {
		t.Errorf("without a mode: %q", texts)
	}
	in.Comparison.Mode = plan.ModeSequence
	d = From(in)
	if text := strings.Join(d.Protocol.modeTexts(d),
		""); text != "Sequence: the arms of a block ran one after the other." {
		t.Errorf("without a reason: %s", text)
	}
	in.Comparison.ModeWhy = "the driver external starts nothing that could be paused"
	d = From(in)
	has(t, written(t, FullMarkdown, d),
		"one after the other (the driver external starts nothing that could be paused).")
}

// TestCanaryOfADuet has one reading for all runs of a block, which cannot differ between the arms.
func TestCanaryOfADuet(t *testing.T) {
	in := inTurns()
	for i := range in.Runs {
		in.Runs[i].Cell.Canary = 1000 + float64(in.Runs[i].Cell.Block)
	}
	d := From(in)
	if p := d.Protocol; p.Canaries != 6 || len(p.Canary) != 0 || p.CanaryFirst != 1001 ||
		p.CanaryLast != 1006 {
		t.Errorf(
			"%d readings, %d comparisons of arms, from %v to %v",
			p.Canaries,
			len(p.Canary),
			p.CanaryFirst,
			p.CanaryLast,
		)
	}
	has(t, strings.Join(d.Protocol.canaryTexts(d), " "),
		"asked before each block while no target ran", "between 6 blocks (sd)")
}

// swapping is the plan of a duet whose arms exchange their addresses.
func swapping(t *testing.T, blocks int) *plan.Plan {
	t.Helper()
	p, err := plan.ParseStored(fmt.Appendf(nil, `name: n
seed: 3
target: {driver: external, install: [x]}
workload: {behavior: poster}
bounded: {users: 5}
compare: {arms: {base: {version: "1", url: "http://b"}, new: {version: "2", url: "http://g"}}, mode: duet, swap: true, blocks: %d}
`, blocks))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDuetElsewhereIsDescribed states that nothing was paused, and where the arms were that
// exchanged their addresses.
func TestDuetElsewhereIsDescribed(t *testing.T) {
	in := inTurns()
	for i := range in.Runs {
		in.Runs[i].Manifest.Duet.PausedBy = record.PausedByNothing
	}
	d := From(in)
	text := strings.Join(d.Protocol.modeTexts(d), " ")
	for want, there := range map[string]bool{
		"both arms were up elsewhere at once and their load took turns of 0.2 s": true,
		"cannot be paused": true,
		"was paused":       false,
		"exchanged":        false,
	} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q is there: %v\n%s", want, !there, text)
		}
	}
	p := swapping(t, 4)
	all := []int{1, 2, 3, 4}
	stood, balanced := places(p, all)
	got := strings.Join(stood, " ")
	for _, block := range all {
		want := "each arm at its own address"
		if p.Place("new", block).Name == "base" {
			want = "base at the address of new, new at the address of base"
		}
		for _, s := range stood {
			if has := strings.Contains(s, want); has != strings.Contains(
				strings.SplitN(s, ":", 2)[0],
				strconv.Itoa(block),
			) {
				t.Errorf("block %d: want it with %q: %s", block, want, got)
			}
		}
	}
	if len(stood) != 2 || !balanced {
		t.Errorf("places %q, balanced %v", stood, balanced)
	}
	// A block that was dropped for good leaves its host with one arm only.
	if stood, balanced := places(p, all[1:]); balanced || len(stood) != 2 ||
		!strings.Contains(strings.Join(stood, " "), "Block ") ||
		strings.Contains(strings.Join(stood, " "), "1") {
		t.Errorf("without block 1: %q, balanced %v", stood, balanced)
	}
	for unbalanced, want := range map[bool]string{
		false: "so that a difference of the hosts cancels",
		true:  "a part of any difference of the hosts is in the mean",
	} {
		x := Protocol{Places: stood, Unbalanced: unbalanced}
		if text := strings.Join(x.modeTexts(d), " "); !strings.Contains(text, want) ||
			unbalanced && strings.Contains(text, "cancels") {
			t.Errorf("unbalanced %v: %s", unbalanced, text)
		}
	}
	p.Compare.Swap = false
	if got, _ := places(p, all); got != nil {
		t.Errorf("without an exchange: %q", got)
	}
}

// The Setup row of an arm that exchanged its address has all that its judged runs were at.
func TestAddressesOfASwap(t *testing.T) {
	in := inTurns()
	p := swapping(t, 6)
	in.Plan = p
	for i := range in.Runs {
		r := &in.Runs[i]
		r.Manifest.Target = fmt.Appendf(
			nil,
			`{"driver":"external","urls":["http://%s"]}`,
			p.Place(r.Cell.Arm, r.Cell.Block).Name,
		)
	}
	d := From(in)
	text := written(t, FullMarkdown, d)
	for _, arm := range []string{"base", "new"} {
		first, other := p.Place(arm, 1).Name, p.Place(arm, 2).Name
		if want := fmt.Sprintf("at http://%s, in other blocks http://%s", first, other); first == other ||
			!strings.Contains(strings.ReplaceAll(text, "\\", ""), want) {
			t.Errorf("the Setup of %s does not have %q", arm, want)
		}
	}
}
