package imported

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// Limits of [ReadTable]. A comparison of more pairs of runs than this is a mistake.
const (
	MaxCSVBytes = 1 << 20
	MaxCSVPairs = 1000
	maxProblems = 20
)

// An InputProblem is something wrong at a line of an input, counted from 1; 0 is the input as a
// whole.
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

// CSVError lists everything that [ReadTable] found wrong, in the order of the lines, at most 20
// problems and a count of the others.
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

// parsePair reads the number of a pair and the values of both arms.
func parsePair(line int, fields []string, problems *CSVError) (p verdict.Pair, ok bool) {
	block, err := strconv.Atoi(fields[0])
	ok = err == nil && block >= 1 && block <= math.MaxInt32
	if !ok {
		problems.add(
			line,
			"pair is %s: want a whole number from 1",
			record.QuoteImported(fields[0]),
		)
	}
	p.Block = block
	for _, column := range []struct {
		name     string
		text     string
		value    *float64
		censored *bool
	}{{"base", fields[1], &p.Base, &p.BaseCensored}, {"new", fields[2], &p.New, &p.NewCensored}} {
		v, censored, err := ParseValue(column.text)
		if err != nil {
			problems.add(line, "%s is %s: %v", column.name, record.QuoteImported(column.text), err)
			ok = false
			continue
		}
		*column.value, *column.censored = v, censored
	}
	return p, ok
}

// ParseValue reads a decimal number from 0 to [verdict.Largest], with ">=" in front when it is a
// lower bound.
func ParseValue(text string) (v float64, censored bool, err error) {
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
		return 0, false, fmt.Errorf(
			"margin %s: want a percentage such as 5%% or percentage points such as 0.1pp, above 0 and below 100",
			record.QuoteImported(text),
		)
	}
	if absolute {
		return v, true, nil
	}
	return v / 100, false, nil
}
