package read

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
	"plimsoll/cmd/internal/app"
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
	evidence.Terms
	base, fresh, format, root *string
	databases, asJSON         *bool
	output                    *output
	markdown                  bool
	set                       func() []string // flags that were given
}

func numbersFlags(a *app.App) *numbers {
	fs := a.Flags
	n := &numbers{
		base: fs.String(
			"base",
			"",
			"runs of the base: `FILES` of another tool or stored runs, separated by commas; NUMBER=FILE names the pair",
		),
		fresh: fs.String("new", "", "runs of the new arm: `FILES`, in the order of their pairs"),
		format: fs.String(
			"format",
			"auto",
			"of the files: "+strings.Join(formats.Names(), ", ")+" or auto",
		),
		root: a.StoreFlag(),

		databases: fs.Bool(
			"databases",
			true,
			"also compare the databases within each arm, when there are several",
		),
		asJSON: fs.Bool("json", false, "write the result as JSON"),
		output: outputFlags(fs, compared),
		set: func() []string {
			var names []string
			fs.Visit(func(f *flag.Flag) { names = append(names, f.Name) })
			return names
		},
	}
	fs.StringVar(
		&n.Better,
		"better",
		"",
		"of a CSV without the column metric: which numbers are good, higher or lower (default that of the metric, else higher)",
	)
	fs.StringVar(
		&n.Margin,
		"margin",
		"",
		"how far the interval of a difference may reach for it to be the same (default that of the metric, else 5%); of several metrics a list: capacity=5%,p95=10%,errors=0.1pp",
	)
	fs.StringVar(
		&n.Unit,
		"unit",
		"",
		"of a CSV without the column unit: unit of the numbers, for the text",
	)
	fs.StringVar(
		&n.Name,
		"name",
		"capacity",
		"of a CSV without the column metric: name of the metric, such as p95(post)",
	)
	fs.StringVar(&n.Arms, "arms", "", "names of the arms, `BASE,NEW`, if the files have none")
	return n
}

// refuse refuses flags that describe imported numbers, and more: a stored comparison is judged by
// its plan, and a flag without effect would mislead.
func (n *numbers) refuse(stored string, more ...string) error {
	for _, f := range append([]string{"margin", "better", "name", "unit", "arms", "format"}, more...) {
		if slices.Contains(n.set(), f) {
			return plan.Usagef(
				"-%s applies to imported numbers only; %s by its own plan: leave it out",
				f,
				stored,
			)
		}
	}
	return nil
}

// Judge is the verb that judges imported numbers.
func Judge(_ context.Context, a *app.App) error {
	n := numbersFlags(a)
	a.Flags.BoolVar(
		&n.markdown,
		"md",
		false,
		"write the result as Markdown, with the tables of the release reports",
	)
	rest, err := a.Parse(0, comparison.MostGiven)
	if err != nil {
		return err
	}
	if err := n.output.check(compared, *n.asJSON, n.markdown); err != nil {
		return err
	}
	return judgeNumbers(a, n, rest)
}

// judgeNumbers detects the kind of its arguments and judges them.
func judgeNumbers(a *app.App, n *numbers, args []string) error {
	switch {
	case *n.base != "" || *n.fresh != "":
		if len(args) > 0 {
			return plan.Usagef(
				"%s: files of both arms and files of one do not mix; leave out -base and -new, or pass it by one of them",
				args[0],
			)
		}
		return judgeArms(a, n)
	case len(args) == 0 && (slices.Contains(n.set(), "base") || slices.Contains(n.set(), "new")):
		return plan.Usagef("-base and -new are empty: give the runs of both arms")
	case len(args) == 0:
		return plan.Usagef(
			"0 arguments, want a CSV of pairs, files that hold both arms, or -base and -new; see plimsoll judge -h",
		)
	case len(args) == 1 && args[0] != "-":
		if fi, err := os.Stat(args[0]); errors.Is(err, os.ErrNotExist) || err == nil && fi.IsDir() {
			return judgeStored(a, n, args[0])
		}
	}
	f := newFiles(a, n)
	if len(args) == 1 {
		data, err := f.data(args[0])
		if err != nil {
			return err
		}
		if known, err := formats.Of(*n.format, data); err == nil && known.Read == nil {
			return judgeCSV(a, n, args[0], data)
		}
	}
	for i, name := range args {
		if _, err := f.take(name, "", i+1); err != nil {
			return err
		}
	}
	return judgeGiven(a, n, f)
}

// readInput reads a text file, or standard input for "-", up to the size that importers are meant
// for.
func readInput(a *app.App, name string) ([]byte, error) {
	in := a.Stdin
	if name != "-" {
		f, err := files.Open(name)
		if err != nil {
			return nil, plan.UsageError{Err: app.OrStdin(err)}
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, record.MaxGivenBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(data) > record.MaxGivenBytes:
		return nil, plan.Usagef(
			"%s is larger than %d MiB: want the summary of a run, not its operations",
			name,
			record.MaxGivenBytes>>20,
		)
	}
	return files.Text(data), nil
}

// terms are the terms that the flags state.
func (n *numbers) terms() evidence.Terms {
	n.Given = n.set()
	return n.Terms
}

// judgeCSV judges a CSV of pairs. One of a single endpoint has a short form of its own, unless a
// report is asked for.
func judgeCSV(a *app.App, n *numbers, name string, data []byte) error {
	pairs, err := n.terms().ReadPairs(name, data)
	if err != nil {
		return err
	}
	r := pairs.One()
	if r == nil || n.markdown || *n.output.print != "" {
		return judgePairs(a, n, pairs)
	}
	if *n.output.out != "" { // the printed form does not change
		quiet := *a
		quiet.Stdout, quiet.RawOut = io.Discard, io.Discard
		if err, status := judgePairs(&quiet, n, pairs), exit.StatusError(0); err != nil &&
			!errors.As(err, &status) {
			return err
		}
	}
	if *n.asJSON {
		err = a.JSON(r)
	} else {
		err = pairs.OneText(a.Stdout)
	}
	if err != nil {
		return err
	}
	return exit.With(r.Kind.ExitStatus())
}

// judgeGiven judges runs of another tool.
func judgeGiven(a *app.App, n *numbers, f *givenFiles) error {
	pairs, err := n.terms().PairRuns(f.runs, f.sources)
	if err != nil {
		return err
	}
	return judgePairs(a, n, pairs)
}

// judgePairs judges pairs and writes the result.
func judgePairs(a *app.App, n *numbers, pairs *evidence.Pairs) error {
	d, err := pairs.Judged(*n.databases)
	if err != nil {
		return err
	}
	return writeJudged(a, n, d)
}

func writeJudged(a *app.App, n *numbers, d report.Document) error {
	usual := "screen"
	if n.markdown {
		usual = "markdown"
	}
	if err := write(a, n.output, d, nil, formOr(*n.asJSON, usual)); err != nil {
		return err
	}
	if !d.State.Complete {
		return exit.StatusError(exit.Tool)
	}
	return exit.With(d.Kind.ExitStatus())
}
