package boundary

import (
	"fmt"
	"runtime/debug"
	"strings"

	"plimsoll/internal/plain"
)

// Limits of the stored text of a panic: its value may hold text of a target.
const (
	mostValue = 300     // bytes
	mostStack = 8 << 10 // bytes
)

// A Panic is the error that a panic becomes.
type Panic struct { //nolint:errname // it is a panic, which is an error only to those that it does not end
	// Where names the work that it was in, such as "user 7".
	Where string
	// Value is the panic's value as text: one line of about 300 bytes at most, without control
	// characters. It may hold a secret that a target has echoed.
	Value string
	// Stack is the stack of the goroutine, at most 8 KiB. It holds no strings of the program.
	Stack string
}

// Error names the work, the value and the place, in one line.
func (p *Panic) Error() string {
	s := "panic in " + p.Where + ": " + p.Value
	if at := p.At(); at != "" {
		s += " (" + at + ")"
	}
	return s
}

// At returns the file and line in which it happened, without directories except the last; empty
// when the stack does not show it.
func (p *Panic) At() string {
	_, rest, ok := strings.Cut(p.Stack, "\npanic(")
	if !ok {
		return ""
	}
	// A frame is two lines: the function, then its place. Those of the runtime lie between the
	// panic and the code that caused it.
	lines := strings.Split(rest, "\n")
	for i := 2; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "runtime.") {
			continue
		}
		at, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		if dir, file, ok := cutLast(at); ok {
			_, parent, _ := cutLast(dir)
			return parent + "/" + file
		}
		return at
	}
	return ""
}

func cutLast(path string) (dir, file string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// Recover stores a panic of the function that defers it in err, as a [*Panic]; without a panic it
// does nothing. It must be deferred itself, not called by a deferred function:
//
//	defer boundary.Recover("a sample", &err)
func Recover(where string, err *error) {
	if v := recover(); v != nil {
		*err = New(where, v)
	}
}

// Do calls f and returns its error, or the [*Panic] that it ended in.
func Do(where string, f func() error) (err error) {
	defer Recover(where, &err)
	return f()
}

// New returns the panic of a value that the builtin recover has returned, for who cannot defer
// [Recover]. It is called by the function that recovers.
func New(where string, v any) *Panic {
	stack := string(debug.Stack())
	if len(stack) > mostStack {
		stack = stack[:mostStack] + "…"
	}
	return &Panic{Where: where, Value: plain.Excerpt(valueText(v), mostValue), Stack: stack}
}

// valueText returns the text that the runtime would print. A value whose own method panics has no
// text.
func valueText(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value of type %T", v)
		}
	}()
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	}
	return fmt.Sprint(v)
}
