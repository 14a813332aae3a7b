package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"plimsoll/verdict"
)

// judge is the verb that judges numbers that somebody already has.
func (a *app) judge(_ context.Context, fs *flag.FlagSet, args []string) error {
	better := fs.String("better", "higher", "which numbers are good: higher or lower")
	margin := fs.String("margin", "5%", "the difference that does not matter")
	unit := fs.String("unit", "", "unit of the numbers, for the text")
	name := fs.String("name", "capacity", "what the numbers are, for the text")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	dir, err := verdict.ParseDirection(*better)
	if err != nil {
		return usagef("-better: %w", err)
	}
	m, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(*margin, "%")), 64)
	if err != nil || !strings.HasSuffix(*margin, "%") || m <= 0 || m >= 100 {
		return usagef("-margin %q: want a percentage between 0%% and 100%%, such as 5%%", *margin)
	}
	var in io.Reader = a.stdin
	if rest[0] != "-" {
		f, err := os.Open(rest[0])
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	pairs, err := verdict.ReadCSV(in)
	if err != nil {
		if bad := (*verdict.CSVError)(nil); errors.As(err, &bad) {
			return usagef("%s: %w", rest[0], err)
		}
		return fmt.Errorf("reading %s: %w", rest[0], err)
	}
	r := verdict.Judge(verdict.Endpoint{Name: *name, Better: dir, Margin: m / 100, Unit: *unit}, pairs, verdict.Fixed(0))
	if *asJSON {
		err = a.json(r)
	} else {
		err = verdict.Text(a.stdout, r)
	}
	if err != nil {
		return err
	}
	if s := r.ExitStatus(); s != exitOK {
		return statusError(s)
	}
	return nil
}
