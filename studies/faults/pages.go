package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/studies/study"
)

// The page of the results of all suites. Beside it is a file for each suite, with its results.
const page = "limiter.md"

func resultsOf(dir, suite string) string { return filepath.Join(dir, suite+".jsonl") }

// finish prints the table, writes results and table into a directory if there is one, and fails
// where the figures are not reached.
func finish(dir, suite string, faults []fault, results []result) error {
	text, all := table(suite, faults, results)
	fmt.Print(text)
	if dir != "" {
		if err := study.Rewrite(resultsOf(dir, suite), results); err != nil {
			return err
		}
		if err := study.Insert(filepath.Join(dir, page), suites[suite].part, text); err != nil {
			return err
		}
	}
	if !all.met() || suite == tunedSuite && float64(all.right) < needed*float64(all.scored()) {
		return errors.New("the limiter's figures are not reached")
	}
	return nil
}

// render makes the table of the page again from the results beside it.
func render(dir, suite string, faults []fault) error {
	results, err := files.ReadJSONLines[result](resultsOf(dir, suite))
	if err != nil {
		return err
	}
	text, _ := table(suite, faults, results)
	return study.Insert(filepath.Join(dir, page), suites[suite].part, text)
}
