package plan

import "fmt"

// A UsageError is a mistake of the caller: a bad flag, file or plan, or a host that cannot carry
// out the request. Programs report it with exit status 2, unlike their own failures.
type UsageError struct{ Err error }

// Usagef returns a UsageError with the error that [fmt.Errorf] makes of the format and its
// arguments.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Error implements error with the text of the error inside, alone.
func (u UsageError) Error() string { return u.Err.Error() }

// Unwrap returns the error inside.
func (u UsageError) Unwrap() error { return u.Err }
