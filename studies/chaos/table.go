package main

import (
	"cmp"
	"fmt"
	"strings"
)

// table is the results for a terminal.
func table(results []result) string {
	var b strings.Builder
	held := 0
	for _, r := range results {
		fmt.Fprintln(&b, r.line())
		if len(r.problems) == 0 {
			held++
		}
	}
	fmt.Fprintf(&b, "%d of %d rows hold\n", held, len(results))
	return b.String()
}

// page has the rows, in the part of this name.
const (
	page      = "chaos.md"
	tableName = "rows"
)

// markdown is the generated part of the page.
func markdown(results []result, known map[string]string) string {
	var b strings.Builder
	held, memory := 0, 0
	for _, r := range results {
		if len(r.problems) == 0 {
			held++
		}
		memory = max(memory, r.memory)
	}
	fmt.Fprintf(
		&b,
		"%d rows, of which %d hold and %d are NOT MET. The most memory of a row is %d MiB.\n\n",
		len(results),
		held,
		len(results)-held,
		memory,
	)
	b.WriteString(
		"| row | the target | class, right | class | status, right | status | MiB | s | secret | control character | |\n|---|---|---|---|---|---:|---:|---:|---|---|---|\n",
	)
	for _, r := range results {
		state, status := "holds", fmt.Sprint(r.status)
		if len(r.problems) > 0 {
			state = "**NOT MET**"
		}
		if r.status < 0 {
			status = "ended by force"
		}
		fmt.Fprintf(
			&b,
			"| %s | %s | %s | %s | %s | %s | %d | %.1f | %s | %s | %s |\n",
			r.row.name(),
			cell(r.row.mode.what),
			r.row.classText(),
			cmp.Or(strings.Join(r.classes, " "), "-"),
			r.row.statusText(),
			status,
			r.memory,
			r.seconds,
			shown(r.leak.secret),
			shown(r.leak.control),
			state,
		)
	}
	if held < len(results) {
		b.WriteString("\nWhat is not met, and why:\n\n")
		for _, r := range results {
			if len(r.problems) > 0 {
				fmt.Fprintf(
					&b,
					"- %s: %s. %s\n",
					r.row.name(),
					cell(strings.Join(r.problems, "; ")),
					known[r.row.name()],
				)
			}
		}
	}
	return b.String()
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "{", `\{`).Replace(text)
}

func shown(what string) string {
	if what == "" {
		return "none"
	}
	return "**shown**"
}
