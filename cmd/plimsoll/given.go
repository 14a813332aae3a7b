package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/figures"
	"plimsoll/record/k6"
	"plimsoll/record/loadtestng"
	"plimsoll/record/locust"
	"plimsoll/report"
	"plimsoll/verdict"
)

// A format is a kind of file that judge reads.
type format struct {
	name   string
	detect func([]byte) bool
	read   func(source string, data []byte) ([]record.Given, error)
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

// files reads the files of one call and holds that no run is counted twice.
type files struct {
	app   *app
	n     *numbers
	texts map[string][]byte // standard input comes once
	paths map[string]string
	sums  map[[sha256.Size]byte]string
}

func (a *app) newFiles(n *numbers) *files {
	return &files{app: a, n: n, texts: map[string][]byte{}, paths: map[string]string{}, sums: map[[sha256.Size]byte]string{}}
}

// data returns the bytes of a file, or of standard input for "-".
func (f *files) data(name string) ([]byte, error) {
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
func (f *files) read(name string) ([]record.Given, error) {
	path := filepath.Clean(name)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if other, twice := f.paths[path]; twice {
		return nil, usagef("%s is there twice (%s): one run counts once", name, other)
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
		return nil, usagef("%s: %w", name, err)
	}
	// Two runs may well agree in the few figures that a person wrote down, but not in every byte of a tool's file.
	if sum := sha256.Sum256(data); given[0].Tool != figures.Tool {
		if other, twice := f.sums[sum]; twice {
			return nil, usagef("%s is a copy of %s: one run counts once", name, other)
		}
		f.sums[sum] = name
	}
	return given, nil
}

func (f *files) parse(name string, data []byte) ([]record.Given, error) {
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
		return nil, fmt.Errorf("-format %s: want %s or auto", record.QuoteGiven(*f.n.format), strings.Join(formatNames(), ", "))
	}
	if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
		var object map[string]any
		if err := record.UnmarshalGiven(data, &object); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(string(data), "pair,") {
		return nil, errors.New("a CSV of pairs holds both arms: pass it alone, without -base and -new")
	}
	return nil, errors.New("not a file that is known: want a summary of k6, the _stats.csv of Locust, results.txt, comparison.json or a report of load-test-ng, or figures (docs/judge.md)")
}

// stored reads a run of the store.
func (f *files) stored(name string, isDir bool) ([]record.Given, error) {
	var r *record.Run
	var err error
	if isDir {
		r, err = record.Open(name)
	} else {
		st, serr := openStore(*f.n.root)
		if serr != nil {
			return nil, usagef("%s: there is no such file, and no store in %s to have such a run", name, *f.n.root)
		}
		r, err = st.Run(name)
	}
	if err != nil {
		return nil, usagef("%s: neither a file nor a stored run: %w", name, err)
	}
	m := r.Manifest
	if _, twice := f.paths["run "+m.ID]; twice { // by its id, a prefix of it or its directory
		return nil, usagef("run %s is there twice: one run counts once", m.ID)
	}
	f.paths["run "+m.ID] = name
	switch {
	case m.State != record.Sealed:
		return nil, usagef("run %s is truncated: it is %s, not sealed", m.ID, m.State)
	case !r.Validity.Valid:
		for _, finding := range r.Validity.Findings {
			if finding.Level == record.Red {
				return nil, usagef("run %s is not valid (%s: %s): no verdict rests on it", m.ID, finding.Gate, finding.Text)
			}
		}
		return nil, usagef("run %s is not valid: no verdict rests on it", m.ID)
	}
	if changed, err := r.Verify(); err != nil || len(changed) > 0 {
		return nil, usagef("run %s was changed since it was sealed: %s", m.ID, strings.Join(changed, ", "))
	}
	g, err := givenOf(r)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", m.ID, err)
	}
	return []record.Given{g}, nil
}

// storedEndpoints are the figures of a stored run that are judged: the primary endpoints of a plan.
func storedEndpoints() []verdict.Endpoint {
	return []verdict.Endpoint{
		{Name: "capacity", Unit: "users"}, {Name: "p95(post)", Unit: "ms"}, {Name: "p99(op)", Unit: "ms"},
		{Name: "p95(delivery)", Unit: "ms"}, {Name: "errors", Unit: "%"},
		{Name: "cost(app)", Unit: "ms"}, {Name: "cost(db)", Unit: "ms"},
	}
}

