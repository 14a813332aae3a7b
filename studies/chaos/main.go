// Command chaos puts a hostile target before plimsoll and records the outcome of each command.
//
// A proxy of its own stands before refnull, refchat or the news feed. It passes everything on until
// the phase in which its fault strikes: the check that the target is ready, provisioning, the
// logins, the ramp, the measured phase, the audit, or a proof of `target verify`. Then it answers
// slowly, endlessly, in part, with lies, with the secrets it was sent, with redirections, with
// bombs, or not at all; or it abuses WebSockets or TLS. Each pair of a mode and a phase is a row. A
// row states, before it runs, in which class of errors the operations end and with which exit
// status the command ends, by the words of docs/validity.md and of the exit statuses. Every row
// must also end by itself, stay within a limit of memory, follow no redirection, show no secret and
// no control character in any output or file, and print no stack.
//
// Rows that do not hold yet are named in known.go and stand in the table as NOT MET. A test fails
// when one of them holds, so that the list becomes shorter.
//
// It shares no code with package wire: a proxy that made the mistakes of the client would hide
// them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/studies/study"
)

func main() { study.Main(run) }

// run is the program.
func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("chaos", flag.ContinueOnError)
	program := fs.String("program", "bin/plimsoll", "`path` of plimsoll")
	feedProgram := fs.String(
		"feed",
		"newsfeed/bin/plimsoll",
		"`path` of plimsoll with the news feed",
	)
	only := fs.String(
		"only",
		"",
		"comma-separated `rows`, as in measured/frozen; a star stands for any part of a name (default all)",
	)
	list := fs.Bool("list", false, "list the rows with what is right for them, and run nothing")
	users := fs.Int(
		"users",
		0,
		"`users` of each run instead of the row's, 1 to 10000; the limit of memory is then 1 GB",
	)
	parallel := fs.Int(
		"parallel",
		defaultParallel,
		"rows that run at a time, 1 to 64; those that only wait for a deadline come on top",
	)
	results := fs.String("results", "", "write the table into chaos.md of this `directory`")
	keep := fs.String(
		"keep",
		"",
		"keep outputs and stores of the rows in this `directory` (default a temporary one, removed)",
	)
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	switch {
	case *users < 0 || *users > 10000:
		return fmt.Errorf("-users %d: want 1 to 10000", *users)
	case *parallel < 1 || *parallel > 64:
		return fmt.Errorf("-parallel %d: want 1 to 64", *parallel)
	case *results != "" && (*only != "" || *users > 0):
		return errors.New("-results with -only or -users: the page holds all rows as they are")
	}
	chosen, err := choose(rows(), *only)
	if err != nil {
		return err
	}
	if *list {
		for _, r := range chosen {
			fmt.Printf(
				"%-34s %-16s status %-6s %s\n",
				r.name(),
				r.classText(),
				r.statusText(),
				r.mode.what,
			)
		}
		return nil
	}
	s := &suite{
		parallel: *parallel,
		users:    *users,
		log:      func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	if err := study.Absolute(program, feedProgram, keep); err != nil {
		return err
	}
	s.program, s.feed, s.dir = *program, *feedProgram, *keep
	all, err := s.all(ctx, chosen)
	if err != nil {
		return err
	}
	fmt.Print(table(all))
	if *results != "" {
		if err := study.Insert(filepath.Join(*results, page), tableName, markdown(all, notMet)); err != nil {
			return err
		}
	}
	if *users > 0 {
		return nil // a look at memory, to which rules of small tests do not apply
	}
	return errors.Join(surprises(all, notMet)...)
}

// choose returns the rows whose names match one of the patterns.
func choose(all []row, patterns string) ([]row, error) {
	if patterns == "" {
		return all, nil
	}
	var chosen []row
	used := map[string]bool{}
	list := strings.Split(patterns, ",")
	for _, r := range all {
		for _, p := range list {
			ok, err := path.Match(p, r.name())
			if err != nil {
				return nil, fmt.Errorf("-only %s: %w", p, err)
			}
			if ok {
				used[p] = true
				if !slices.ContainsFunc(chosen, func(c row) bool { return c.name() == r.name() }) {
					chosen = append(chosen, r)
				}
			}
		}
	}
	for _, p := range list {
		if !used[p] {
			return nil, fmt.Errorf("-only %s: no such row; -list shows them", p)
		}
	}
	return chosen, nil
}

// surprises returns an error for each row that is not as the list of known failures has it.
func surprises(results []result, known map[string]string) (errs []error) {
	for _, r := range results {
		_, expected := known[r.row.name()]
		switch {
		case len(r.problems) > 0 && !expected:
			errs = append(errs, fmt.Errorf("%s: %s", r.row.name(), strings.Join(r.problems, "; ")))
		case len(r.problems) == 0 && expected:
			errs = append(errs, fmt.Errorf(
				"%s holds now: remove it from notMet in studies/chaos/known.go",
				r.row.name(),
			))
		}
	}
	return errs
}
