package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"plimsoll/stats"
	"plimsoll/studies/study"
)

//go:embed page.tmpl
var pageText string

// page is the page of the outcomes of the last setting.
func page(all []outcome) string {
	var first, last outcome
	var counted []outcome
	interrupted := 0
	planted := variants()
	for _, o := range all {
		switch last = all[len(all)-1]; {
		case o.Interrupted:
			interrupted++
		case o.counts(planted, last.Setting):
			counted = append(counted, o)
		}
	}
	if len(counted) > 0 {
		first = counted[0]
	}
	return study.Render(pageText, template.FuncMap{
		"cell": cell, "words": outcome.words, "verdict": outcome.verdict, "sum": outcome.sum,
		"attributed": outcome.attributed, "share": study.ShareText,
		"of": func(g group) []outcome {
			return of(counted, func(o outcome) bool { return o.Group == g })
		},
	}, map[string]any{
		"Rule": rule, "All": len(all), "Counted": len(counted), "Slots": len(variants()),
		"Interrupted": interrupted, "Others": len(all) - len(counted) - interrupted,
		"First": first, "Last": last, "Scores": scores(counted), "Finds": finds(counted),
		"Machines": study.Machines(counted, outcome.machine),
		"Groups": []struct{ Group, Title any }{
			{functions, "Work in one function"},
			{statement, "Statements"},
			{renamings, "Other names"},
			{nothingNew, "The base with itself"},
		},
	})
}

func of(all []outcome, accepts func(outcome) bool) (list []outcome) {
	for _, o := range all {
		if accepts(o) {
			list = append(list, o)
		}
	}
	return list
}

// An aim is a share of outcomes, in percent, that are to be right by a score.
type aim struct {
	What    string
	Least   int
	accepts func(outcome) bool
	score   func(outcome) string
}

var aims = []aim{
	{"work in a function, from 2 % on: named first", 95,
		func(o outcome) bool { return o.Group == functions && o.Amount >= 0.02 }, outcome.score},
	{"work in a function, 1 %: named first", 80,
		func(o outcome) bool { return o.Group == functions && o.Amount < 0.02 }, outcome.score},
	{"a statement: named first", 90,
		func(o outcome) bool { return o.Group == statement }, outcome.score},
	{"other names and work: named first", 95,
		func(o outcome) bool { return o.Group == renamings && o.Amount > 0 }, outcome.score},
	{"other names and nothing more: nothing named", 95,
		func(o outcome) bool { return o.Group == renamings && o.Amount == 0 }, outcome.score},
	{"the base with itself: nothing named", 95,
		func(o outcome) bool { return o.Group == nothingNew }, outcome.score},
	{"the parts add up to the whole, within its interval", 100, outcome.attributed,
		func(o outcome) string {
			_, ok := o.adds()
			return rightIf(ok)
		}},
	{"no statement differs: no statement named", 95,
		func(o outcome) bool {
			return o.Group != statement && o.Queries != nil && o.Queries.Withheld == ""
		},
		func(o outcome) string { return rightIf(len(o.Queries.Findings) == 0) }},
}

func rightIf(ok bool) string {
	if ok {
		return right
	}
	return wrong
}

// attributed reports whether an outcome has the parts of its difference.
func (o outcome) attributed() bool { return o.App != nil && o.App.Withheld == "" }

// A score is an aim with its outcomes: all of them, and how many have which score.
type score struct {
	aim
	N      int
	Scores map[string]int
}

func scores(all []outcome) (list []score) {
	for _, a := range aims {
		s := score{a, 0, map[string]int{}}
		for _, o := range of(all, a.accepts) {
			s.N++
			s.Scores[a.score(o)]++
		}
		list = append(list, s)
	}
	return list
}

// finds are the median, the smallest and the largest of the changes that comparisons could find, in
// percent; none without outcomes.
func finds(all []outcome) []float64 {
	var list []float64
	for _, o := range of(all, outcome.attributed) {
		list = append(list, 100*o.App.CouldFind)
	}
	if len(list) == 0 {
		return nil
	}
	return []float64{stats.Median(list), slices.Min(list), slices.Max(list)}
}

// sum is the sum of the parts, and whether they are not the whole.
func (o outcome) sum() string {
	s, ok := o.adds()
	text := fmt.Sprintf("%+.1f %%", 100*s)
	if !ok {
		text += ", not the whole"
	}
	return text
}

// verdict is the score, and whether a name that is right is said to be another one.
func (o outcome) verdict() string {
	if o.renamedTo() {
		return right + ", as renamed"
	}
	return o.score()
}

// words are what was named first, or the reason why nothing was.
func (o outcome) words() string {
	switch {
	case o.Problem != "":
		return o.Problem
	case o.Group == statement && o.Queries != nil && o.Queries.Withheld != "":
		return string(o.Queries.Withheld)
	case o.Group != statement && o.App != nil && o.App.Withheld != "":
		return o.App.Withheld
	}
	return o.named()
}

// cell is a text in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "¦", "*", `\*`, "<", "&lt;").Replace(study.OneLine(text))
}
