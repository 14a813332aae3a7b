package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	beginHeld, endHeld = "<!-- held-out faults -->", "<!-- end of held-out faults -->"

	// heldFile holds the results behind the table, below the documentation.
	heldFile = "limiter/heldout.jsonl"
)

// finishHeldOut prints the table, writes results and table into the documentation if there is one, and fails where
// the figures are not reached.
func finishHeldOut(docs string, faults []fault, results []result) error {
	table, all := heldTable(faults, results)
	fmt.Print(table)
	if docs != "" {
		var text strings.Builder
		for _, r := range results {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			text.Write(append(line, '\n'))
		}
		if err := os.WriteFile(filepath.Join(docs, heldFile), []byte(text.String()), 0o644); err != nil {
			return err
		}
		if err := renderHeldOut(docs); err != nil {
			return err
		}
	}
	if !all.met() {
		return errors.New("the limiter's figures for held-out faults are not reached")
	}
	return nil
}

// renderHeldOut makes the table of the documentation from the results that it holds.
func renderHeldOut(docs string) error {
	path := filepath.Join(docs, "limiter.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	results, err := os.ReadFile(filepath.Join(docs, heldFile))
	if err != nil {
		return err
	}
	text, err := heldPage(string(page), string(results))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// heldPage puts the table of results, a line of JSON each, into a page.
func heldPage(page, lines string) (string, error) {
	var results []result
	for line := range strings.Lines(lines) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return "", fmt.Errorf("%s: line %d: %w", heldFile, len(results)+1, err)
		}
		results = append(results, r)
	}
	table, _ := heldTable(heldOut(), results)
	return between(page, beginHeld, endHeld, table)
}
