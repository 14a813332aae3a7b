package report

import (
	"fmt"
	"regexp"

	"plimsoll/run/record"
)

// A RuleTally sums up the evaluations of the rules of a run. Rules that only warn are in neither number: they break
// nothing.
type RuleTally struct{ Held, All int }

// Add takes in an event of the kind "slo", and returns it as text where the rule did not hold or had no data; "" where
// it held.
func (t *RuleTally) Add(e record.Event) string {
	warning, state := e.Level == record.Amber, "broken"
	held := !e.Violated && !e.NoData
	if !warning {
		t.All++
		if held {
			t.Held++
		}
	}
	switch {
	case held:
		return ""
	case e.NoData && warning:
		state = "no data (it only warns)"
	case e.NoData:
		state = "no data"
	case warning:
		state = "beyond its limit, which only warns"
	}
	return fmt.Sprintf("%s %s: %s", e.Rule, state, ruleNumbers(e))
}

// distinct are the parts of an error that differ between errors of one kind: users, times, ids, and numbers but for
// those of three digits, such as the status of an answer.
var distinct = regexp.MustCompile(`\b(?:user [0-9]+|[0-9.]+(?:ns|µs|ms|s)|[0-9]{1,2}|[0-9]{4,}|[0-9a-z]{16,})\b`)

// ErrorLines returns the events of the kind "error" as texts, in the order of their first: one for all errors of
// one kind, which differ in their distinct parts alone, with their count.
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
			at = fmt.Sprintf("%d of one kind, %.1f s to %.1f s", g.n, g.first.At.Seconds(), g.last.At.Seconds())
		}
		lines = append(lines, at+": "+g.first.Text)
	}
	return lines
}

// RuleLine returns an event of the kind "slo" as a line of a list: "✓" before a rule that held, "✗" before one that is
// broken, "!" before one that did not hold and only warns.
func RuleLine(e record.Event) string {
	mark := "✓"
	switch {
	case e.NoData:
		mark = "no data"
	case e.Violated && e.Level == record.Amber:
		mark = "!"
	case e.Violated:
		mark = "✗"
	}
	text := fmt.Sprintf("%s %s: %s", mark, e.Rule, ruleNumbers(e))
	if e.Level == record.Amber && (e.NoData || e.Violated) {
		text += "; it only warns"
	}
	return text
}

// ruleNumbers writes the value and the limit of an evaluation and, where the event has it, which part of the target
// broke the rule, and when.
func ruleNumbers(e record.Event) string {
	text := fmt.Sprintf("%.4g of %.4g", e.Value, e.Limit)
	if e.Text != "" {
		text += " (" + e.Text + ")"
	}
	return text
}
