package plan

import (
	"slices"
	"strings"
	"testing"
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
