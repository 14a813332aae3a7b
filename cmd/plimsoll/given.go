package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
	"plimsoll/run/record/figures"
	"plimsoll/run/record/k6"
	"plimsoll/run/record/loadtestng"
	"plimsoll/run/record/locust"
)

// A format is a kind of file that judge reads.
type format struct {
	name   string
	detect func([]byte) bool
	read   func(source string, data []byte) ([]record.Imported, error)
}

// formats are asked in this order.
func formats() []format {
	return []format{
		{"load-test-ng", loadtestng.Detect, loadtestng.Read},
		{"figures", figures.Detect, figures.Read},
		{"k6", k6.Detect, k6.Read},
		{"locust", locust.Detect, locust.Read},
	}
}

func formatNames() []string {
	names := []string{"csv"}
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// formatKnown reports whether a text is to be read by an importer: all but a CSV of pairs.
func formatKnown(data []byte) bool {
	for _, f := range formats() {
		if f.detect(data) {
			return true
		}
	}
	text := strings.TrimSpace(string(data[:min(len(data), 64)]))
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// givenFiles reads the files of one call and holds that no run is counted twice.
type givenFiles struct {
	app   *app
	n     *numbers
	texts map[string][]byte // standard input comes once
	paths map[string]string
	sums  map[[sha256.Size]byte]string
}

func (a *app) newFiles(n *numbers) *givenFiles {
	return &givenFiles{app: a, n: n, texts: map[string][]byte{}, paths: map[string]string{}, sums: map[[sha256.Size]byte]string{}}
}

// data returns the bytes of a file, or of standard input for "-".
func (f *givenFiles) data(name string) ([]byte, error) {
	if data, ok := f.texts[name]; ok {
		return data, nil
	}
	data, err := f.app.readInput(name)
	if err == nil {
		f.texts[name] = data
	}
	return data, err
}

// read reads one file, or a stored run, and checks it. All errors are of the person who called.
func (f *givenFiles) read(name string) ([]record.Imported, error) {
	path := filepath.Clean(name)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if other, twice := f.paths[path]; twice {
		return nil, plan.Usagef("%s is there twice (%s): one run counts once", name, other)
	}
	f.paths[path] = name
	info, err := os.Stat(name)
	if name != "-" && (err != nil || info.IsDir()) {
		return f.stored(name, err == nil)
	}
	data, err := f.data(name)
	if err != nil {
		return nil, err
	}
	given, err := f.parse(name, data)
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	// Two runs may well agree in the few figures that a person wrote down, but not in every byte of a tool's file.
	if sum := sha256.Sum256(data); given[0].Tool != figures.Tool {
		if other, twice := f.sums[sum]; twice {
			return nil, plan.Usagef("%s is a copy of %s: one run counts once", name, other)
		}
		f.sums[sum] = name
	}
	return given, nil
}

func (f *givenFiles) parse(name string, data []byte) ([]record.Imported, error) {
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil, errors.New("the file is empty")
	}
	for _, known := range formats() {
		if *f.n.format == known.name || *f.n.format == "auto" && known.detect(data) {
			return known.read(name, data)
		}
	}
	if *f.n.format != "auto" {
		if *f.n.format == "csv" {
			return nil, errors.New("a CSV of pairs holds both arms: pass it alone, without -base and -new")
		}
		return nil, fmt.Errorf("-format %s: want %s or auto", record.QuoteImported(*f.n.format), strings.Join(formatNames(), ", "))
	}
	if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
		var object map[string]any
		if err := record.UnmarshalImported(data, &object); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(string(data), "pair,") {
		return nil, errors.New("a CSV of pairs holds both arms: pass it alone, without -base and -new")
	}
	return nil, errors.New("not a file that is known: want a summary of k6, the _stats.csv of Locust, results.txt, comparison.json or a report of load-test-ng, or figures (docs/judge.md)")
}

// stored reads the figures of a run of the store.
func (f *givenFiles) stored(name string, isDir bool) ([]record.Imported, error) {
	r, err := f.run(name, isDir)
	if err != nil {
		return nil, err
	}
	g, err := catalog().Of(r).Figures(context.Background())
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.Manifest.ID, err)
	}
	return []record.Imported{g}, nil
}

