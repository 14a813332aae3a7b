package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/stats"
)

// DefaultBudget is the time of a comparison with "blocks: auto" unless its plan sets it.
const DefaultBudget = 30 * time.Minute

// plannedLooks are the numbers of blocks after which a comparison may be judged: those whose levels
// are known.
func plannedLooks() []int { return pairsOf(stats.PocockLooks()) }

func pairsOf(looks []stats.PlannedLook) []int {
	var out []int
	for _, l := range looks {
		out = append(out, l.Pairs)
	}
	return out
}

// parseBlocks reads a number of blocks.
func parseBlocks(s string) (int, error) {
	n, err := parseInt(s)
	if err != nil {
		err = refuse(s, "is no number of blocks; want 1 to %d, or %s", maxBlocks, autoWord)
	}
	return n, err
}

// fillBlocks sets how many blocks there are at most, unless the plan does.
func (d *decoder) fillBlocks(c *Compare) {
	switch {
	case d.auto("compare.blocks"):
		c.Blocks = slices.Max(pairsOf(stats.BudgetLooks()))
		fill(d, "compare.budget", &c.Budget, DefaultBudget)
	case len(c.Looks) > 0:
		fill(d, "compare.blocks", &c.Blocks, slices.Max(plannedLooks()))
	default:
		fill(d, "compare.blocks", &c.Blocks, 6)
	}
}

// checkBudget accepts a budget only where it decides on the number of blocks.
func (d *decoder) checkBudget() {
	if d.given("compare.budget") && !d.auto("compare.blocks") && d.good("compare.blocks") {
		d.at("compare.budget", "has no effect on a comparison with a declared number of blocks; "+
			"set compare.blocks to auto, or remove it")
	}
}

// checkLooks accepts only planned looks whose levels are known.
func (d *decoder) checkLooks(c *Compare) {
	if !d.given("compare.looks") || !d.good("compare.looks") {
		return
	}
	want := plannedLooks()
	if d.auto("compare.blocks") {
		d.at(
			"compare.looks",
			"exclude compare.blocks: auto, which has looks of its own, after %s blocks; remove looks, or set blocks to %d",
			numbersText(pairsOf(stats.BudgetLooks())),
			want[len(want)-1],
		)
		return
	}
	if !slices.Equal(c.Looks, want) {
		d.at("compare.looks",
			"%s are looks whose levels are not known; want %s, or leave it out for one look "+
				"after all blocks", numbersText(c.Looks), numbersText(want))
		return
	}
	if last := want[len(want)-1]; d.good("compare.blocks") && c.Blocks != last {
		d.at("compare.blocks", "%d is not the last of compare.looks; want %d, or leave it out",
			c.Blocks, last)
	}
}

func numbersText(n []int) string { return strings.ReplaceAll(fmt.Sprint(n), " ", ", ") }
