package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/statements"
)

// slotOf returns the first slot whose variant is so.
func slotOf(t *testing.T, so func(variant) bool) int {
	t.Helper()
	i := slices.IndexFunc(variants(), so)
	if i < 0 {
		t.Fatal("there is no such variant")
	}
	return i + 1
}

// outcomeOf is an outcome of a slot without anything named.
func outcomeOf(slot int) outcome {
	v := variants()[slot-1]
	return outcome{
		Slot:    slot,
		variant: v,
		Symbol:  v.symbol(),
		Setting: setting(),
		Blocks:  6,
		Beside:  4,
		App:     &attribution.Attribution{Role: "app", Base: 0.001, New: 0.00102, CouldFind: 0.012},
		Queries: &statements.Difference{Base: 0.0004},
	}
}

// finding is one of a function that rose, or fell.
func finding(name string, cost float64) attribution.FunctionChange {
	return attribution.FunctionChange{
		Kind:     attribution.Changed,
		Function: attribution.Function{Name: name},
		Cost:     attribution.IntervalEstimate{Value: cost},
	}
}

func one(name string, cost float64) []attribution.FunctionChange {
	return []attribution.FunctionChange{finding(name, cost)}
}

// What is named first is scored by its name and direction, and an outcome without an attribution
// counts.
func TestScore(t *testing.T) {
	in := func(name string) int {
		return slotOf(t, func(v variant) bool { return v.Function == name && v.Group == functions })
	}
	json := in("(*request).replyAs")
	const pkg = "plimsoll/reference/refchat."
	for name, tt := range map[string]struct {
		slot int
		app  []attribution.FunctionChange
		want string
	}{
		"the function":          {json, append(one(pkg+"(*request).replyAs", 1), finding(pkg+"newID", 2)), right},
		"what it calls":         {json, one("encoding/json.Marshal", 1), wrong},
		"second":                {json, append(one(pkg+"newID", 2), finding(pkg+"(*request).replyAs", 1)), wrong},
		"fell":                  {json, one(pkg+"(*request).replyAs", -1), wrong},
		"nothing":               {json, nil, nothing},
		"an instance":           {in("textMap[...]"), one(pkg+"textMap[go.shape.map[string]string]", 1), right},
		"another's instance":    {in("textMap[...]"), one(pkg+"textList[go.shape.string]", 1), wrong},
		"a method's instance":   {in("(*cache[...]).get"), one(pkg+"(*cache[go.shape.*uint8]).get", 1), right},
		"a closure's neighbor":  {in("(*hub).deliver.func2"), one(pkg+"(*hub).deliver.func1", 1), wrong},
		"another module's path": {json, one("plimsoll/v2/reference/refchat.(*request).replyAs", 1), wrong},
	} {
		o := outcomeOf(tt.slot)
		o.App.Findings = tt.app
		if got := o.score(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	o := outcomeOf(json)
	for name, app := range map[string]*attribution.Attribution{"none": nil, "withheld": {Withheld: "too few blocks"}} {
		if o.App = app; o.score() != without {
			t.Errorf("%s: %s", name, o.score())
		}
	}
	o = outcomeOf(slotOf(t, func(v variant) bool { return v.Group == nothingNew }))
	if o.score() != right {
		t.Errorf("nothing planted and nothing named: %s", o.score())
	}
	if o.App.Findings = one(pkg+"newID", 1); o.score() != wrong {
		t.Errorf("nothing planted and a function named: %s", o.score())
	}
	if o.Interrupted = true; o.score() != cut {
		t.Errorf("interrupted: %s", o.score())
	}
}

// A renamed function is right by its new name alone.
func TestScoreOfNames(t *testing.T) {
	for kind, name := range map[string]string{
		"version of the module": "plimsoll/v2/reference/refchat.(*Server).publishPost",
		"moved package":         "plimsoll/reference/server/refchat.(*store).query",
		"renumbered closures":   "plimsoll/reference/refchat.(*hub).deliver.func3",
		"renamed method":        "plimsoll/reference/refchat.(*request).makePost",
	} {
		o := outcomeOf(slotOf(t, func(v variant) bool { return v.Kind == kind && v.Amount > 0 }))
		f := finding(name, 1)
		f.Renamed = true
		if o.App.Findings = []attribution.FunctionChange{f}; o.verdict() != "right, as renamed" {
			t.Errorf("%s: %s", kind, o.verdict())
		}
		f.Function.Name = "plimsoll/reference/refchat." + o.Function
		if o.App.Findings[0] = f; o.score() != wrong {
			t.Errorf("%s by its old name: %s", kind, o.score())
		}
	}
}

// A statement is right if its text has the changed part, in any form of spaces and letters.
func TestScoreOfStatements(t *testing.T) {
	slot := func(name string) int {
		return slotOf(t, func(v variant) bool { return v.Group == statement && v.Name == name })
	}
	const members, channel = "members counted at each permission check",
		"all posts are thought to be in one channel"
	for _, tt := range []struct{ name, text, want string }{
		{members, "SELECT m.x FROM channelmembers m\n\tJOIN channels c ON c.id = $1", right},
		{members, "SELECT channelid FROM channelmembers WHERE userid = $1", wrong},
		{channel, "SELECT p.id FROM posts p WHERE p.channelid = $1", right},
		{channel, "", nothing},
	} {
		o := outcomeOf(slot(tt.name))
		if tt.text != "" {
			o.Queries.Findings = []statements.ChangedStatement{{Text: tt.text}}
		}
		if got := o.score(); got != tt.want {
			t.Errorf("%s, %q: %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
	o := outcomeOf(slot("files, post by post"))
	if o.Queries = nil; o.score() != without {
		t.Errorf("no statements: %s", o.score())
	}
}

// The sum of the parts is held to the interval of the whole.
func TestAdds(t *testing.T) {
	o := outcomeOf(1)
	o.App.Change = attribution.IntervalEstimate{Value: 0.02, Low: 0.01, High: 0.03}
	for cost, want := range map[float64]bool{0.00001: true, 0.00003: true, 0.000005: false, 0.000035: false} {
		o.App.Parts = []attribution.CostPart{
			{Cost: attribution.IntervalEstimate{Value: cost - 0.000002}},
			{Cost: attribution.IntervalEstimate{Value: 0.000002}},
		}
		if sum, ok := o.adds(); ok != want || math.Abs(sum-cost/0.001) > 1e-9 {
			t.Errorf("%g of [0.00001, 0.00003]: %v, %v", cost, sum, ok)
		}
	}
}

// outcomes are those of the golden page: each slot with a right answer, but for some.
func outcomes() (all []outcome) {
	began := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
	for i, v := range variants() {
		o := outcomeOf(i + 1)
		o.At = began.Add(time.Duration(i/4) * 10 * time.Minute)
		o.Commit = "abc1234"
		o.Machine = "2 × a processor"
		o.ID, o.Seconds, o.Before, o.During = "c", 500, 0.004, 0.01
		o.Planted = v.Amount * 1.03
		o.Cost = attribution.IntervalEstimate{Value: v.Amount, Low: v.Amount - 0.01, High: v.Amount + 0.01}
		o.App.Change = o.Cost
		o.App.Parts = []attribution.CostPart{{Cost: attribution.IntervalEstimate{Value: v.Amount * 0.001}}}
		switch {
		case v.Group == statement:
			o.Queries.Findings = []statements.ChangedStatement{
				{
					Kind: statements.Changed,
					Text: "SELECT | " + v.texts[0],
					Cost: attribution.IntervalEstimate{Value: 0.0001},
				},
			}
		case v.Amount > 0:
			o.App.Findings = one(o.Symbol, v.Amount*0.001)
			o.App.Findings[0].Renamed = v.Group == renamings
		}
		switch i {
		case 3, 4:
			o.App.Findings = append(one("runtime.mallocgc", 0.00001), o.App.Findings...)
		case 5, 6:
			o.App.Findings, o.Queries.Findings = nil, nil
		case 7:
			o.App, o.Queries, o.Problem = nil, nil, "plimsoll ended | with status 1"
		case 8:
			o.Queries.Findings = []statements.ChangedStatement{{Text: "SELECT 1"}}
			o.App.Parts[0].Cost.Value = 1
		}
		all = append(all, o)
	}
	killed := all[9]
	killed.Interrupted = true
	others := []outcome{
		{Slot: 1, Setting: "an earlier one"},
		{Slot: 2, Setting: all[0].Setting, variant: variant{Name: "one that was replaced"}},
	}
	return slices.Insert(append(others, all...), 7, killed)
}

// TestGolden compares the page of fixed outcomes with its file; on a difference it writes it beside
// this.
func TestGolden(t *testing.T) {
	for name, got := range map[string]string{"page.md": page(outcomes()), "empty.md": page(nil)} {
		file := filepath.Join("testdata", name)
		if want, err := os.ReadFile(file + ".golden"); err != nil || string(want) != got {
			t.Errorf("%s differs: see %[1]s.got (%v)", file, err)
			if err := os.WriteFile(file+".got", []byte(got), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	if text := page(outcomes()); strings.Count(text, "\n| ") < len(variants()) {
		t.Error("the page lacks outcomes")
	}
}
