package workload

import (
	"slices"
	"strings"
)

// SoundsSecret reports whether the value of a variable or a setting of that name is not to be shown.
func SoundsSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"PASSWORD", "TOKEN", "SECRET", "KEY"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

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
