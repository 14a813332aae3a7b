package report

import (
	"slices"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/verdict"
)

// leading is the endpoint that a sentence of [Planted] shows where it was judged: CPU time is
// counted by process, so it stands on a busy host too.
const leading = "cost(app)"

// Planted returns one line on whether a comparison found the slowdown that was planted in its new
// arms, with numbers of each database. It begins with "found: " if every verdict is worse, else
// with "not found"; where fault is empty and nothing was planted, with "same" if every verdict is,
// with "no difference found" if one is open, with "false alarm: " if one is worse or better, or
// with "no verdict" if one is missing.
func Planted(d Document, fault string) string {
	found := len(d.Verdicts) > 0
	quiet := true
	judged := len(d.Verdicts) > 0
	same := len(d.Verdicts) > 0

	var parts prose
	for _, f := range d.Verdicts {
		k := f.Verdict.Kind
		found = found && k == verdict.Worse
		quiet = quiet && k != verdict.Worse && k != verdict.Better
		judged = judged && k != verdict.Invalid
		same = same && k == verdict.Same
		part := strings.TrimSpace(plain.OneLine(f.Name) + " " + kindText(k, f.Verdict.Indicative))
		if text := plantedNumbers(f.Verdict.Results); text != "" {
			part += ", " + text
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = []string{"nothing was judged"}
	}
	if s := d.State; s.Judged < s.Planned {
		parts.add("%d of %s whole", s.Judged, count(s.Planned, "block", "blocks"))
	}
	slowdown := "the planted slowdown " + fault
	if strings.HasPrefix(fault, "cpu:") { // of the base it is more: burning makes the rest dearer
		slowdown += " of the new arm's own CPU time"
	}
	var head string
	switch {
	case fault != "" && found:
		head = "found: " + slowdown
	case fault != "":
		head = "not found on every database: " + slowdown
	case !quiet:
		head = "false alarm: a difference found, and none planted"
	case !judged:
		head = "no verdict on every database, and nothing planted"
	case same:
		head = "same on every database, and no slowdown planted"
	default:
		head = "no difference found, and none planted"
	}
	return head + ": " + strings.Join(parts, "; ")
}

// plantedNumbers are the effects of the leading endpoint and of at most one other that decides, the
// first that is better or worse.
func plantedNumbers(results []verdict.Result) string {
	var shown []string
	show := func(fits func(verdict.Result) bool) {
		if i := slices.IndexFunc(results, fits); i >= 0 {
			shown = append(shown, plain.OneLine(results[i].Name)+" "+effect(results[i]))
		}
	}
	show(func(r verdict.Result) bool { return r.Name == leading })
	show(func(r verdict.Result) bool { return r.Name != leading && r.Failed == nil && decided(r) })
	return strings.Join(shown, ", ")
}
