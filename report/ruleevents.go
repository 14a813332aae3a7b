package report

import (
	"fmt"
	"regexp"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
)

// A RuleTally sums up the evaluations of the rules of a run. Rules that only warn are in none of
// its numbers: they break nothing. A rule that has seen too few operations is in NotJudged alone.
type RuleTally struct{ Held, Judged, NotJudged int }

// Add takes in an event of the kind "slo", and returns it as text where the rule did not hold, had
// no data or was not judged; "" where it held.
func (t *RuleTally) Add(e record.Event) string {
	warning, few := e.Level == record.Amber, tooFew(e)
	held := !e.Violated && !e.NoData && !few
	if !warning {
		t.count(held, few)
	}
	state := "broken"
	switch {
	case held:
		return ""
	case few:
		return fmt.Sprintf("%s not judged: %s", e.Rule, ruleNumbers(e))
	case e.NoData && warning:
		return e.Rule + " no data (it only warns)"
	case e.NoData:
		return e.Rule + " no data"
	case warning:
		state = "beyond its limit, which only warns"
	}
	return fmt.Sprintf("%s %s: %s", e.Rule, state, ruleNumbers(e))
}

// distinct matches the parts of an error that differ between errors of one kind: users, times, ids,
// and numbers. Numbers of three digits, such as the status of an answer, are kept.
var distinct = regexp.MustCompile(
	`\b(?:user [0-9]+|[0-9.]+(?:ns|µs|ms|s)|[0-9]{1,2}|[0-9]{4,}|[0-9a-z]{16,})\b`,
)

// ErrorLines returns the events of the kind "error" as texts, in the order of their first: one for
// all errors of one kind, which differ in their distinct parts alone, with their count.
func ErrorLines(events []record.Event) []string {
	type group struct {
		first, last record.Event
		n           int
	}
	var groups []*group
	of := map[string]*group{}
	for _, e := range events {
		if e.Kind != "error" {
			continue
		}
		kind := distinct.ReplaceAllString(e.Text, "#")
		if of[kind] == nil {
			of[kind] = &group{first: e}
			groups = append(groups, of[kind])
		}
		of[kind].last = e
		of[kind].n++
	}
	var lines []string
	for _, g := range groups {
		at := fmt.Sprintf("at %.1f s", g.first.At.Seconds())
		if g.n > 1 {
			at = fmt.Sprintf("%d of one kind, %.1f s to %.1f s", g.n, g.first.At.Seconds(),
				g.last.At.Seconds())
		}
		lines = append(lines, at+": "+g.first.Text)
	}
	return lines
}

func (t *RuleTally) count(held, few bool) {
	if few {
		t.NotJudged++
		return
	}
	t.Judged++
	if held {
		t.Held++
	}
}

// String writes the tally: "3 of 4 held, 1 not judged"; "" without rules.
func (t RuleTally) String() string {
	switch {
	case t.Judged == 0 && t.NotJudged == 0:
		return ""
	case t.NotJudged == 0:
		return fmt.Sprintf("%d of %d held", t.Held, t.Judged)
	case t.Judged == 0:
		return fmt.Sprintf("none judged, of %d", t.NotJudged)
	}
	return fmt.Sprintf("%d of %d held, %d not judged", t.Held, t.Judged, t.NotJudged)
}

// tooFew reports whether a rule had a value, but saw too few operations, or for too short a time,
// to be judged.
func tooFew(e record.Event) bool { return e.Undecided && !e.Violated && !e.NoData }

// RuleLine returns an event of the kind "slo" as a line of a list: "✓" before a rule that held, "✗"
// before one that is broken, "!" before one that did not hold and only warns.
func RuleLine(e record.Event) string {
	mark := "✓"
	switch {
	case e.NoData && e.Level == record.Amber:
		return "no data " + e.Rule + "; it only warns"
	case e.NoData:
		return "no data " + e.Rule
	case tooFew(e):
		mark = "not judged"
	case e.Violated && e.Level == record.Amber:
		mark = "!"
	case e.Violated:
		mark = "✗"
	}
	text := fmt.Sprintf("%s %s: %s", mark, e.Rule, ruleNumbers(e))
	if mark == "!" {
		text += "; it only warns"
	}
	return text
}

// ruleNumbers writes the value and the limit of an evaluation, the operations of one that was not
// judged, and, where the event has it, which part of the target broke the rule, and when.
func ruleNumbers(e record.Event) string {
	rule := ruleOf(e.Rule)
	text := valueAndLimit(rule.Unit, e.Value, e.Limit)
	switch {
	case tooFew(e) && e.Count < uint64(rule.Min):
		text += fmt.Sprintf(", %d operations where it needs %d", e.Count, rule.Min)
	case tooFew(e):
		text += ", for too short a time"
	}
	return text + inParens(e.Text)
}

// limitValue writes the limit of a rule as it was meant: "2 s", not "2.00 s".
func limitValue(unit string, limit Number) string {
	number, unit, ok := strings.Cut(ruleValue(unit, limit), " ")
	if !ok {
		return trim(number)
	}
	return trim(number) + " " + unit
}

func valueAndLimit(unit string, value, limit float64) string {
	return ruleValue(unit, Number(value)) + ", limit " + limitValue(unit, Number(limit))
}

// ruleOf reads the text of a rule; one of another version has neither unit nor least operations.
func ruleOf(text string) plan.SLO {
	r, err := plan.ParseSLO(text)
	if err != nil {
		return plan.SLO{}
	}
	return r
}
