package report

import (
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// TestOperationsBehindTheTypicalTime names at most two operations of a typical response time that
// is worse, of those with a fifth of the change or more, and none of one that is the same.
func TestOperationsBehindTheTypicalTime(t *testing.T) {
	e := plan.Endpoint{Name: "typical(op)", Stat: plan.Typical, Of: "op", Better: plan.Lower,
		Margin: 0.05, Unit: "ms"}
	of := func(by float64) NamedVerdict {
		r := judged(e, 6, by, by+0.2, by+0.4)
		r.Kinds = &verdict.Kinds{Compared: 9, Share: 1, Changed: []verdict.KindShift{
			{Kind: "view_channel", Effect: 0.71, Lo: 0.66, Hi: 0.76, Share: 0.67},
			{Kind: "post", Effect: 0.2, Lo: 0.1, Hi: 0.3, Share: 0.21},
			{Kind: "search", Effect: 0.2, Lo: 0.1, Hi: 0.3, Share: 0.2},
			{Kind: "set_preferences", Effect: -0.28, Lo: -0.37, Hi: -0.18, Share: -0.3},
		}}
		return NamedVerdict{Verdict: verdict.Combine("PostgreSQL", []verdict.Result{r})}
	}
	if got := typicalLines(of(0)); got != nil {
		t.Errorf("a typical time that is the same has %q", got)
	}
	f := of(13)
	got := strings.Join(typicalLines(f), "\n")
	want := "typical(op) " + effect(f.Verdict.Results[0]) + ": 67 % of it is view_channel " +
		"(+71.0 % [+66.0, +76.0]); 21 % of it is post (+20 % [+10, +30])"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	has(t, strings.Join(kindNotes(f), "\n"),
		"4 kinds changed for certain: view_channel (+71.0 % [+66.0, +76.0]), 67 % of the change; ",
		"set_preferences (-28.0 % [-37.0, -18.0]), -30 % of the change")
}

// TestWhatOperationsHaveInCommon stands in place of single operations.
func TestWhatOperationsHaveInCommon(t *testing.T) {
	e := plan.Endpoint{Name: "typical(op)", Stat: plan.Typical, Of: "op", Better: plan.Lower,
		Margin: 0.05, Unit: "ms"}
	for want, kinds := range map[string]verdict.Kinds{
		"all 14 kinds of operations take 19.8 to 21.2 ms longer each": {
			Compared: 14, Alike: &verdict.AlikeKinds{Kinds: 14, Least: 19.83, Most: 21.24, Unit: "ms"}},
		"12 of 14 kinds of operations take 20.1 to 20.9 ms less each": {
			Compared: 14, Alike: &verdict.AlikeKinds{Kinds: 12, Least: -20.9, Most: -20.1, Unit: "ms"}},
		"13 of 14 kinds of operations take 45 to 55 % longer each": {
			Compared: 14, Alike: &verdict.AlikeKinds{Kinds: 13, Least: 0.45, Most: 0.55}},
	} {
		r := judged(e, 6, 13, 13.2, 13.4)
		kinds.Changed = []verdict.KindShift{{Kind: "status_ids", Effect: 38, Lo: 36, Hi: 40, Share: 0.3}}
		r.Kinds = &kinds
		f := NamedVerdict{Verdict: verdict.Combine("PostgreSQL", []verdict.Result{r})}
		if got := strings.Join(typicalLines(f), "\n"); got != "typical(op) "+effect(r)+": "+want {
			t.Errorf("%q, want %q", got, want)
		}
		has(t, strings.Join(kindNotes(f), "\n"), "typical(op): "+want+".")
	}
}

// TestScreenKeepsAReason has more reasons than a screen can hold: the first and the last stay,
// which is the suspect where there is one.
func TestScreenKeepsAReason(t *testing.T) {
	d := whyOf(attributedCost(), 1.1)
	reason := d.Why[0]
	reason.First = true
	d.Why = nil
	for _, name := range []string{"first", "second", "third", "fourth", "fifth", "last"} {
		reason.Sentence = name + " reason, " + strings.Repeat("which has many words, ", 12)
		d.Why = append(d.Why, reason)
	}
	text := screenText(t, d, 100)
	if n := strings.Count(text, "\n"); n > ScreenLines ||
		!strings.Contains(text, "first reason") || !strings.Contains(text, "last reason") ||
		strings.Contains(text, "third reason") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
