package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func compared(section string) string {
	return "name: n\ntarget: {driver: s}\nworkload: {behavior: b}\nbounded: {users: 5}\ncompare: {arms: {base: {}, new: {}}" + section + "}\n"
}

func TestLooks(t *testing.T) {
	for _, text := range []string{", looks: [6, 9, 12]", ", blocks: 12, looks: [6, 9, 12]"} {
		p, err := Parse([]byte(compared(text)))
		if err != nil || p.Compare.Blocks != 12 || !slices.Equal(p.Compare.Looks, []int{6, 9, 12}) {
			t.Fatalf("%s: %+v, %v", text, p, err)
		}
		again, err := Parse([]byte(p.String()))
		if err != nil || again.Digest() != p.Digest() || !slices.Equal(again.Compare.Looks, p.Compare.Looks) {
			t.Errorf("the canonical form is another plan: %v\n%s", err, p)
		}
	}
	fixed, err := Parse([]byte(compared("")))
	if err != nil || fixed.Compare.Blocks != 6 || fixed.Compare.Looks != nil || strings.Contains(fixed.String(), "looks") {
		t.Errorf("without looks: %+v, %v", fixed, err)
	}
	for text, want := range map[string]string{
		", looks: [6, 12]":                 "compare.looks: [6, 12] are looks whose levels are not known; want [6, 9, 12]",
		", looks: []":                      "compare.looks: [] are looks",
		", looks: [3, 6, 9, 12]":           "levels are not known",
		", looks: [12, 9, 6]":              "levels are not known",
		", looks: 6":                       "compare.looks: is a single value; want a list of numbers of blocks such as [6, 9, 12]",
		", looks: [6, nine, 12]":           "compare.looks[1]: \"nine\" is not a whole number",
		", blocks: 9, looks: [6, 9, 12]":   "compare.blocks: 9 is not the last of compare.looks; want 12",
		", blocks: 100, looks: [6, 9, 12]": "compare.blocks: 100 is not the last",
	} {
		if _, err := Parse([]byte(compared(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestAuto reads plans that leave the number of blocks to a budget.
func TestAuto(t *testing.T) {
	for text, budget := range map[string]time.Duration{
		", blocks: auto":                  30 * time.Minute,
		", blocks: auto, budget: 2h":      2 * time.Hour,
		", blocks: \"auto\", budget: 90s": 90 * time.Second,
	} {
		p, err := Parse([]byte(compared(text)))
		if err != nil || !p.Compare.Auto() || p.Compare.Blocks != 30 || p.Compare.Budget != budget || p.Compare.Looks != nil {
			t.Fatalf("%s: %+v, %v", text, p, err)
		}
		if want := max(time.Minute, budget/3); p.Compare.Retry != want {
			t.Errorf("%s: retry %v, want %v", text, p.Compare.Retry, want)
		}
		again, err := Parse([]byte(p.String()))
		if err != nil || again.Digest() != p.Digest() || !reflect.DeepEqual(again.Compare, p.Compare) || !strings.Contains(p.String(), "  blocks: auto\n") {
			t.Errorf("%s: the canonical form is another plan: %v\n%s", text, err, p)
		}
	}
	fixed, err := Parse([]byte(compared(", blocks: 30")))
	if err != nil || fixed.Compare.Auto() || strings.Contains(fixed.String(), "budget") {
		t.Errorf("a declared number: %v\n%s", err, fixed)
	}
	for text, want := range map[string]string{
		", budget: 30m":                             "compare.budget: has no effect on a comparison with a declared number of blocks; set compare.blocks to auto",
		", blocks: 30, budget: 30m":                 "compare.budget: has no effect",
		", blocks: auto, budget: 0s":                "compare.budget: 0s is out of range; want 1s to 168h",
		", blocks: auto, budget: 200h":              "compare.budget:",
		", blocks: auto, budget: soon":              "compare.budget:",
		", blocks: auto, looks: [6, 9, 12]":         "compare.looks: exclude compare.blocks: auto, which has looks of its own, after [6, 9, 12, 15, 18, 21, 24, 27, 30] blocks; remove looks, or set blocks to 12",
		", blocks: automatic":                       "compare.blocks: \"automatic\" is no number of blocks; want 1 to 100, or auto",
		", blocks: many, budget: 30m":               "want 1 to 100, or auto",
		", blocks: [auto]":                          "compare.blocks: is a list; want a number of blocks, or auto",
		", blocks: auto, looks: [3], budget: 10min": "compare.budget:",
	} {
		if _, err := Parse([]byte(compared(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
