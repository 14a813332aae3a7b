// Package duet lets the runs of one block take turns on one host.
//
// Runs one after the other, a minute and more apart, compare hosts as much as builds: a shared
// machine changes faster. Runs that alternate within a second see the same host (Bulej et al., Duet
// Benchmarking, ICPE 2020; Abedi and Brecht, Conducting Repeatable Experiments in Highly Variable
// Cloud Computing Environments, ICPE 2017).
//
// The package knows neither targets nor users: a target is anything that can be paused, and a run
// is a clock.
//
// # Turns
//
// Each run has a [Seat] at a [RoundTable], which hands out turns: it continues the run's target,
// starts its clock, waits for a slice, stops the clock and pauses the target. A round has one slice
// of every seat. Seats of one group (a database) follow each other directly, since they are
// compared with each other. Rounds come in pairs: a random order, then its reverse. Over a pair,
// each seat has every position and its mirror once, and all slices of a pair are equally long: a
// host that becomes faster or slower at a steady rate gives all seats of a pair the same mean
// speed.
//
// # Operations in flight
//
// A slice ends with operations in flight. They are carried over: the target stands still with them,
// and their latency is the time that passes on the clock. Draining them before the pause would let
// the target work without load. A target of capacity C with a backlog that takes D to drain would
// serve C·(S+D) operations per slice S of clock time, and its capacity would read
//
//	C · (1 + D/S)
//
// which is too high by a quarter with D = 50 ms and S = 200 ms, and only when it is overloaded,
// where capacity is found. So a slice is not drained. It is lengthened a little instead, with its
// load, and ends early in that lengthening when nothing is in flight (by a tenth of the slice at
// most). That time counts on the clock, and gives away nothing.
//
// The same formula bounds the rest: the target works without load while it is being paused, and
// from its continuing until the clock starts. D is then [SeatStats.Pausing] and
// [SeatStats.Continuing] per turn. The host's own work for a paused target is not paused: packets
// in sockets and pages to be written.
package duet
