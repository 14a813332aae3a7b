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
		ReadAgain(t, p)
	}
	fixed, err := Parse([]byte(compared("")))
	if err != nil || fixed.Compare.Blocks != 6 || fixed.Compare.Looks != nil ||
		strings.Contains(fixed.String(), "looks") {
		t.Errorf("without looks: %+v, %v", fixed, err)
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
		if err != nil || !p.Compare.Auto() || p.Compare.Blocks != 30 ||
			p.Compare.Budget != budget ||
			p.Compare.Looks != nil {
			t.Fatalf("%s: %+v, %v", text, p, err)
		}
		if want := max(time.Minute, budget/3); p.Compare.Retry != want {
			t.Errorf("%s: retry %v, want %v", text, p.Compare.Retry, want)
		}
		again := ReadAgain(t, p)
		if !reflect.DeepEqual(again.Compare, p.Compare) ||
			!strings.Contains(p.String(), "  blocks: auto\n") {
			t.Errorf("%s: the canonical form is another plan:\n%s", text, p)
		}
	}
	fixed, err := Parse([]byte(compared(", blocks: 30")))
	if err != nil || fixed.Compare.Auto() || strings.Contains(fixed.String(), "budget") {
		t.Errorf("a declared number: %v\n%s", err, fixed)
	}
}
