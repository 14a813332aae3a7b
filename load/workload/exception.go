package workload

import "strings"

// threw begins the line that a behavior logs of an exception in a script.
const threw = "exception in "

// Exception returns the line with which a behavior logs an exception in an action of a script, by
// which others know it; see [ExceptionIn].
func Exception(action, text string) string { return threw + action + ": " + text }

// ExceptionIn returns the exception of a line of a log, from the action on; false in any other line.
func ExceptionIn(line string) (text string, ok bool) {
	_, text, ok = strings.Cut(line, threw)
	return text, ok
}
