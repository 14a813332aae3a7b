package plain

import (
	"fmt"
	"io"
	"strings"
)

// Sprintf is [fmt.Sprintf] whose arguments are gated: each is formatted by its verb, and the result
// goes through [Text], an error through [Error]. Only the format can end a line. An argument of
// type [Block] keeps its newlines. %T and %p are not for it.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, gate(args)...) }

// Fprintf writes [Sprintf] to w.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, gate(args)...)
}

// A Block is text of ours that has several lines, or of which every line was gated: as an argument
// it goes through [Lines].
type Block string

// gated formats a value as fmt does, and makes the result plain.
type gated struct{ v any }

func (g gated) Format(s fmt.State, verb rune) {
	var text string
	switch v := g.v.(type) {
	case string:
		if verb == 'v' || verb == 's' { // first, so that a width is kept
			text = fmt.Sprintf(fmt.FormatString(s, verb), Text(v))
			break
		}
		text = Text(fmt.Sprintf(fmt.FormatString(s, verb), v))
	case Block:
		text = Lines(fmt.Sprintf(fmt.FormatString(s, verb), string(v)))
	case error:
		if verb == 'v' || verb == 's' {
			text = fmt.Sprintf(fmt.FormatString(s, verb), block(Error(v)))
			break
		}
		text = Text(fmt.Sprintf(fmt.FormatString(s, verb), v))
	default:
		text = Text(fmt.Sprintf(fmt.FormatString(s, verb), v))
	}
	_, _ = io.WriteString(s, text) // fmt's own buffer
}

// block is a string that %+v and %#v write as it is.
type block string

func (b block) String() string   { return string(b) }
func (b block) GoString() string { return string(b) }

// gate wraps arguments that can hold text.
func gate(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a.(type) {
		case nil, bool, int, int64, int32, uint, uint64, float64:
			out[i] = a
		default:
			out[i] = gated{a}
		}
	}
	return out
}

// Error returns the text of err as one line. For [Below] and for an [Output], errors that were
// joined ([errors.Join], or an error of several whose text is their texts, one a line) each begin a
// new line, also inside an error that wraps them. nil is "<nil>".
func Error(err error) string {
	if err == nil {
		return "<nil>"
	}
	return errorText(err, 0)
}

// deepest bounds the depth to which an error that wraps others is examined: beyond, its text is one
// line.
const deepest = 32

func errorText(err error, depth int) string {
	text := err.Error()
	if depth == deepest || !strings.Contains(text, "\n") {
		return Text(text)
	}
	switch e := err.(type) { //nolint:errorlint // it takes the chain apart itself, a link at a time
	case Output:
		return text
	case *below:
		return Text(e.head) + ":\n" + errorText(e.err, depth+1)
	case interface{ Unwrap() []error }:
		return several(text, e.Unwrap(), depth)
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil {
			break
		}
		if before, after, ok := strings.Cut(text, inner.Error()); ok && inner.Error() != "" {
			return Text(before) + errorText(inner, depth+1) + Text(after)
		}
	}
	return Text(text)
}

// several is the text of an error that wraps more than one.
func several(text string, errs []error, depth int) string {
	var parts []string
	for _, e := range errs {
		if e != nil {
			parts = append(parts, e.Error())
		}
	}
	joined := strings.Join(parts, "\n") == text
	var b strings.Builder
	for _, e := range errs {
		if e == nil {
			continue
		}
		inner := e.Error()
		before, after, ok := strings.Cut(text, inner)
		if !ok || inner == "" {
			continue
		}
		if !joined {
			before = Text(before)
		}
		b.WriteString(before) // of joined errors: nothing, or the newline between two
		b.WriteString(errorText(e, depth+1))
		text = after
	}
	return b.String() + Text(text)
}

// Below returns err below a line that names its subject, and a colon; format and args are as for
// [fmt.Sprintf]. It wraps err.
func Below(err error, format string, args ...any) error {
	return &below{fmt.Sprintf(format, args...), err}
}

type below struct {
	head string
	err  error
}

func (b *below) Error() string { return b.head + ":\n" + b.err.Error() }
func (b *below) Unwrap() error { return b.err }

// An Output is the last output of a program that failed, as an error that stands behind another:
// fmt.Errorf("%w%w", err, Output(tail)). Its text begins with a newline, and each line of the
// output has a mark before it, so that none can be taken for one of ours.
type Output string //nolint:errname // it is a text that joins errors

// Error returns the output, each line through [Text]; of one without a word, "".
func (o Output) Error() string {
	text := strings.TrimRight(string(o), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nits last output:")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("\n  | ")
		b.WriteString(Text(strings.TrimRight(line, "\r")))
	}
	return b.String()
}
