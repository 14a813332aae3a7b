package main

import (
	"fmt"
	"os"
	"path/filepath"
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

const (
	beginTable, endTable = "<!-- rows -->", "<!-- end of rows -->"
	page                 = "chaos.md"
)

// writeDocs puts the rows into the page.
func writeDocs(docs string, results []result) error {
	path := filepath.Join(docs, page)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), beginTable+"\n")
	_, tail, ok2 := strings.Cut(rest, endTable)
	if !ok || !ok2 {
		return fmt.Errorf("%s: the marks %s and %s are not there", path, beginTable, endTable)
	}
	return os.WriteFile(path, []byte(head+beginTable+"\n"+markdown(results, notMet)+endTable+tail), 0o644)
}

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
	fmt.Fprintf(&b, "%d rows, of which %d hold and %d are NOT MET. The most memory of a row is %d MiB.\n\n", len(results), held, len(results)-held, memory)
	b.WriteString("| row | the target | class, right | class | status, right | status | MiB | s | secret | control character | |\n|---|---|---|---|---|---:|---:|---:|---|---|---|\n")
	for _, r := range results {
		state, status := "holds", fmt.Sprint(r.status)
		if len(r.problems) > 0 {
			state = "**NOT MET**"
		}
		if r.status < 0 {
			status = "ended by force"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d | %.1f | %s | %s | %s |\n", r.row.name(), cell(r.row.mode.what), r.row.classText(), dash(strings.Join(r.classes, " ")),
			r.row.statusText(), status, r.memory, r.seconds, shown(r.leak.secret), shown(r.leak.control), state)
	}
	if held < len(results) {
		b.WriteString("\nWhat is not met, and why:\n\n")
		for _, r := range results {
			if len(r.problems) > 0 {
				fmt.Fprintf(&b, "- %s: %s. %s\n", r.row.name(), cell(strings.Join(r.problems, "; ")), known[r.row.name()])
			}
		}
	}
	return b.String()
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "{", `\{`).Replace(text)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func shown(what string) string {
	if what == "" {
		return "none"
	}
	return "**shown**"
}