// run opens a run of the store, or by its directory, that a verdict may rest on: sealed, valid, unaltered and no
// pilot. All errors are of the person who called.
func (f *givenFiles) run(name string, isDir bool) (*record.Run, error) {
	var r *record.Run
	var err error
	if isDir {
		r, err = record.Open(name)
	} else {
		st, serr := openStore(*f.n.root)
		if serr != nil {
			return nil, plan.Usagef("%s: there is no such file, and no store in %s to have such a run", name, *f.n.root)
		}
		r, err = st.Run(name)
	}
	if err != nil {
		return nil, plan.Usagef("%s: neither a file nor a stored run: %w", name, err)
	}
	m := r.Manifest
	if _, twice := f.paths["run "+m.ID]; twice { // by its id, a prefix of it or its directory
		return nil, plan.Usagef("run %s is there twice: one run counts once", m.ID)
	}
	f.paths["run "+m.ID] = name
	switch {
	case m.State != record.Sealed:
		return nil, plan.Usagef("run %s is truncated: it is %s, not sealed", m.ID, m.State)
	case !r.Validity.Valid:
		for _, finding := range r.Validity.Findings {
			if finding.Level == record.Red {
				return nil, plan.Usagef("run %s is not valid (%s: %s): no verdict rests on it", m.ID, finding.Gate, finding.Text)
			}
		}
		return nil, plan.Usagef("run %s is not valid: no verdict rests on it", m.ID)
	case m.Pilot:
		return nil, plan.Usagef("run %s is a pilot, which only finds where searches begin: leave it out", m.ID)
	case comparison.VoidOf(m.Capacity) != "":
		return nil, plan.Usagef("run %s: %s; leave it out", m.ID, comparison.VoidOf(m.Capacity))
	}
	if changed, err := r.Verify(); err != nil || len(changed) > 0 {
		return nil, plan.Usagef("run %s was changed since it was sealed: %s", m.ID, strings.Join(changed, ", "))
	}
	return r, nil
}

// judgeArms judges the runs of -base and -new.
func (a *app) judgeArms(n *numbers) error {
	var runs []record.Imported
	var sources []report.Source
	f := a.newFiles(n)
	var counts [2]int
	for i, arm := range []struct{ name, list string }{{record.ImportedBase, *n.base}, {record.ImportedNew, *n.fresh}} {
		if strings.Trim(arm.list, ", ") == "" {
			return plan.Usagef("the arm %s is empty: give its runs by -%s", arm.name, arm.name)
		}
		for entry := range strings.SplitSeq(arm.list, ",") {
			counts[i]++
			pair, name := counts[i], strings.TrimSpace(entry)
			if v, rest, ok := numbered(name); ok {
				if v < 1 {
					return plan.Usagef("-%s %s: a pair has a number from 1", arm.name, name)
				}
				pair, name = v, rest
			}
			if name == "" {
				return plan.Usagef("-%s: an entry of the list is empty", arm.name)
			}
			given, err := f.read(name)
			if err != nil {
				return err
			}
			for _, g := range given {
				if g.Arm != "" {
					return plan.Usagef("%s holds both arms: pass it without -%s", name, arm.name)
				}
				g.Arm, g.Pair = arm.name, pair
				runs = append(runs, g)
			}
			sources = append(sources, report.Source{Arm: arm.name, Pair: pair, File: name, Tool: given[0].Tool})
		}
	}
	if counts[0] != counts[1] {
		return plan.Usagef("%d runs by -base and %d by -new: want pairs, one run of each arm", counts[0], counts[1])
	}
	return a.judgeGiven(n, runs, sources)
}
