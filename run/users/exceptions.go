package users

import (
	"sync/atomic"

	"plimsoll/load/workload"
)

// Exceptions keeps the first exception of a script in a run. Its zero value has none. It is safe
// for concurrent use.
type Exceptions struct{ first atomic.Pointer[string] }

// Note looks for an exception in a line of the users' log.
func (e *Exceptions) Note(line string) {
	if text, ok := workload.ExceptionIn(line); ok {
		e.first.CompareAndSwap(nil, &text)
	}
}

// First returns the first exception, from its action on; "" without one.
func (e *Exceptions) First() string {
	if text := e.first.Load(); text != nil {
		return *text
	}
	return ""
}
