package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/stats"
)

// plannedLooks are the numbers of blocks after which a comparison may be judged: those whose levels are known.
func plannedLooks() []int {
	var out []int
	for _, l := range stats.PocockLooks() {
		out = append(out, l.Pairs)
	}
	return out
}

func looksText() string {
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(plannedLooks()), " ", ", "), "[]") + "]"
}

// defaultBlocks is how many blocks a comparison has at most unless its plan sets it.
func (c *Compare) defaultBlocks() int {
	if len(c.Looks) > 0 {
		return slices.Max(plannedLooks())
	}
	return 6
}

// checkLooks accepts only planned looks whose levels are known.
func (d *decoder) checkLooks(c *Compare) {
	if !d.given("compare.looks") || !d.good("compare.looks") {
		return
	}
	want := plannedLooks()
	if !slices.Equal(c.Looks, want) {
		d.at("compare.looks", "%s are looks whose levels are not known; want %s, or leave it out for one look after all blocks", numbersText(c.Looks), looksText())
		return
	}
	if last := want[len(want)-1]; d.good("compare.blocks") && c.Blocks != last {
		d.at("compare.blocks", "%d is not the last of compare.looks; want %d, or leave it out", c.Blocks, last)
	}
}

func numbersText(n []int) string { return strings.ReplaceAll(fmt.Sprint(n), " ", ", ") }
