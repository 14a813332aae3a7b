// Package console serves the console: its page, the store's history, and the runs that are under
// way. Whoever dies of the two, the other goes on. An operator may start plans, stop and steer; the
// run decides what it accepts.
//
// A run publishes frames as lines of JSON on a Unix socket in its directory ([live.SocketName]).
// The package reads them as the contract in openapi.yaml has them: a field that it does not know is
// handed on, one that is missing stays missing. What came before its own time, and all of a stored
// run, it reads from the run's files. It does not judge and keeps nothing on disk.
package console
