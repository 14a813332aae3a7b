package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"plimsoll/comparison"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/verdict"
)

// numbers are the flags of judge, which report has too.
type numbers struct {
	better, margin, unit, name, arms, base, fresh, format, root *string
	databases, asJSON                                           *bool
	output                                                      *output
	markdown                                                    bool
	errors                                                      float64         // the margin of errors of the runs' plans in percentage points; 0 if there is none
	set                                                         func() []string // flags that were given
}

func (a *app) numbersFlags(fs *flag.FlagSet) *numbers {
	return &numbers{
		better: fs.String("better", "", "of a CSV without the column metric: which numbers are good, higher or lower (default that of the metric, else higher)"),
		margin: fs.String("margin", "", "the difference that does not matter (default that of the metric, else 5%); of several metrics a list: capacity=5%,p95=10%,errors=0.1pp"),
		unit:   fs.String("unit", "", "of a CSV without the column unit: unit of the numbers, for the text"),
		name:   fs.String("name", "capacity", "of a CSV without the column metric: what the numbers are, such as p95(post)"),
		arms:   fs.String("arms", "", "what the arms are called, `BASE,NEW`, when the files do not say"),
		base:   fs.String("base", "", "runs of the base: `FILES` of another tool or stored runs, separated by commas; NUMBER=FILE names the pair"),
		fresh:  fs.String("new", "", "runs of the new arm: `FILES`, in the order of their pairs"),
		format: fs.String("format", "auto", "of the files: "+strings.Join(formatNames(), ", ")+" or auto"),
		root:   a.storeFlag(fs),

		databases: fs.Bool("databases", true, "also compare the databases within each arm, when there are several"),
		asJSON:    fs.Bool("json", false, "write the result as JSON"),
		output:    outputFlags(fs, printable),
		set: func() []string {
			var names []string
			fs.Visit(func(f *flag.Flag) { names = append(names, f.Name) })
			return names
		},
	}
}

// refuse refuses flags that describe given numbers, and more: of what is stored its plan says all that, and whoever gives one means something by it.
func (n *numbers) refuse(stored string, more ...string) error {
	for _, f := range append([]string{"margin", "better", "name", "unit", "arms", "format"}, more...) {
		if slices.Contains(n.set(), f) {
			return usagef("-%s is of given numbers: %s as its plan says; leave it out", f, stored)
		}
	}
	return nil
}

// judge is the verb that judges numbers that somebody already has.
func (a *app) judge(_ context.Context, fs *flag.FlagSet, args []string) error {
	n := a.numbersFlags(fs)
	fs.BoolVar(&n.markdown, "md", false, "write the result as Markdown, with the tables of the release reports")
	rest, err := parse(fs, args, 0, comparison.MostGiven)
	if err != nil {
		return err
	}
	if err := n.output.check(printable, *n.asJSON, n.markdown); err != nil {
		return err
	}
	return a.judgeNumbers(n, rest)
}

// judgeNumbers finds out what it was given and judges it.
func (a *app) judgeNumbers(n *numbers, args []string) error {
	switch {
	case *n.base != "" || *n.fresh != "":
		if len(args) > 0 {
			return usagef("%s: files of both arms and files of one do not mix; leave out -base and -new, or pass it by one of them", args[0])
		}
		return a.judgeArms(n)
	case len(args) == 0 && (slices.Contains(n.set(), "base") || slices.Contains(n.set(), "new")):
		return usagef("-base and -new are empty: give the runs of both arms")
	case len(args) == 0:
		return usagef("0 arguments, want a CSV of pairs, files that hold both arms, or -base and -new; see plimsoll judge -h")
	case len(args) == 1 && args[0] != "-":
		if fi, err := os.Stat(args[0]); errors.Is(err, os.ErrNotExist) || err == nil && fi.IsDir() {
			return a.judgeStored(n, args[0])
		}
	}
	f := a.newFiles(n)
	if len(args) == 1 && (*n.format == "auto" || *n.format == "csv") {
		data, err := f.data(args[0])
		if err != nil {
			return err
		}
		if *n.format == "csv" || !formatKnown(data) {
			return a.judgeCSV(n, args[0], data)
		}
	}
	var runs []record.Given
	var sources []report.Source
	for i, name := range args {
		given, err := f.read(name)
		if err != nil {
			return err
		}
		for _, g := range given {
			if g.Arm == "" {
				return usagef("%s is one run of %s: it is not known of which arm; pass it by -base or -new", name, g.Tool)
			}
			g.Pair = i + 1
			runs = append(runs, g)
		}
		sources = append(sources, report.Source{Arm: "both", Pair: i + 1, File: name, Tool: given[0].Tool})
	}
	return a.judgeGiven(n, runs, sources)
}

// readInput reads a file, or standard input for "-", up to the size that importers are meant for.
func (a *app) readInput(name string) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, record.MaxGivenBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(data) > record.MaxGivenBytes:
		return nil, usagef("%s is larger than %d MiB: want the summary of a run, not its operations", name, record.MaxGivenBytes>>20)
	}
	return data, nil
}

