package report

import (
	"fmt"

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
