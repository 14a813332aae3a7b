package imported

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/judge/verdict"
)

// Limits of [ReadCSV]. A comparison of more pairs of runs than this is a mistake.
const (
	MaxCSVBytes = 1 << 20
	MaxCSVPairs = 1000
	maxProblems = 20
)

// An InputProblem is something wrong at a line of an input, counted from 1; 0 is the input as a whole.
type InputProblem struct {
	Line int
	Text string
}

// String returns "line 3: ...".
func (p InputProblem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// CSVError lists everything that [ReadCSV] found wrong, in the order of the lines, at most 20 problems and a
// count of the others.
type CSVError struct {
	Problems []InputProblem
	More     int
}

// Error returns one problem per line.
func (e *CSVError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", verdict.Count(e.More, "problem")))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the lines of Error, so that a printer knows which are ours.
func (e *CSVError) Unwrap() (errs []error) {
	for line := range strings.SplitSeq(e.Error(), "\n") {
		errs = append(errs, errors.New(line))
	}
	return errs
}

func (e *CSVError) add(line int, format string, args ...any) {
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, InputProblem{line, fmt.Sprintf(format, args...)})
}

var csvHeader = []string{"pair", "base", "new"}

// ReadCSV reads pairs from a CSV with the header pair,base,new: a number of the pair from 1, used once, and
// the values of both arms, decimal numbers from 0 to 1e15. A value written ">=20000" is censored: at least
// this. Spaces around a field and a byte order mark are ignored. Everything wrong is reported at once as a
// [*CSVError], an arm without any number as one problem; an error of the reader is returned as it is, wrapped.
func ReadCSV(r io.Reader) ([]verdict.Pair, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxCSVBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading pairs: %w", err)
	}
	problems := &CSVError{}
	pairs := parseCSV(data, problems)
	if len(problems.Problems) > 0 {
		return nil, problems
	}
	return pairs, nil
}

func parseCSV(data []byte, problems *CSVError) (pairs []verdict.Pair) {
	seen := make(map[int]int) // pair to line
	empty := emptyArms(data)
	for arm, is := range empty {
		if is {
			problems.add(0, emptyArm, csvHeader[1+arm])
		}
	}
	readRows(data, problems, func(line int, fields []string) bool {
		if !slices.Equal(fields, csvHeader) {
			problems.add(line, "the header is %s: want pair,base,new", quote(strings.Join(fields, ",")))
			return false
		}
		return true
	}, func(line int, fields []string) {
		for arm, is := range empty {
			if is && len(fields) == len(csvHeader) {
				fields[1+arm] = "1" // the missing column was reported for all lines
			}
		}
		if p, ok := parsePair(line, fields, seen, problems); ok {
			pairs = append(pairs, p)
		}
	})
	return pairs
}

// emptyArm is the problem of an arm that is not there at all, with its name.
const emptyArm = "the arm %s is empty: no line has a number of it"

// emptyArms reports of each arm whether no line of a CSV has a number of it. It checks nothing else.
func emptyArms(data []byte) (empty [2]bool) {
	lines := 0
	var without [2]int
	readRows(data, &CSVError{}, func(_ int, fields []string) bool { return slices.Equal(fields, csvHeader) }, func(_ int, fields []string) {
		if len(fields) != len(csvHeader) {
			return
		}
		lines++
		for arm, text := range fields[1:] {
			if text == "" {
				without[arm]++
			}
		}
	})
	for arm, n := range without {
		empty[arm] = n > 0 && n == lines
	}
	return empty
}

// readRows reads a CSV: its header, which may end it, and the rows below it, with spaces around fields trimmed.
// Errors of the CSV itself are added to problems.
func readRows(data []byte, problems *CSVError, header func(line int, fields []string) bool, row func(line int, fields []string)) {
	if len(data) > MaxCSVBytes {
		problems.add(0, "the input is larger than %d bytes", MaxCSVBytes)
		return
	}
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	in.FieldsPerRecord = -1
	for n := 0; ; n++ {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			switch n {
			case 0:
				problems.add(0, "the input is empty: want the header pair,base,new and a line per pair")
			case 1:
				problems.add(0, "there is no pair below the header")
			}
			return
		}
		if err != nil {
			line := 0
			if e, ok := errors.AsType[*csv.ParseError](err); ok {
				line, err = e.Line, e.Err
			}
			problems.add(line, "not a CSV: %v", err)
			return // fields after a broken quote cannot be separated
		}
		line, _ := in.FieldPos(0)
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		switch {
		case n == 0:
			if !header(line, fields) {
				return
			}
		case n > MaxCSVPairs:
			problems.add(line, "more than %d pairs", MaxCSVPairs)
			return
		default:
			row(line, fields)
		}
	}
}

