// Package trial carries out one plan once: ramp, settle, measure, search, and decides whether the
// result is valid.
//
// # Time
//
// A trial advances in ticks (a second, or less when the search is scaled). At each tick it takes
// the recorded operations, adds them to the second that is being written, and to the trailing
// window of the rules. Phases begin and end on whole seconds from the run's epoch, so that stored
// windows belong to one phase.
//
// # Fail closed
//
// A rule whose value is missing is neither healthy nor violated: it is missing, and the run is
// invalid when it stays so. The generator watches itself: too much lag, too few users or cores that
// are too busy make the bounded test invalid, and end a search with "at least" instead of a
// capacity, because a slow generator looks like a slow server.
//
// The package knows neither servers nor protocols; load comes from a [Driver], CPU and queries from
// [Signals].
package trial
