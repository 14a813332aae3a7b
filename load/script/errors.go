package script

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/grafana/sobek"

	"plimsoll/internal/plain"
	"plimsoll/load/workload"
)

// An Exception is what a script threw, or why it was interrupted.
type Exception struct { //nolint:errname // the word of the language
	At   string // "file:line" in the script's sources; "" if unknown
	Text string // one line, without secrets
}

// Error returns "file:line: message".
func (e *Exception) Error() string {
	if e.At == "" {
		return e.Text
	}
	return e.At + ": " + e.Text
}

// thrown is the error of a promise that was rejected.
type thrown struct{ value sobek.Value }

// Error implements error; an exception shows the value.
func (*thrown) Error() string { return "a promise was rejected" }

const mostText = 300 // bytes of an exception's message

// exception returns what ended a call of the script as an [*Exception], and workload.ErrStop for the
// end of the run. It runs code of the script, which may have replaced what an error shows.
func (r *realm) exception(err error) error {
	if r.frame.ctx.Err() != nil {
		return workload.ErrStop
	}
	r.rt.ClearInterrupt()
	e := &Exception{}
	var (
		ex       *sobek.Exception
		inside   *sobek.InterruptedError
		overflow *sobek.StackOverflowError
		rejected *thrown
	)
	switch {
	case errors.As(err, &inside):
		e.At, e.Text = place(inside.Stack()), fmt.Sprint(inside.Value())
	case errors.As(err, &overflow):
		e.At = place(overflow.Stack())
		e.Text = fmt.Sprintf("calls are nested more than %d deep", deepest)
	case errors.As(err, &ex):
		_, e.Text = r.describe(ex.Value())
		e.At = place(ex.Stack())
	case errors.As(err, &rejected):
		e.At, e.Text = r.describe(rejected.value)
	default:
		e.Text = err.Error()
	}
	e.Text = plain.Excerpt(r.env.Secrets.Redact(e.Text), mostText)
	return e
}

// stackPlace is a place in the property stack of an error.
var stackPlace = regexp.MustCompile(`(?m)^\s+at (?:.* \()?([^\s():]+:\d+):\d+`)

// place returns the innermost place in the script.
func place(stack []sobek.StackFrame) string {
	for i := range stack {
		if p := stack[i].Position(); p.Filename != "" {
			return fmt.Sprintf("%s:%d", p.Filename, p.Line)
		}
	}
	return ""
}

// describe returns the place and the message of a thrown value.
func (r *realm) describe(v sobek.Value) (at, text string) {
	t, err := r.told(sobek.Undefined(), v)
	if err != nil {
		return "", "something that cannot be shown"
	}
	stack, text, _ := strings.Cut(t.String(), "\x00")
	if m := stackPlace.FindStringSubmatch(stack); m != nil {
		at = m[1]
	}
	return at, text
}

// tell returns both within the runtime, where the value's own methods may fail: the stack, a zero
// byte and the message.
func (r *realm) tell(c sobek.FunctionCall) sobek.Value {
	v := c.Argument(0)
	text, stack := "", r.own(v, "stack")
	if stack == nil {
		stack = r.rt.ToValue("")
	}
	if message := r.own(v, "message"); message == nil {
		text = v.String()
	} else {
		text = message.String()
		if name := r.own(v, "name"); name != nil && name.String() != "Error" && name.String() != "GoError" {
			text = name.String() + ": " + text
		}
	}
	return r.rt.ToValue(stack.String() + "\x00" + text)
}

// notes are what was printed of a run: the first of each kind.
type notes struct {
	mu    sync.Mutex
	seen  map[string]bool
	lines int // of the console
}

const (
	mostNotes = 40
	mostLines = 100 // of the console
)

// once reports whether a note of this kind is the first and there is room for it.
func (n *notes) once(kind string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[kind] || len(n.seen) >= mostNotes {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[strings.Clone(kind)] = true
	return true
}

// once prints a line if it is the first of its kind.
func (r *realm) once(kind, line string) {
	if r.env.Log != nil && r.series.notes.once(kind) {
		r.env.Log("%s", r.env.Secrets.Redact(line))
	}
}

// consoleNames are the members of the global object console.
var consoleNames = []string{"log", "info", "warn", "error", "debug"}

var console = module{consoleNames, func(r *realm, name string) sobek.Value {
	return r.procedure(func(c sobek.FunctionCall) { r.print(name, c.Arguments) })
}}

// print writes a line of the console to the run's log, of which the first hundred are kept.
func (r *realm) print(level string, args []sobek.Value) {
	n := &r.series.notes
	n.mu.Lock()
	n.lines++
	line := n.lines
	n.mu.Unlock()
	if r.env.Log == nil || line > mostLines {
		return
	}
	var parts []string
	for _, v := range args {
		text := ""
		if o, ok := v.(*sobek.Object); ok && o.ClassName() != "Error" && o.ClassName() != "Function" {
			text, _ = r.encode(v) // shown as what it says of itself then
		}
		if text == "" {
			text = v.String()
		}
		parts = append(parts, text)
	}
	text := plain.Excerpt(r.env.Secrets.Redact(strings.Join(parts, " ")), 500)
	if line == mostLines {
		text += " (further lines are not shown)"
	}
	r.env.Log("script, console.%s: %s", level, text)
}
