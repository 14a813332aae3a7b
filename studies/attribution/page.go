package main

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/stats"
	"plimsoll/studies/study"
)

const pageHead = `# Attribution: how often the right function or statement is named

` + "```sh" + `
make attribution ATTRIBUTIONFLAGS='-n 4'   # add four comparisons to this page; killed or stopped, it goes on when started again
` + "```" + `

Builds of the reference chat server that differ from a base in one known way ([variant.go](../attribution/variant.go)) take
turns with it, several in one comparison of six blocks ([plan.yaml](../attribution/plan.yaml)), and the report of
` + "`plimsoll compare`" + ` names functions and statements. Work is added by an overlay of the source: a loop inside a function,
or a call of a library there. Its length follows from the calls of that function and the CPU time of the server, which one
run of the base counts, so that all calls take the asked share. Every outcome is a line of
[attribution.jsonl](attribution.jsonl) and a row below: none is left out or made again, but for those that were interrupted.

`

// page is the page of the outcomes of the last setting.
func page(all []outcome) string {
	var b strings.Builder
	b.WriteString(pageHead + rule + "\n")
	if len(all) == 0 {
		b.WriteString("\nNo outcome was measured yet.\n")
		return b.String()
	}
	last := all[len(all)-1]
	var counted []outcome
	interrupted := 0
	for _, o := range all {
		switch {
		case o.Interrupted:
			interrupted++
		case o.Setting == last.Setting:
			counted = append(counted, o)
		}
	}
	const at = "2006-01-02 15:04"
	fmt.Fprintf(
		&b,
		"\n%d outcomes, of %d slots; others: %d interrupted, %d of other settings, which are not counted.\n",
		len(counted),
		len(variants()),
		interrupted,
		len(all)-len(counted)-interrupted,
	)
	if len(counted) > 0 {
		first := counted[0]
		fmt.Fprintf(&b, "They are from %s to %s (UTC), commits %s to %s, on %s.\n",
			first.At.Format(at), last.At.Format(at), first.Commit, last.Commit, last.Machine)
		summary(&b, counted)
	}
	for _, g := range []struct {
		group
		title string
	}{
		{functions, "Work in one function"},
		{statement, "Statements"},
		{renamings, "Other names"},
		{nothingNew, "The base with itself"},
	} {
		every(&b, g.title, of(counted, func(o outcome) bool { return o.Group == g.group }))
	}
	return b.String()
}

func of(all []outcome, accepts func(outcome) bool) (list []outcome) {
	for _, o := range all {
		if accepts(o) {
			list = append(list, o)
		}
	}
	return list
}

// An aim is a share of outcomes that are to be right.
type aim struct {
	what    string
	least   float64
	accepts func(outcome) bool
}

var aims = []aim{
	{
		"work in a function, from 2 % on: named first",
		0.95,
		func(o outcome) bool { return o.Group == functions && o.Amount >= 0.02 },
	},
	{
		"work in a function, 1 %: named first",
		0.8,
		func(o outcome) bool { return o.Group == functions && o.Amount < 0.02 },
	},
	{"a statement: named first", 0.9, func(o outcome) bool { return o.Group == statement }},
	{
		"other names and work: named first",
		0.95,
		func(o outcome) bool { return o.Group == renamings && o.Amount > 0 },
	},
	{
		"other names and nothing more: nothing named",
		0.95,
		func(o outcome) bool { return o.Group == renamings && o.Amount == 0 },
	},
	{
		"the base with itself: nothing named",
		0.95,
		func(o outcome) bool { return o.Group == nothingNew },
	},
}

// summary writes the shares of outcomes that are right, beside what is wanted.
func summary(b *strings.Builder, all []outcome) {
	b.WriteString(
		"\n## Summary\n\nIntervals are of 95 %, by Clopper and Pearson (Biometrika 26, 1934, 404).\n\n" +
			"| outcomes | wanted | n | right | wrong | nothing named | no attribution | **right, of 100** |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
	)
	for _, a := range aims {
		list := of(all, a.accepts)
		scores := map[string]int{}
		for _, o := range list {
			scores[o.score()]++
		}
		fmt.Fprintf(
			b,
			"| %s | %.0f | %d | %d | %d | %d | %d | **%s** |\n",
			a.what,
			100*a.least,
			len(list),
			scores[right],
			scores[wrong],
			scores[nothing],
			scores[without],
			share(scores[right], len(list)),
		)
	}
	parts, added := of(all, func(o outcome) bool { return o.App != nil && o.App.Withheld == "" }), 0
	var finds []float64
	for _, o := range parts {
		if _, ok := o.adds(); ok {
			added++
		}
		finds = append(finds, 100*o.App.CouldFind)
	}
	fmt.Fprintf(
		b,
		"| the parts add up to the whole, within its interval | 100 | %d | %d | %d | | | **%s** |\n",
		len(parts),
		added,
		len(parts)-added,
		share(added, len(parts)),
	)
	quiet, silent := of(all, func(o outcome) bool {
		return o.Group != statement && o.Queries != nil && o.Queries.Withheld == ""
	}), 0
	for _, o := range quiet {
		if len(o.Queries.Findings) == 0 {
			silent++
		}
	}
	fmt.Fprintf(b, "| no statement differs: no statement named | 95 | %d | %d | %d | | | **%s** |\n",
		len(quiet), silent, len(quiet)-silent, share(silent, len(quiet)))
	if len(finds) > 0 {
		fmt.Fprintf(
			b,
			"\nThe smallest change of one function that a comparison could find in four of five cases, by its own account: %.1f %% of the\ncost in the median, %.1f to %.1f %%.\n",
			stats.Median(finds),
			slices.Min(finds),
			slices.Max(finds),
		)
	}
}

func share(k, n int) string {
	iv := study.ShareInterval(k, n, 0.95)
	return fmt.Sprintf("%.0f [%.0f, %.0f]", 100*float64(k)/float64(max(n, 1)), 100*iv.Lo, 100*iv.Hi)
}

// every writes each outcome of a group.
func every(b *strings.Builder, title string, all []outcome) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if len(all) == 0 {
		b.WriteString("No outcome was measured yet.\n")
		return
	}
	b.WriteString(
		"| slot | date (UTC) | kind | variant | planted | cost(app) | named first | **outcome** | sum of the parts | could find | others | time |\n" +
			"|--:|---|---|---|--:|--:|---|---|--:|--:|--:|--:|\n",
	)
	for _, o := range all {
		planted, sum, finds := "–", "–", "–"
		if o.Amount > 0 {
			planted = fmt.Sprintf("%.1f %%", 100*o.Planted)
		}
		if o.App != nil && o.App.Withheld == "" {
			s, ok := o.adds()
			sum, finds = percent(s), fmt.Sprintf("%.1f %%", 100*o.App.CouldFind)
			if !ok {
				sum += ", not the whole"
			}
		}
		fmt.Fprintf(
			b,
			"| %d | %s | %s | %s | %s | %s [%s, %s] | %s | **%s** | %s | %s | %.1f %%, %.1f %% | %.0f s for %d |\n",
			o.Slot,
			o.At.Format("2006-01-02 15:04"),
			o.Kind,
			cell(o.Name),
			planted,
			percent(
				o.Cost.Value,
			),
			percent(o.Cost.Low),
			percent(o.Cost.High),
			cell(o.words()),
			o.verdict(),
			sum,
			finds,
			100*o.Before,
			100*o.During,
			o.Seconds,
			o.Beside,
		)
	}
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

func percent(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }

// cell is a text in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "¦", "*", `\*`, "<", "&lt;").Replace(study.OneLine(text))
}
