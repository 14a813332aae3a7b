package verbs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/formats"
	"plimsoll/evidence"
	"plimsoll/internal/files"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// numbers are the flags of judge, which report has too.
type numbers struct {
	better, margin, unit, name, arms, base, fresh, format, root *string
	databases, asJSON                                           *bool
	output                                                      *output
	markdown                                                    bool
	set                                                         func() []string // flags that were given
}

func (a *app) numbersFlags(fs *flag.FlagSet) *numbers {
	return &numbers{
		better: fs.String("better", "", "of a CSV without the column metric: which numbers are good, higher or lower (default that of the metric, else higher)"),
		margin: fs.String("margin", "", "how far the interval of a difference may reach for it to be the same (default that of the metric, else 5%); of several metrics a list: capacity=5%,p95=10%,errors=0.1pp"),
		unit:   fs.String("unit", "", "of a CSV without the column unit: unit of the numbers, for the text"),
		name:   fs.String("name", "capacity", "of a CSV without the column metric: name of the metric, such as p95(post)"),
		arms:   fs.String("arms", "", "names of the arms, `BASE,NEW`, if the files have none"),
		base:   fs.String("base", "", "runs of the base: `FILES` of another tool or stored runs, separated by commas; NUMBER=FILE names the pair"),
		fresh:  fs.String("new", "", "runs of the new arm: `FILES`, in the order of their pairs"),
		format: fs.String("format", "auto", "of the files: "+strings.Join(formats.Names(), ", ")+" or auto"),
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
	if len(args) == 1 {
		data, err := f.data(args[0])
		if err != nil {
			return err
		}
		if known, err := formats.Of(*n.format, data); err == nil && known.Read == nil {
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

// readInput reads a text file, or standard input for "-", up to the size that importers are meant for.
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
	return files.Text(data), nil
}

// terms are the terms that the flags state.
func (n *numbers) terms() evidence.Terms {
	return evidence.Terms{Name: *n.name, Better: *n.better, Unit: *n.unit, Margin: *n.margin, Arms: *n.arms, Given: n.set()}
}

// judgeCSV judges a CSV of pairs. One of a single endpoint has a short form of its own, unless a report is asked for.
func (a *app) judgeCSV(n *numbers, name string, data []byte) error {
	pairs, err := n.terms().ReadPairs(name, data)
	if err != nil {
		return err
	}
	r := pairs.One()
	if r == nil || n.markdown || *n.output.print != "" {
		return a.judgePairs(n, pairs)
	}
	if *n.output.out != "" { // the printed form does not change
		quiet := *a
		quiet.stdout, quiet.rawOut = io.Discard, io.Discard
		if err, status := quiet.judgePairs(n, pairs), exit.StatusError(0); err != nil && !errors.As(err, &status) {
			return err
		}
	}
	if *n.asJSON {
		err = a.json(r)
	} else {
		err = pairs.OneText(a.stdout)
	}
	if err != nil {
		return err
	}
	return statusOrNil(r.ExitStatus())
}

// judgeGiven judges runs of another tool.
func (a *app) judgeGiven(n *numbers, runs []record.Imported, sources []report.Source) error {
	pairs, err := n.terms().PairRuns(runs, sources)
	if err != nil {
		return err
	}
	return a.judgePairs(n, pairs)
}

// judgePairs judges pairs and writes the result.
func (a *app) judgePairs(n *numbers, pairs *evidence.Pairs) error {
	d, err := pairs.Judged(*n.databases)
	if err != nil {
		return err
	}
	return a.writeJudged(n, d)
}

func (a *app) writeJudged(n *numbers, d report.Document) error {
	print := "screen"
	switch {
	case *n.asJSON:
		print = "json"
	case n.markdown:
		print = "markdown"
	}
	if err := a.write(n.output, documentForms(d), print); err != nil {
		return err
	}
	if !d.State.Complete {
		return exit.StatusError(exit.Tool)
	}
	return statusOrNil(d.Kind.ExitStatus())
}

func statusOrNil(status int) error {
	if status == exit.OK {
		return nil
	}
	return exit.StatusError(status)
}
