package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
)

// A Construct is something in a script that is not supported, or means something else here than in
// k6.
type Construct struct {
	// File is the path below the script's folder. Line and Col count from 1, Col in bytes; both are
	// 0 if only the file is known.
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
	// Text is the construct, as in "import of k6/browser".
	Text string `json:"construct"`
	// Remedy describes what to do instead. Of a note it describes the meaning here.
	Remedy string `json:"remedy"`
	// Note means that the script runs with it.
	Note bool `json:"note,omitempty"`
}

// String returns "file:line:col: construct: remedy".
func (c Construct) String() string {
	text := c.Text
	if c.Remedy != "" {
		text += ": " + c.Remedy
	}
	if c.Line == 0 {
		return c.File + ": " + text
	}
	return fmt.Sprintf("%s:%d:%d: %s", c.File, c.Line, c.Col, text)
}

// InvalidError is the error of a script that cannot be bundled, with everything that is wrong with it.
type InvalidError struct{ Constructs []Construct }

// Error returns a line for each construct.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Constructs))
	for i, c := range e.Constructs {
		lines[i] = c.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the constructs one by one.
func (e *InvalidError) Unwrap() []error {
	all := make([]error, len(e.Constructs))
	for i, c := range e.Constructs {
		all[i] = errors.New(c.String())
	}
	return all
}

// sorted returns the constructs in the order of the files, each once.
func sorted(all []Construct) []Construct {
	slices.SortStableFunc(all, func(a, b Construct) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(all)
}

const cannot = "the engine cannot run it"

// mapped returns a construct with the place in a source of a place in the code. An error of the
// parser comes before it reads the map, so the map is read with a code of the same lines.
func (b *Bundle) mapped(line, col int, text string) Construct {
	blank := []byte(b.Code)
	off := -1
	for i, c := range blank {
		if line == 1 && off < 0 {
			off = i + col - 1
		}
		if c == '\n' {
			line--
		} else {
			blank[i] = ' '
		}
	}
	empty := *b
	empty.Code = string(blank)
	tree, err := empty.parse()
	if err != nil || off < 0 {
		return Construct{File: b.Name, Text: text, Remedy: cannot}
	}
	return placed(tree, file.Idx(off+tree.File.Base()), text, cannot)
}

// invalid is the error of code that esbuild accepts and the engine does not.
func (b *Bundle) invalid(err error) error { return &InvalidError{Constructs: b.constructs(err)} }

func (b *Bundle) constructs(err error) []Construct {
	var (
		list     parser.ErrorList
		compiled *sobek.CompilerSyntaxError
		out      []Construct
	)
	switch {
	case errors.As(err, &list):
		e := list[0] // those behind it are noise
		out = append(out, b.mapped(e.Position.Line, e.Position.Column, e.Message))
	case errors.As(err, &compiled) && compiled.File != nil:
		at := compiled.File.Position(compiled.Offset)
		out = append(out, Construct{File: at.Filename, Line: at.Line, Col: at.Column + 1,
			Text: compiled.Message, Remedy: cannot})
	default:
		out = append(out, Construct{File: b.Name, Text: err.Error(), Remedy: cannot})
	}
	return out
}
