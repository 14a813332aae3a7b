// Package turns gives the runs of a block their places in a duet.
//
// A [DuetBlock] is the runs that one process makes at the same time. Each has a [DuetPlace] at the
// table of package run/duet: it takes the place before its first turn, and yields it when it needs
// no turns any more. Between its turns the target of a run is paused, and what the process counts
// is another run's.
//
// # Out of scope
//
// The order and length of turns, which package run/duet decides, and what a run does in its turn.
//
// # Concurrency
//
// Each run uses its own place; places of one block may be used at the same time.
package turns
