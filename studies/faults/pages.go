package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/run/record"
	"plimsoll/studies/study"
)

const (
	page = "limiter.md"
	// heldFile holds the results behind the table of the held-out suite.
	heldFile = "heldout.jsonl"
)

// The parts of the page.
const (
	tunedPart = "faults"
	casePart  = "case"
	heldPart  = "held-out faults"
)

// write puts the table and the case into the page of a directory.
func write(dir string, t tally, results []result) error {
	date := time.Now().UTC().Format("2 January 2006")
	table := fmt.Sprintf("Measured on %s by `make faults`.\n\n%s", date, t.table())
	if err := study.Insert(filepath.Join(dir, page), tunedPart, table); err != nil {
		return err
	}
	if said := pair(results); said != "" {
		return study.Insert(filepath.Join(dir, page), casePart, said)
	}
	return nil
}

// The two runs of the case: packets lost at the proxy, and the same without the loss.
const (
	withLoss    = "loss"
	withoutLoss = "none"
)

// pair returns what a run with the loss and one without it named; "" without both. They are the
// first two of one number that were both named rightly: the table counts the others.
func pair(results []result) string {
	for _, r := range results {
		i := slices.IndexFunc(results, func(o result) bool {
			return o.Fault == withLoss && o.Number == r.Number && o.ok()
		})
		if r.Fault != withoutLoss || !r.ok() || i < 0 {
			continue
		}
		var out strings.Builder
		fmt.Fprintf(&out, "Run %d of each, the first of one number that were both named rightly; "+
			"the table has all.\n\n", r.Number)
		for _, line := range []struct {
			what string
			r    result
		}{{"Packets lost at the proxy", results[i]}, {"Nothing lost", r}} {
			fmt.Fprintf(&out, "- %s: %s, named first **%s** (confidence %s); %s. First evidence: %s\n",
				line.what, capacityText(line.r.Capacity), line.r.Limiter, line.r.Confidence,
				line.r.Injected, sentence(line.r))
		}
		return out.String()
	}
	return ""
}

func capacityText(c string) string {
	kind, users, ok := strings.Cut(c, " ")
	if !ok || kind != record.Estimate {
		return "capacity " + c
	}
	return "capacity " + users + " users"
}

func sentence(r result) string {
	if len(r.Evidence) == 0 {
		return "none."
	}
	return r.Evidence[0]
}

// finishHeldOut prints the table, writes results and table into a directory if there is one, and
// fails where the figures are not reached.
func finishHeldOut(dir string, faults []fault, results []result) error {
	table, all := heldTable(faults, results)
	fmt.Print(table)
	if dir != "" {
		var text strings.Builder
		for _, r := range results {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			text.Write(append(line, '\n'))
		}
		if err := os.WriteFile(filepath.Join(dir, heldFile), []byte(text.String()), 0o644); err != nil {
			return err
		}
		if err := study.Insert(filepath.Join(dir, page), heldPart, table); err != nil {
			return err
		}
	}
	if !all.met() {
		return errors.New("the limiter's figures for held-out faults are not reached")
	}
	return nil
}

// renderHeldOut makes the table of the page again from the results beside it.
func renderHeldOut(dir string) error {
	results, err := files.ReadJSONLines[result](filepath.Join(dir, heldFile))
	if err != nil {
		return err
	}
	table, _ := heldTable(heldOut(), results)
	return study.Insert(filepath.Join(dir, page), heldPart, table)
}
