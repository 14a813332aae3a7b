package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/evidence"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
	"plimsoll/run/record/figures"
	"plimsoll/run/record/gobench"
	"plimsoll/run/record/k6"
	"plimsoll/run/record/loadtestng"
	"plimsoll/run/record/locust"
)

// A format is a kind of file with numbers.
type format struct {
	name    string // of -format
	content string // what a person calls such a file
	detect  func(text []byte) bool
	// read returns the runs of a file; nil for pairs of numbers, which have none.
	read func(source string, text []byte) ([]record.Imported, error)
}

// formats returns all formats, which are asked in this order.
func formats() []format {
	return []format{
		{"load-test-ng", "results.txt, comparison.json or a report of load-test-ng", loadtestng.Detect, loadtestng.Read},
		{"figures", "a JSON with figures", figures.Detect, figures.Read},
		{"k6", "a summary of k6 in JSON", k6.Detect, k6.Read},
		{"locust", "the _stats.csv of Locust", locust.Detect, locust.Read},
		{"gobench", "the output of go test -bench", gobench.Detect, gobench.Read},
		{"benchstat", "the CSV of benchstat", gobench.DetectStat, gobench.ReadStat},
		{"csv", "a CSV of pairs with the columns base and new", evidence.IsPairs, nil},
		{"releases", "a CSV with base_release and new_release, for report trend", comparison.HasReleases, notTrend},
	}
}

func notTrend(string, []byte) ([]record.Imported, error) {
	return nil, errors.New("releases over several comparisons are no runs: give the file to plimsoll report trend")
}

func formatNames() (names []string) {
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// formatOf returns the format of a text, by its name or, for auto, by the text. The error of an unknown text lists the
// formats.
func formatOf(name string, text []byte) (format, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return format{}, errors.New("the file is empty")
	}
	var contents []string
	for _, f := range formats() {
		if name == f.name || name == "auto" && f.detect(text) {
			return f, nil
		}
		contents = append(contents, f.content)
	}
	if name != "auto" {
		return format{}, fmt.Errorf("-format %s: want %s or auto", record.QuoteImported(name), strings.Join(formatNames(), ", "))
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // perhaps cut off
		var object map[string]any
		if err := record.UnmarshalImported(text, &object); err != nil {
			return format{}, err
		}
	}
	return format{}, fmt.Errorf("the format of the file is not known: want %s (docs/judge.md)", strings.Join(contents, "; "))
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
	known, err := formatOf(*f.n.format, data)
	if err == nil && known.read == nil {
		err = errors.New("a CSV of pairs holds both arms: pass it alone, without -base and -new")
	}
	var given []record.Imported
	if err == nil {
		given, err = known.read(name, data)
	}
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
			for k, g := range given {
				if g.Arm != "" {
					return plan.Usagef("%s holds both arms: pass it without -%s", name, arm.name)
				}
				g.Arm, g.Pair = arm.name, pair+k
				runs = append(runs, g)
			}
			counts[i] += len(given) - 1
			sources = append(sources, report.Source{Arm: arm.name, Pair: pair, File: name, Tool: given[0].Tool})
		}
	}
	if counts[0] != counts[1] {
		return plan.Usagef("%d runs by -base and %d by -new: want pairs, one run of each arm", counts[0], counts[1])
	}
	return a.judgeGiven(n, runs, sources)
}
