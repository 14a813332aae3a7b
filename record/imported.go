package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxGivenBytes is the largest file that the importers are meant for; a summary of a run is a few
// KiB.
const MaxGivenBytes = 16 << 20

// The arms that an Imported may name itself. A file of one arm leaves it to the caller.
const (
	ImportedBase = "base"
	ImportedNew  = "new"
)

// An Imported holds the figures of one run of another tool, or of a person, where our own runs have
// operations. The importers in the subpackages create it; they check its numbers by
// [Imported.Check].
type Imported struct {
	Source string // the file, for messages
	Tool   string // the tool: "k6", "locust"; figures of two tools are not comparable
	Arm    string // ImportedBase, ImportedNew or ""
	Label  string // name of the arm in the file, such as a version; may be empty
	// Database is the name of the database in the file; empty if it has none.
	Database string
	// Test describes the test, as far as the file does: runs of different tests are not replicates.
	Test string
	// Pair is the number of the pair that the run belongs to, from 1; 0 until it is set.
	Pair     int
	Figures  []Figure
	Warnings []string // reservations that the numbers do not show
	// ErrorMargin is the margin of errors that the run's plan states or its rules leave, in
	// percentage points; 0 where nothing is known of it.
	ErrorMargin float64
	// Unstable is the reason why the search of the run contradicts itself and has no capacity;
	// empty if it does not.
	Unstable string
	// Lacks holds, by name, the reasons why the run has no number for requested figures. A figure
	// that is neither here nor in Figures was not requested, or the file gives no reason.
	Lacks map[string]string
}

// A Figure is one number of a run.
type Figure struct {
	// Name is "capacity", "throughput" or "errors", or a statistic ("mean", "p50", "p95", "p99"),
	// of all operations or, as in p95(post), of some.
	Name  string
	Value float64
	Unit  string // "users", "1/s", "ms", "%", …
	Line  int    // in Source, from 1; 0 if it is not known
	// AtLeast is true if the value is a lower bound.
	AtLeast bool
	// Aside marks a figure that is shown and not judged.
	Aside bool
	// Ops is the number of operations behind the value; 0 if it is not known.
	Ops int64
	// Step is the step to which the tool rounded the value, in Unit; 0 if it did not round.
	Step float64
}

// Check returns an error for invalid figures: none at all, a name twice, a number that no run can
// have.
func (g Imported) Check() error {
	if len(g.Figures) == 0 {
		return errors.New("there is no figure in it")
	}
	seen := map[string]bool{}
	for _, f := range g.Figures {
		var err error
		switch {
		case f.Name == "":
			err = errors.New("a figure has no name")
		case seen[f.Name]:
			err = fmt.Errorf("%s is there twice", f.Name)
		case math.IsNaN(f.Value) || math.IsInf(f.Value, 0):
			err = fmt.Errorf("%s is no number (NaN or infinite)", f.Name)
		case f.Value < 0:
			err = fmt.Errorf("%s is %v: it cannot be negative", f.Name, f.Value)
		case f.Ops < 0:
			err = fmt.Errorf("%s is of %d operations: they cannot be fewer than none", f.Name, f.Ops)
		case f.Unit == "%" && f.Value > 100:
			err = fmt.Errorf("%s is %v %%: a share is 100 %% at most", f.Name, f.Value)
		}
		if err != nil {
			return AtLine(f.Line, err)
		}
		seen[f.Name] = true
	}
	return nil
}

// Figure returns the figure of this name.
func (g Imported) Figure(name string) (Figure, bool) {
	for _, f := range g.Figures {
		if f.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}

// AtLine puts the line before an error, if there is one.
func AtLine(line int, err error) error {
	if line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// UnmarshalImported reads a whole JSON text into v and names the line of an error: a text that ends
// early, or one with NaN, which some programs write and JSON does not have.
func UnmarshalImported(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	typed, isTyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isSyntax && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return AtLine(
			LineOf(data, int64(len(data))),
			errors.New("the JSON ends in the middle: the file is truncated"),
		)
	case isSyntax:
		around := data[max(0, min(syntax.Offset, int64(len(data)))-2):]
		for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
			if bytes.Contains(around[:min(len(around), len(word)+2)], []byte(word)) {
				return AtLine(LineOf(data, syntax.Offset), fmt.Errorf("%s is no number", word))
			}
		}
		return AtLine(LineOf(data, syntax.Offset), fmt.Errorf("not JSON: %w", err))
	case isTyped:
		return AtLine(
			LineOf(data, typed.Offset),
			fmt.Errorf("%s is a JSON %s, want %s", typed.Field, typed.Value, typed.Type.Kind()),
		)
	}
	return fmt.Errorf("not the JSON that was expected: %w", err)
}

// LineOf returns the line of a text that an offset in bytes lies in, from 1.
func LineOf(data []byte, offset int64) int {
	offset = min(max(offset, 0), int64(len(data)))
	text := data[:offset]
	if int(offset) == len(data) { // the line break at the end of a file begins no line
		text = bytes.TrimRight(text, "\r\n")
	}
	return 1 + bytes.Count(text, []byte("\n"))
}

// QuoteImported makes a piece of an input safe to print: quoted, without control characters, at
// most 40 of its bytes.
func QuoteImported(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return strconv.Quote(text)
}
