package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/plan"
)

// sentence writes the result as a person would, and after it what a cost means for the capacity.
func (r Result) sentence() string {
	if r.Implies != nil {
		return r.ownSentence() + " " + r.Implies.Sentence
	}
	return r.ownSentence()
}

func (r Result) ownSentence() string {
	switch {
	case r.Kind == Invalid:
		return fmt.Sprintf("%s: invalid: %s.", r.Name, r.Reason)
	case r.Indicative && r.HasEffect():
		return fmt.Sprintf(
			"%s: %s is %s than %s%s; %s.",
			r.Name,
			r.New.Name,
			r.change(),
			r.Base.Name,
			r.spread(),
			r.Reason,
		)
	case !r.HasEffect():
		return fmt.Sprintf("%s: %s: %s.", r.Name, r.Kind, r.Reason)
	default:
		return fmt.Sprintf(
			"%s: %s: %s is %s than %s %s.",
			r.Name,
			r.Kind,
			r.New.Name,
			r.change(),
			r.Base.Name,
			r.evidence(),
		)
	}
}

// clause returns the result as a clause that follows the verdict of its database: "capacity 10.13 %
// lower (95 % interval …)".
func (r Result) clause() string {
	if r.Kind == Invalid {
		return fmt.Sprintf("no result for %s: %s", r.Name, r.Reason)
	}
	if !r.HasEffect() {
		return r.Name + ": " + r.Reason
	}
	return fmt.Sprintf("%s %s %s", r.Text(), r.change(), r.evidence())
}

// evidence returns the evidence for the change, in parentheses, and remarks on it.
func (r Result) evidence() string {
	pairs := Count(r.N, "pair")
	if n := r.bounds(); n > 0 {
		pairs += fmt.Sprintf(", %d of them only %s", n, plural(n, "a bound", "bounds"))
	}
	if r.Look > 0 {
		pairs += fmt.Sprintf(", look %d of %d", r.Look, r.Looks)
	}
	switch r.Kind {
	case Same:
		text := fmt.Sprintf(
			"(%s interval %s to %s, %s), inside the margin of %s",
			r.level90(),
			delta(r.Endpoint, r.Lo90),
			delta(r.Endpoint, r.Hi90),
			pairs,
			marginText(r.Endpoint),
		)
		switch {
		case r.Absolute && r.Effect == 0 && r.SD == 0:
			text += "; " + r.Reason
		case r.Lo > 0 || r.Hi < 0:
			text += "; a small real shift"
		}
		return text
	case Better, Worse:
		text := fmt.Sprintf(
			"(%s interval %s to %s, %s, %s)",
			r.level(),
			delta(r.Endpoint, r.Lo),
			delta(r.Endpoint, r.Hi),
			pText(r.P),
			pairs,
		)
		if why := r.InsideMargin(); why != "" {
			text += ", " + why
		}
		return text
	default:
		text := fmt.Sprintf(
			"(%s interval %s to %s, %s): %s",
			r.level(),
			delta(r.Endpoint, r.Lo),
			delta(r.Endpoint, r.Hi),
			pairs,
			r.Reason,
		)
		if advice := r.advice(); advice != "" {
			text += "; " + advice
		}
		return text
	}
}

// InsideMargin explains a better or worse result whose effect is smaller than its margin; "" for
// other results.
func (r Result) InsideMargin() string {
	end := r.Hi90
	if r.Effect < 0 {
		end = r.Lo90
	}
	if r.Kind != Better && r.Kind != Worse || math.IsNaN(end) ||
		!(math.Abs(r.Scale(r.Effect)) < r.Limit()) {
		return ""
	}
	return fmt.Sprintf(
		"less than the margin of %s, but not the same: its %s interval reaches %s",
		marginText(r.Endpoint),
		r.level90(),
		delta(r.Endpoint, end),
	)
}