// givenOf reads the figures of a stored run.
func givenOf(r *record.Run) (record.Given, error) {
	m := r.Manifest
	g := record.Given{Source: "run " + m.ID, Tool: "plimsoll", Database: m.Engine, Lacks: map[string]string{}}
	if p, err := plan.ParseStored([]byte(m.Plan)); err == nil {
		g.ErrorMargin = 100 * p.ErrorMargin().Value
	}
	var tests []string
	if ph, ok := m.Phase("measure"); ok {
		tests = append(tests, fmt.Sprintf("bounded, %d users for %v", ph.Users, (ph.To-ph.From).Round(time.Second)))
	}
	if _, ok := m.Phase("search"); ok {
		tests = append(tests, "unbounded")
	}
	g.Test = strings.Join(tests, " and ") + asked(m)
	endpoints := storedEndpoints()
	n, err := comparison.NumbersOf(r, endpoints, costsOf(context.Background()))
	if err != nil {
		return g, err
	}
	for _, e := range endpoints {
		v := n.Values[e.Name]
		if math.IsNaN(v) {
			switch {
			case e.Name == "capacity" && n.Unstable:
				g.Unstable = n.Why[e.Name]
			case e.Name != "capacity" || m.Capacity != nil: // a bounded test asks for no capacity
				g.Lacks[e.Name] = n.Why[e.Name]
			}
			continue
		}
		f := record.Figure{Name: e.Name, Value: v, Unit: e.Unit, AtLeast: e.Name == "capacity" && n.Censored}
		if e.Name == "errors" {
			f.Ops = n.Ops
		}
		g.Figures = append(g.Figures, f)
	}
	if (g.Unstable != "" || g.Lacks["capacity"] != "") && len(g.Figures) == 0 {
		return g, nil // its search is counted
	}
	return g, g.Check()
}

// asked says what the plan of a run asks: the rules that decide a search, and in a few digits what the users do. Runs of which it differs
// did different things. It is empty for a plan that this version cannot read.
func asked(m record.Manifest) string {
	p, err := plan.Parse([]byte(m.Plan))
	if err != nil {
		return ""
	}
	w := p.Workload
	w.Params = nil // addresses and accounts differ between servers
	what, err := json.Marshal(w)
	if err != nil {
		return ""
	}
	sum, rules := sha256.Sum256(what), ""
	if _, ok := m.Phase("search"); ok && p.Unbounded != nil {
		for _, r := range p.Unbounded.SLO {
			rules += r.Source + "; "
		}
	}
	return fmt.Sprintf(", %sworkload %x", rules, sum[:4])
}

// judgeArms judges the runs of -base and -new.
func (a *app) judgeArms(n *numbers) error {
	var runs []record.Given
	var sources []report.Source
	f := a.newFiles(n)
	var counts [2]int
	for i, arm := range []struct{ name, list string }{{record.GivenBase, *n.base}, {record.GivenNew, *n.fresh}} {
		if strings.Trim(arm.list, ", ") == "" {
			return usagef("the arm %s is empty: give its runs by -%s", arm.name, arm.name)
		}
		for entry := range strings.SplitSeq(arm.list, ",") {
			counts[i]++
			pair, name := counts[i], strings.TrimSpace(entry)
			if number, rest, ok := strings.Cut(name, "="); ok {
				if v, err := strconv.Atoi(number); err == nil {
					if v < 1 {
						return usagef("-%s %s: a pair has a number from 1", arm.name, name)
					}
					pair, name = v, rest
				}
			}
			if name == "" {
				return usagef("-%s: an entry of the list is empty", arm.name)
			}
			given, err := f.read(name)
			if err != nil {
				return err
			}
			for _, g := range given {
				if g.Arm != "" {
					return usagef("%s holds both arms: pass it without -%s", name, arm.name)
				}
				g.Arm, g.Pair = arm.name, pair
				runs = append(runs, g)
			}
			sources = append(sources, report.Source{Arm: arm.name, Pair: pair, File: name, Tool: given[0].Tool})
		}
	}
	if counts[0] != counts[1] {
		return usagef("%d runs by -base and %d by -new: want pairs, one run of each arm", counts[0], counts[1])
	}
	return a.judgeGiven(n, runs, sources)
}
