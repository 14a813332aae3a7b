package dialect

import "plimsoll/load/workload"

// A Visit is a look at a server that is there before a run; see [Dialect.Visit].
type Visit struct {
	// Env has the server's address, the settings and secrets of the behaviors, the accounts of the
	// users if they have some, and the time that one request may take.
	Env workload.Env
	// Users is the largest number of users of a run, by behavior.
	Users map[string]int
	// Log gets what is found.
	Log VisitLog
}

// A VisitLog gets the findings of a [Visit]. Each has the key of the plan that it is of, and a text
// with the remedy.
type VisitLog interface {
	// Doing says what is looked at from now on.
	Doing(what string)
	// Problem notes something for which a run cannot begin, and Caution something to know of one
	// that can.
	Problem(path, format string, args ...any)
	Caution(path, format string, args ...any)
}