// judgeCSV judges a CSV of pairs.
func (a *app) judgeCSV(n *numbers, name string, data []byte) error {
	if !verdict.HasTableColumns(data) {
		pairs, err := verdict.ReadCSV(bytes.NewReader(data))
		if err != nil {
			return csvError(name, err)
		}
		e, err := n.endpoint("", "")
		if err != nil {
			return err
		}
		names, err := n.names([2]string{"base", "new"})
		if err != nil {
			return err
		}
		r := verdict.Judge(e, pairs, verdict.Options{BaseName: names[0], NewName: names[1]})
		in := report.JudgeInput{Names: names}
		for _, p := range pairs {
			in.Rows = append(in.Rows, verdict.Row{Metric: e.Name, Unit: e.Unit, Pair: p})
		}
		if *n.output.out != "" && !n.markdown && *n.output.print == "" { // what is printed stays what it is
			quiet := *a
			quiet.stdout, quiet.rawOut = io.Discard, io.Discard
			if err, status := quiet.judgeRows(n, in), statusError(0); err != nil && !errors.As(err, &status) {
				return err
			}
		}
		switch {
		case n.markdown || *n.output.print != "":
			return a.judgeRows(n, in)
		case *n.asJSON:
			err = a.json(r)
		default:
			if err = verdict.Text(a.stdout, r); err == nil && r.Kind == verdict.Inconclusive {
				err = report.BlocksText(a.stdout, r)
			}
		}
		if err != nil {
			return err
		}
		return statusOrNil(r.ExitStatus())
	}
	rows, err := verdict.ReadTable(bytes.NewReader(data))
	if err != nil {
		return csvError(name, err)
	}
	several := slices.ContainsFunc(rows, func(r verdict.Row) bool { return r.Metric != "" })
	for _, f := range []string{"better", "name"} {
		if several && slices.Contains(n.set(), f) {
			return usagef("-%s is of a CSV without the column metric, and %s has it", f, name)
		}
	}
	for i := range rows {
		if rows[i].Metric == "" {
			rows[i].Metric = *n.name
		}
		if rows[i].Unit == "" {
			rows[i].Unit = *n.unit
		}
	}
	n.ofOne(!several)
	in := report.JudgeInput{Rows: rows}
	if in.Names, err = n.names([2]string{"base", "new"}); err != nil {
		return err
	}
	if err = a.judgeRows(n, in); err != nil && statusOf(err) == exitUsage {
		return usagef("%s: %w", name, err)
	}
	return err
}

func csvError(name string, err error) error {
	if bad := (*verdict.CSVError)(nil); errors.As(err, &bad) {
		return usagef("%s: %w", name, err)
	}
	return fmt.Errorf("reading %s: %w", name, err)
}

// ofOne says that the numbers are of one metric, which the flags describe.
func (n *numbers) ofOne(one bool) {
	if !one {
		n.name = nil
	}
}