func parsePair(line int, fields []string, seen map[int]int, problems *CSVError) (p verdict.Pair, ok bool) {
	if len(fields) != len(csvHeader) {
		problems.add(line, "%s: want 3 (pair,base,new)", verdict.Count(len(fields), "field"))
		return p, false
	}
	ok = true
	block, err := strconv.Atoi(fields[0])
	switch {
	case err != nil || block < 1 || block > math.MaxInt32:
		problems.add(line, "pair is %s: want a whole number from 1", quote(fields[0]))
		ok = false
	case seen[block] != 0:
		problems.add(line, "pair %d was already on line %d", block, seen[block])
		ok = false
	default:
		seen[block] = line
	}
	p.Block = block
	for _, column := range []struct {
		name     string
		text     string
		value    *float64
		censored *bool
	}{{"base", fields[1], &p.Base, &p.BaseCensored}, {"new", fields[2], &p.New, &p.NewCensored}} {
		v, censored, err := parseValue(column.text)
		if err != nil {
			problems.add(line, "%s is %s: %v", column.name, quote(column.text), err)
			ok = false
			continue
		}
		*column.value, *column.censored = v, censored
	}
	return p, ok
}

// parseValue reads a decimal number, with ">=" in front when it is a lower bound.
func parseValue(text string) (v float64, censored bool, err error) {
	digits, censored := strings.CutPrefix(text, ">=")
	digits = strings.TrimSpace(digits)
	v, err = parseDecimal(digits)
	switch {
	case err != nil:
		return 0, false, err
	case v < 0 || v > verdict.Largest:
		return 0, false, fmt.Errorf("want a number from 0 to %g", verdict.Largest)
	case v > 0 && v < verdict.Smallest:
		return 0, false, fmt.Errorf("want 0 or a number from %g", verdict.Smallest)
	}
	return v, censored, nil
}

// parseDecimal is strconv.ParseFloat without its words, hexadecimal digits and underscores.
func parseDecimal(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, errors.New("want a decimal number such as 16007 or 12.5")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, errors.New("want a decimal number such as 16007 or 12.5")
	}
	if v == 0 {
		return 0, nil // not -0
	}
	return v, nil
}

// WriteCSV writes pairs so that [ReadCSV] reads the same pairs, without their numbers of operations.
func WriteCSV(w io.Writer, pairs []verdict.Pair) error {
	var b strings.Builder
	b.WriteString("pair,base,new\n")
	for _, p := range pairs {
		fmt.Fprintf(&b, "%d,%s,%s\n", p.Block, csvValue(p.Base, p.BaseCensored), csvValue(p.New, p.NewCensored))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func csvValue(v float64, censored bool) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if censored {
		return ">=" + text
	}
	return text
}

// quote makes an input safe to print: quoted, without control characters, at most 40 of its bytes.
func quote(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return strconv.Quote(text)
}

// ParseMargin reads the margin of an endpoint: "5%" is 0.05 of a relative endpoint, "0.1pp" is 0.1
// percentage points of an absolute one. Relative margins lie below 100 %.
func ParseMargin(text string) (margin float64, absolute bool, err error) {
	digits, absolute := strings.CutSuffix(strings.TrimSpace(text), "pp")
	percent := false
	if !absolute {
		digits, percent = strings.CutSuffix(digits, "%")
	}
	v, err := parseDecimal(strings.TrimSpace(digits))
	if err != nil || !(absolute || percent) || !(v > 0 && v < 100) {
		return 0, false, fmt.Errorf("margin %s: want a percentage such as 5%% or percentage points such as 0.1pp, above 0 and below 100", quote(text))
	}
	if absolute {
		return v, true, nil
	}
	return v / 100, false, nil
}
