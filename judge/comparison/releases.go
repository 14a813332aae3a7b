package comparison

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/judge/imported"
	"plimsoll/judge/verdict"
)

// Released is the supported users of two releases, as a comparison measured them on one database.
type Released struct {
	// Comparison is its name in the line, Host the host that it ran on; both may be empty.
	Comparison, Host string
	Base, New        string
	Database         string    // empty where there is only one
	Time             time.Time // of the first pair; zero where it is not known
	Pairs            []verdict.Pair
}

// The columns of ReadReleases: the first four have to be there.
var releaseColumns = []string{
	"base_release",
	"new_release",
	"base",
	"new",
	"pair",
	"comparison",
	"database",
	"host",
	"time",
}

// HasReleases reports whether a CSV has the header of [ReadReleases].
func HasReleases(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return bytes.Contains(first, []byte(releaseColumns[0]))
}

// ReadReleases reads comparisons of releases from a CSV ([files.Rows]): the columns base_release,
// new_release, base and new (supported users of both), and perhaps pair (its number from 1; without
// that column pairs are numbered in their order), comparison, database, host and time (2026-01-30,
// or as RFC 3339), in any order. Lines that agree in all but pair, time and numbers are pairs of
// one comparison; it stands where its first line does. A value such as ">=20000" is a lower bound.
// The first thing wrong is an error that names its line.
func ReadReleases(data []byte) ([]Released, error) {
	if len(data) > imported.MaxCSVBytes {
		return nil, fmt.Errorf("the input is larger than %d bytes", imported.MaxCSVBytes)
	}
	rows, err := files.Rows(data)
	if err != nil {
		return nil, err
	}
	var columns []string
	if len(rows) > 0 {
		columns = rows[0].Fields
		if err := releaseHeader(columns); err != nil {
			return nil, fmt.Errorf("line %d: %w", rows[0].Line, err)
		}
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf(
			"there is no pair: want the header %s and a line per pair",
			strings.Join(releaseColumns[:4], ","),
		)
	}
	var out []Released
	for _, row := range rows[1:] {
		if len(row.Fields) != len(columns) {
			return nil, fmt.Errorf(
				"line %d: %d fields, and the header has %d",
				row.Line,
				len(row.Fields),
				len(columns),
			)
		}
		of := map[string]string{}
		for i, c := range columns {
			of[c] = row.Fields[i]
		}
		if out, err = addReleased(out, of, columns); err != nil {
			return nil, fmt.Errorf("line %d: %w", row.Line, err)
		}
	}
	return out, nil
}

func releaseHeader(fields []string) error {
	need := releaseColumns[:4]
	bad := slices.ContainsFunc(need, func(c string) bool { return !slices.Contains(fields, c) })
	for i, f := range fields {
		bad = bad || !slices.Contains(releaseColumns, f) || slices.Contains(fields[:i], f)
	}
	if !bad {
		return nil
	}
	return fmt.Errorf(
		"the header is %q: want %s, and beside them only %s",
		strings.Join(fields, ","),
		strings.Join(need, ","),
		strings.Join(releaseColumns[4:], ", "),
	)
}

func addReleased(all []Released, of map[string]string, columns []string) ([]Released, error) {
	for _, c := range []string{"base_release", "new_release"} {
		if of[c] == "" {
			return nil, fmt.Errorf("%s is empty", c)
		}
	}
	switch {
	case of["base_release"] == of["new_release"]:
		return nil, fmt.Errorf("both releases are %s", of["base_release"])
	case slices.Contains(columns, "database") && of["database"] == "":
		return nil, errors.New("database is empty")
	}
	var p verdict.Pair
	var err error
	if p.Base, p.BaseCensored, err = releasedUsers("base", of["base"]); err != nil {
		return nil, err
	}
	if p.New, p.NewCensored, err = releasedUsers("new", of["new"]); err != nil {
		return nil, err
	}
	one := Released{
		Comparison: of["comparison"],
		Host:       of["host"],
		Base:       of["base_release"],
		New:        of["new_release"],
		Database:   of["database"],
	}
	if text := of["time"]; text != "" {
		if one.Time, err = time.Parse(time.DateOnly, text); err != nil {
			one.Time, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return nil, fmt.Errorf(
				"time is %q: want a date such as 2026-01-30, or 2026-01-30T12:00:00Z",
				text,
			)
		}
	}
	i := slices.IndexFunc(all, func(r Released) bool {
		return r.Comparison == one.Comparison && r.Host == one.Host && r.Base == one.Base &&
			r.New == one.New &&
			r.Database == one.Database
	})
	if i < 0 {
		i, all = len(all), append(all, one)
	}
	p.Block = len(all[i].Pairs) + 1
	if slices.Contains(columns, "pair") {
		if p.Block, err = strconv.Atoi(of["pair"]); err != nil || p.Block < 1 {
			return nil, fmt.Errorf("pair is %q: want a number from 1", of["pair"])
		}
	}
	if slices.ContainsFunc(all[i].Pairs, func(q verdict.Pair) bool { return q.Block == p.Block }) {
		return nil, fmt.Errorf("pair %d of %s and %s is there twice", p.Block, one.Base, one.New)
	}
	all[i].Pairs = append(all[i].Pairs, p)
	return all, nil
}

func releasedUsers(column, text string) (v float64, atLeast bool, err error) {
	if v, atLeast, err = imported.ParseValue(text); err != nil || v == 0 {
		return 0, false, fmt.Errorf(
			"%s is %q: want a number of users above zero, or a bound such as >=20000",
			column,
			text,
		)
	}
	return v, atLeast, nil
}
