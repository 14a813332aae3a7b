package comparison

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
)

// Released is the supported users of two releases, as a comparison measured them on one database.
type Released struct {
	// Comparison is its name in the line, Host the host that it ran on; both may be empty.
	Comparison, Host string
	Base, New        string
	Database         string // empty where there is only one
	Pairs            []verdict.Pair
}

// The columns of ReadReleases: the first five have to be there.
var releaseColumns = []string{"base_release", "new_release", "pair", "base", "new", "comparison", "database", "host"}

// HasReleases reports whether the header of a CSV is that of [ReadReleases].
func HasReleases(data []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	return strings.Contains(string(first), releaseColumns[0])
}

// ReadReleases reads comparisons of releases from a CSV: the columns base_release, new_release, pair, base and new
// (supported users of both), and perhaps comparison, database and host, in any order. Lines that agree in all but
// pair and numbers are pairs of one comparison; it stands where its first line does. A value such as ">=20000" is a
// lower bound. The first thing wrong is an error that names its line.
func ReadReleases(r io.Reader) ([]Released, error) {
	data, err := io.ReadAll(io.LimitReader(r, imported.MaxCSVBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading releases: %w", err)
	}
	if len(data) > imported.MaxCSVBytes {
		return nil, fmt.Errorf("the input is larger than %d bytes", imported.MaxCSVBytes)
	}
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	in.FieldsPerRecord = -1
	var columns []string
	var out []Released
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, fmt.Errorf("line %d: not a CSV: %w", bad.Line, bad.Err)
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if columns == nil {
			if err := releaseHeader(fields); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			columns = fields
			continue
		}
		if len(fields) != len(columns) {
			return nil, fmt.Errorf("line %d: %d fields, and the header has %d", line, len(fields), len(columns))
		}
		of := map[string]string{}
		for i, c := range columns {
			of[c] = fields[i]
		}
		if out, err = addReleased(out, of, slices.Contains(columns, "database")); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no pair: want the header %s and a line per pair", strings.Join(releaseColumns[:5], ","))
	}
	return out, nil
}

func releaseHeader(fields []string) error {
	for i, f := range fields {
		if !slices.Contains(releaseColumns, f) || slices.Contains(fields[:i], f) {
			return fmt.Errorf("the header is %q: want %s, and beside them only comparison, database and host", strings.Join(fields, ","), strings.Join(releaseColumns[:5], ","))
		}
	}
	for _, f := range releaseColumns[:5] {
		if !slices.Contains(fields, f) {
			return fmt.Errorf("the header has no column %s", f)
		}
	}
	return nil
}

func addReleased(all []Released, of map[string]string, named bool) ([]Released, error) {
	for _, c := range []string{"base_release", "new_release"} {
		if of[c] == "" {
			return nil, fmt.Errorf("%s is empty", c)
		}
	}
	switch {
	case of["base_release"] == of["new_release"]:
		return nil, fmt.Errorf("both releases are %s", of["base_release"])
	case named && of["database"] == "":
		return nil, errors.New("database is empty")
	}
	var p verdict.Pair
	var err error
	if p.Block, err = strconv.Atoi(of["pair"]); err != nil || p.Block < 1 {
		return nil, fmt.Errorf("pair is %q: want a number from 1", of["pair"])
	}
	if p.Base, p.BaseCensored, err = releasedUsers("base", of["base"]); err != nil {
		return nil, err
	}
	if p.New, p.NewCensored, err = releasedUsers("new", of["new"]); err != nil {
		return nil, err
	}
	one := Released{Comparison: of["comparison"], Host: of["host"], Base: of["base_release"], New: of["new_release"], Database: of["database"]}
	i := slices.IndexFunc(all, func(r Released) bool {
		return r.Comparison == one.Comparison && r.Host == one.Host && r.Base == one.Base && r.New == one.New && r.Database == one.Database
	})
	if i < 0 {
		i, all = len(all), append(all, one)
	}
	if slices.ContainsFunc(all[i].Pairs, func(q verdict.Pair) bool { return q.Block == p.Block }) {
		return nil, fmt.Errorf("pair %d of %s and %s is there twice", p.Block, one.Base, one.New)
	}
	all[i].Pairs = append(all[i].Pairs, p)
	return all, nil
}

func releasedUsers(column, text string) (v float64, atLeast bool, err error) {
	number, atLeast := strings.CutPrefix(text, ">=")
	v, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v > 0) || v > 1e12 {
		return 0, false, fmt.Errorf("%s is %q: want a number of users above zero, or a bound such as >=20000", column, text)
	}
	return v, atLeast, nil
}
