package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Problem is one thing wrong with a plan, and where.
type Problem struct { //nolint:errname // problems are what plan check lists; Error joins them
	// Line and Col count from 1; Col counts characters. Both are 0 for a problem without a place.
	Line, Col int
	// Path names the key, as in "workload.pace" or "unbounded.slo[2]"; empty for the whole plan.
	Path string
	// Msg describes the error and, after a semicolon, the remedy. It never holds the value of a
	// secret.
	Msg string
}

// String returns "line:col: path: error; remedy", without the parts that it lacks.
func (p Problem) String() string {
	text := p.Msg
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("%d:%d: %s", p.Line, p.Col, text)
	}
	return text
}

// Error is String: each problem is one of those that an [Error] joins.
func (p Problem) Error() string { return p.String() }

// maxProblems limits the problems that are described. Whoever has more of them has named another
// file, and needs the first.
const maxProblems = 100

// An Error holds the errors of a plan, at least one Problem, in the order of the file.
type Error struct {
	Problems []Problem
	// More counts the problems beyond the first 100.
	More int
}

// Error returns one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems), len(e.Problems)+1)
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d problems more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, so that a printer knows which lines are theirs.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// newError sorts the problems by place.
func newError(problems []Problem, more int) *Error {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Msg, b.Msg),
		)
	})
	return &Error{Problems: slices.Compact(problems), More: more}
}

// clip quotes a value of the file for a message, cut to a readable length.
func clip(s string) string {
	const most = 60
	r := []rune(s)
	if len(r) > most {
		return fmt.Sprintf("%q…", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// refuse returns the error of a text of the file: the words behind the text itself, as clip has it.
func refuse(s, format string, args ...any) error {
	return fmt.Errorf("%s %s", clip(s), fmt.Sprintf(format, args...))
}

// shortened returns a key of the file as a part of a path: unchanged, or quoted and cut when it is
// long or holds control characters.
func shortened(key string) string {
	if len(key) <= 128 && !strings.ContainsFunc(key, unicode.IsControl) {
		return key
	}
	return clip(key)
}

// Nearest returns `did you mean "x"?` for the candidate within two typing errors of word, or "" if
// there is none.
func Nearest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	best, at := "", 3
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < at && d < max(len(c), 2) {
			best, at = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance returns the number of insertions, deletions, replacements and swaps of neighbors between
// two words (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}