// spread returns the range of the pairs of a small sample.
func (r Result) spread() string {
	if r.N < 2 {
		return ""
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, d := range r.Deltas() {
		lo, hi = min(lo, d.Lo), max(hi, d.Hi)
	}
	return fmt.Sprintf(" (pairs from %s to %s)", delta(r.Endpoint, lo), delta(r.Endpoint, hi))
}

// MostBlocks is the largest number of blocks that is recommended: where more would be needed, the
// advice is steadier or longer runs.
const MostBlocks = 100

// OutOfReach reports whether no number of pairs up to [MostBlocks] is known to be enough for a
// verdict.
func (r Result) OutOfReach() bool { return r.PairsNeeded == 0 || r.PairsNeeded > MostBlocks }

// advice returns the smallest effect that an inconclusive sample could have seen, and a remedy.
func (r Result) advice() string {
	if r.Censored() {
		return "searches that end with numbers would say more than bounds"
	}
	var parts []string
	are := [2]string{"pair is", "pairs are"}
	if r.MDE > 0 {
		parts = append(parts, fmt.Sprintf(
			"%s could find a change of %s",
			Count(r.N, "pair"),
			size(r.Endpoint, r.MDE),
		))
		are = [2]string{"is", "are"}
	}
	switch more := r.PairsNeeded - r.N; {
	case r.OutOfReach():
		parts = append(parts, fmt.Sprintf("not even %d pairs would be enough", MostBlocks))
	case more > 0:
		parts = append(
			parts,
			fmt.Sprintf("about %d more %s needed", more, plural(more, are[0], are[1])),
		)
	}
	switch {
	case r.Over:
		parts = append(parts, "the time was over before another look")
	case r.Look > 0 && r.Look < r.Looks:
		parts = append(parts, fmt.Sprintf("look %d of %d is next", r.Look+1, r.Looks))
	}
	if r.Widest != 0 {
		parts = append(parts, fmt.Sprintf("pair %d adds most to the width", r.Widest))
	}
	return strings.Join(parts, "; ")
}

// change writes the effect: "3.64 % lower".
func (r Result) change() string {
	if r.Effect < 0 {
		return size(r.Endpoint, r.Effect) + " lower"
	}
	return size(r.Endpoint, r.Effect) + " higher"
}

// delta writes a difference with its sign: "+12.84 %", "-0.28 %", "+0.02 pp".
func delta(e plan.Endpoint, d float64) string {
	if e.Absolute {
		return signed(d, 4) + " pp"
	}
	return signed(100*d, 2) + " %"
}

// size writes a difference without its sign.
func size(e plan.Endpoint, d float64) string {
	if e.Absolute {
		return number(math.Abs(d), 4) + " pp"
	}
	return strconv.FormatFloat(100*math.Abs(d), 'f', 2, 64) + " %"
}

// marginText writes the margin: "5 %", "0.1 pp".
func marginText(e plan.Endpoint) string {
	if e.Absolute {
		return number(e.Margin, 6) + " pp"
	}
	return number(100*e.Margin, 6) + " %"
}

// LevelText names the level of an interval: "95 %".
func LevelText(level float64) string { return number(100*level, 2) + " %" }

// level and level90 name the two intervals: "95 %" and "90 %" at alpha 0.05.
func (r Result) level() string   { return LevelText(1 - r.Alpha) }
func (r Result) level90() string { return LevelText(1 - 2*r.Alpha) }

// signed writes a number with its sign and a fixed number of decimals. Numbers that round to zero
// have a plus.
func signed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return "+" + strings.TrimPrefix(s, "-")
	}
	if v > 0 {
		return "+" + s
	}
	return s
}

// number writes a number with at most this many decimals.
func number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// pText writes a p-value: "p = 0.0312", "p < 0.0001".
func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return "p not known"
	case p < 0.0001:
		return "p < 0.0001"
	default:
		return "p = " + strconv.FormatFloat(p, 'f', 4, 64)
	}
}

var small = [...]string{"no", "one", "two", "three", "four", "five"}

// indicative returns the reason why a small sample carries no verdict.
func indicative(n int) string {
	if n == 0 {
		return "there is no pair: at least six are needed for a verdict"
	}
	return fmt.Sprintf(
		"%s %s indicative only: at least six are needed for a verdict",
		small[n],
		plural(n, "pair is", "pairs are"),
	)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count writes a number with its noun: "1 pair", "2 pairs".
func Count(n int, noun string) string { return fmt.Sprintf("%d %s%s", n, noun, plural(n, "", "s")) }

// blocks names pairs: "pair 3", "pairs 3 and 5".
func blocks(numbers []int) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = strconv.Itoa(n)
	}
	return plural(len(text), "pair ", "pairs ") + List(text)
}