// endpoint returns the endpoint that the flags describe, or the one of a metric when there are several.
func (n *numbers) endpoint(metric, unit string) (verdict.Endpoint, error) {
	if n.name == nil {
		margins, err := n.margins()
		if err != nil {
			return verdict.Endpoint{}, err
		}
		e, err := comparison.EndpointOf(metric, unit, margins)
		if err != nil {
			return e, usageError{err}
		}
		if _, said := margins["errors"]; metric == "errors" && !said && n.errors > 0 {
			e.Margin = n.errors
		}
		return e, nil
	}
	if unit == "" {
		unit = *n.unit
	}
	// What a metric of that name is in other files it is here too; a name of their own has the direction of a capacity.
	e, err := comparison.EndpointOf(*n.name, unit, nil)
	if err != nil && *n.name == "errors" {
		return e, usageError{err}
	} else if err != nil {
		e = verdict.Endpoint{Name: *n.name, Unit: unit, Better: verdict.Higher, Margin: 0.05}
	}
	if *n.better != "" {
		if e.Better, err = verdict.ParseDirection(*n.better); err != nil {
			return e, usagef("-better: %w", err)
		}
	}
	if *n.margin != "" {
		if e.Margin, e.Absolute, err = n.marginOfOne(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// marginOfOne reads -margin where all numbers are of one metric: its margin, or as in a list with the metric's name in front.
func (n *numbers) marginOfOne() (margin float64, absolute bool, err error) {
	if !strings.Contains(*n.margin, "=") {
		if margin, absolute, err = verdict.ParseMargin(*n.margin); err != nil {
			return 0, false, usagef("-margin: %w", err)
		}
		return margin, absolute, nil
	}
	margins, err := n.margins()
	if err != nil {
		return 0, false, err
	}
	stat, _, _ := strings.Cut(*n.name, "(")
	for _, metric := range slices.Sorted(maps.Keys(margins)) {
		if metric != *n.name && metric != stat {
			return 0, false, usagef("-margin is for %s, but the numbers are %s; -name says what they are", metric, *n.name)
		}
	}
	m, ok := margins[*n.name]
	if !ok {
		m = margins[stat]
	}
	return m.Margin, m.Absolute, nil
}

// margins reads -margin as a list; a margin without a metric is that of capacity, as in a plan.
func (n *numbers) margins() (map[string]verdict.Endpoint, error) {
	out := map[string]verdict.Endpoint{}
	if *n.margin == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(*n.margin, ",") {
		metric, text, ok := strings.Cut(part, "=")
		if !ok {
			metric, text = "capacity", part
		}
		metric = strings.TrimSpace(metric)
		m, absolute, err := verdict.ParseMargin(text)
		if err != nil {
			return nil, usagef("-margin: %w", err)
		}
		if _, twice := out[metric]; twice {
			return nil, usagef("-margin: %s is there twice", metric)
		}
		out[metric] = verdict.Endpoint{Margin: m, Absolute: absolute}
	}
	return out, nil
}

// checkMargins refuses a margin of what is not judged: it would have been meant for something.
func (n *numbers) checkMargins(in report.JudgeInput) error {
	if n.name != nil {
		return nil
	}
	margins, err := n.margins()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range in.Rows {
		there[r.Metric] = true
	}
	for name := range in.Skipped {
		there[name] = true
	}
	all := slices.Sorted(maps.Keys(there))
	for _, metric := range slices.Sorted(maps.Keys(margins)) {
		if !slices.ContainsFunc(all, func(name string) bool { return name == metric || strings.HasPrefix(name, metric+"(") }) {
			return usagef("-margin is for %s, but there are only %s", metric, strings.Join(all, ", "))
		}
	}
	return nil
}

// names returns what the arms are called: as -arms says, or else as the files do.
func (n *numbers) names(files [2]string) ([2]string, error) {
	if *n.arms == "" {
		return files, nil
	}
	base, fresh, ok := strings.Cut(*n.arms, ",")
	base, fresh = strings.TrimSpace(base), strings.TrimSpace(fresh)
	if !ok || base == "" || fresh == "" || base == fresh || strings.Contains(fresh, ",") {
		return files, usagef("-arms %q: want two names, such as v11.0.4,v11.1.0-rc2", *n.arms)
	}
	return [2]string{base, fresh}, nil
}

// judgeGiven judges runs of another tool.
func (a *app) judgeGiven(n *numbers, runs []record.Given, sources []report.Source) error {
	for _, f := range []string{"better", "name", "unit"} {
		if slices.Contains(n.set(), f) {
			return usagef("-%s is of a CSV of pairs: files of a tool say themselves what their numbers are", f)
		}
	}
	n.ofOne(false)
	for _, g := range runs {
		if g.ErrorMargin > 0 && (n.errors == 0 || g.ErrorMargin < n.errors) {
			n.errors = g.ErrorMargin
		}
	}
	paired, err := comparison.PairGiven(runs, n.endpoint)
	if err != nil {
		return usageError{err}
	}
	in := report.JudgeInput{Rows: paired.Rows, Asides: paired.Asides, Skipped: paired.Skipped, Warnings: paired.Warnings, Sources: sources}
	if in.Names, err = n.names(paired.Names); err != nil {
		return err
	}
	if len(in.Rows)+len(paired.Lacks) == 0 {
		for _, name := range slices.Sorted(maps.Keys(in.Skipped)) {
			return usagef("there is nothing to judge: %s: %s", name, in.Skipped[name])
		}
		return usagef("there is nothing to judge: no file has a figure that a verdict can rest on (capacity, throughput, errors, p95, p99)")
	}
	return a.judgeRows(n, in, paired.Lacks...)
}

// judgeRows judges pairs and writes the result.
func (a *app) judgeRows(n *numbers, in report.JudgeInput, lacking ...comparison.Lack) error {
	arms, databases, err := comparison.JudgeRows(in.Rows, in.Names, n.endpoint, lacking...)
	if err != nil {
		return err
	}
	if err := n.checkMargins(in); err != nil {
		return err
	}
	if !*n.databases {
		databases = nil
	}
	in.Rows = slices.DeleteFunc(slices.Clone(in.Rows), func(r verdict.Row) bool { return !r.HasPair() })
	for _, j := range arms {
		in.Verdicts = append(in.Verdicts, j.Verdict)
	}
	for _, j := range databases {
		in.Databases = append(in.Databases, j.Verdict)
	}
	return a.writeJudged(n, in)
}

func (a *app) writeJudged(n *numbers, in report.JudgeInput) error {
	d := report.FromRows(in)
	print := "screen"
	switch {
	case *n.asJSON:
		print = "json"
	case n.markdown:
		print = "markdown"
	}
	if err := a.write(n.output, judgedForms(d), print); err != nil {
		return err
	}
	if d.NotComplete != "" {
		return statusError(exitTool)
	}
	return statusOrNil(d.Kind.ExitStatus())
}

func statusOrNil(status int) error {
	if status == exitOK {
		return nil
	}
	return statusError(status)
}
