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

	"plimsoll/internal/files"
	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// numbers are the flags of judge, which report has too.
type numbers struct {
	better, margin, unit, name, arms, base, fresh, format, root *string
	databases, asJSON                                           *bool
	output                                                      *output
	markdown                                                    bool
	// errors is the margin of errors of the runs' plans in percentage points; 0 if there is none.
	errors float64
	set    func() []string // flags that were given
}

func (a *app) numbersFlags(fs *flag.FlagSet) *numbers {
	return &numbers{
		better: fs.String("better", "", "of a CSV without the column metric: which numbers are good, higher or lower (default that of the metric, else higher)"),
		margin: fs.String("margin", "", "the difference that does not matter (default that of the metric, else 5%); of several metrics a list: capacity=5%,p95=10%,errors=0.1pp"),
		unit:   fs.String("unit", "", "of a CSV without the column unit: unit of the numbers, for the text"),
		name:   fs.String("name", "capacity", "of a CSV without the column metric: name of the metric, such as p95(post)"),
		arms:   fs.String("arms", "", "names of the arms, `BASE,NEW`, if the files have none"),
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

// refuse refuses flags that describe imported numbers, and more: a stored comparison is judged by its plan, and a
// flag without effect would mislead.
func (n *numbers) refuse(stored string, more ...string) error {
	for _, f := range append([]string{"margin", "better", "name", "unit", "arms", "format"}, more...) {
		if slices.Contains(n.set(), f) {
			return plan.Usagef("-%s applies to imported numbers only; %s by its own plan: leave it out", f, stored)
		}
	}
	return nil
}

// judge is the verb that judges imported numbers.
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

// judgeNumbers detects the kind of its arguments and judges them.
func (a *app) judgeNumbers(n *numbers, args []string) error {
	switch {
	case *n.base != "" || *n.fresh != "":
		if len(args) > 0 {
			return plan.Usagef("%s: files of both arms and files of one do not mix; leave out -base and -new, or pass it by one of them", args[0])
		}
		return a.judgeArms(n)
	case len(args) == 0 && (slices.Contains(n.set(), "base") || slices.Contains(n.set(), "new")):
		return plan.Usagef("-base and -new are empty: give the runs of both arms")
	case len(args) == 0:
		return plan.Usagef("0 arguments, want a CSV of pairs, files that hold both arms, or -base and -new; see plimsoll judge -h")
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
	var runs []record.Imported
	var sources []report.Source
	for i, name := range args {
		given, err := f.read(name)
		if err != nil {
			return err
		}
		for _, g := range given {
			if g.Arm == "" {
				return plan.Usagef("%s is one run of %s: it is not known of which arm; pass it by -base or -new", name, g.Tool)
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
		f, err := files.Open(name)
		if err != nil {
			return nil, plan.UsageError{Err: orStdin(err)}
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, record.MaxGivenBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(data) > record.MaxGivenBytes:
		return nil, plan.Usagef("%s is larger than %d MiB: want the summary of a run, not its operations", name, record.MaxGivenBytes>>20)
	}
	return data, nil
}

// judgeCSV judges a CSV of pairs.
func (a *app) judgeCSV(n *numbers, name string, data []byte) error {
	if !imported.HasTableColumns(data) {
		pairs, err := imported.ReadCSV(bytes.NewReader(data))
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
			in.Rows = append(in.Rows, imported.PairRow{Metric: e.Name, Unit: e.Unit, Pair: p})
		}
		if *n.output.out != "" && !n.markdown && *n.output.print == "" { // the printed form does not change
			quiet := *a
			quiet.stdout, quiet.rawOut = io.Discard, io.Discard
			if err, status := quiet.judgeRows(n, in), rig.StatusError(0); err != nil && !errors.As(err, &status) {
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
	rows, err := imported.ReadTable(bytes.NewReader(data))
	if err != nil {
		return csvError(name, err)
	}
	several := slices.ContainsFunc(rows, func(r imported.PairRow) bool { return r.Metric != "" })
	for _, f := range []string{"better", "name"} {
		if several && slices.Contains(n.set(), f) {
			return plan.Usagef("-%s is of a CSV without the column metric, and %s has it", f, name)
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
	if err = a.judgeRows(n, in); err != nil && statusOf(err) == rig.ExitUsage {
		return plan.Usagef("%s: %w", name, err)
	}
	return err
}

func csvError(name string, err error) error {
	if bad := (*imported.CSVError)(nil); errors.As(err, &bad) {
		return plan.Usagef("%s: %w", name, err)
	}
	return fmt.Errorf("reading %s: %w", name, err)
}

// ofOne records whether the numbers are of one metric, which the flags describe.
func (n *numbers) ofOne(one bool) {
	if !one {
		n.name = nil
	}
}

// endpoint returns the endpoint that the flags describe, or the one of a metric when there are several.
func (n *numbers) endpoint(metric, unit string) (plan.Endpoint, error) {
	if n.name == nil {
		margins, err := n.margins()
		if err != nil {
			return plan.Endpoint{}, err
		}
		e, err := comparison.EndpointOf(metric, unit, margins)
		if err != nil {
			return e, plan.UsageError{Err: err}
		}
		if _, said := margins["errors"]; metric == "errors" && !said && n.errors > 0 {
			e.Margin = n.errors
		}
		return e, nil
	}
	if unit == "" {
		unit = *n.unit
	}
	// A metric has the properties that its name has in other files; an unknown name has the direction of a capacity.
	e, err := comparison.EndpointOf(*n.name, unit, nil)
	if err != nil && *n.name == "errors" {
		return e, plan.UsageError{Err: err}
	} else if err != nil {
		e = plan.Endpoint{Name: *n.name, Unit: unit, Better: plan.Higher, Margin: 0.05}
	}
	if *n.better != "" {
		if e.Better, err = plan.ParseDirection(*n.better); err != nil {
			return e, plan.Usagef("-better: %w", err)
		}
	}
	if *n.margin != "" {
		if e.Margin, e.Absolute, err = n.marginOfOne(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// marginOfOne reads -margin where all numbers are of one metric: its margin, or as in a list with the metric's name
// in front.
func (n *numbers) marginOfOne() (margin float64, absolute bool, err error) {
	if !strings.Contains(*n.margin, "=") {
		if margin, absolute, err = imported.ParseMargin(*n.margin); err != nil {
			return 0, false, plan.Usagef("-margin: %w", err)
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
			return 0, false, plan.Usagef("-margin is for %s, but the numbers are %s; -name says what they are", metric, *n.name)
		}
	}
	m, ok := margins[*n.name]
	if !ok {
		m = margins[stat]
	}
	return m.Margin, m.Absolute, nil
}

// margins reads -margin as a list; a margin without a metric is that of capacity, as in a plan.
func (n *numbers) margins() (map[string]plan.Endpoint, error) {
	out := map[string]plan.Endpoint{}
	if *n.margin == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(*n.margin, ",") {
		metric, text, ok := strings.Cut(part, "=")
		if !ok {
			metric, text = "capacity", part
		}
		metric = strings.TrimSpace(metric)
		m, absolute, err := imported.ParseMargin(text)
		if err != nil {
			return nil, plan.Usagef("-margin: %w", err)
		}
		if _, twice := out[metric]; twice {
			return nil, plan.Usagef("-margin: %s is there twice", metric)
		}
		out[metric] = plan.Endpoint{Margin: m, Absolute: absolute}
	}
	return out, nil
}

// checkMargins refuses a margin of a metric that is not judged, rather than ignore it.
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
			return plan.Usagef("-margin is for %s, but there are only %s", metric, strings.Join(all, ", "))
		}
	}
	return nil
}

// names returns the names of the arms: those of -arms, or else those of the files.
func (n *numbers) names(files [2]string) ([2]string, error) {
	if *n.arms == "" {
		return files, nil
	}
	base, fresh, ok := strings.Cut(*n.arms, ",")
	base, fresh = strings.TrimSpace(base), strings.TrimSpace(fresh)
	if !ok || base == "" || fresh == "" || base == fresh || strings.Contains(fresh, ",") {
		return files, plan.Usagef("-arms %q: want two names, such as v11.0.4,v11.1.0-rc2", *n.arms)
	}
	return [2]string{base, fresh}, nil
}

// judgeGiven judges runs of another tool.
func (a *app) judgeGiven(n *numbers, runs []record.Imported, sources []report.Source) error {
	for _, f := range []string{"better", "name", "unit"} {
		if slices.Contains(n.set(), f) {
			return plan.Usagef("-%s applies to a CSV of pairs only: files of a tool name their metrics", f)
		}
	}
	n.ofOne(false)
	for _, g := range runs {
		if g.ErrorMargin > 0 && (n.errors == 0 || g.ErrorMargin < n.errors) {
			n.errors = g.ErrorMargin
		}
	}
	paired, err := comparison.PairImported(runs, n.endpoint)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	in := report.JudgeInput{Rows: paired.Rows, Asides: paired.Asides, Skipped: paired.Skipped, Warnings: paired.Warnings, Sources: sources}
	if in.Names, err = n.names(paired.Names); err != nil {
		return err
	}
	if len(in.Rows)+len(paired.Lacks) == 0 {
		for _, name := range slices.Sorted(maps.Keys(in.Skipped)) {
			return plan.Usagef("there is nothing to judge: %s: %s", name, in.Skipped[name])
		}
		return plan.Usagef("there is nothing to judge: no file has a figure that a verdict can rest on (capacity, throughput, errors, p95, p99)")
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
	in.Rows = slices.DeleteFunc(slices.Clone(in.Rows), func(r imported.PairRow) bool { return !r.HasPair() })
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
		return rig.StatusError(rig.ExitTool)
	}
	return statusOrNil(d.Kind.ExitStatus())
}

func statusOrNil(status int) error {
	if status == rig.ExitOK {
		return nil
	}
	return rig.StatusError(status)
}
