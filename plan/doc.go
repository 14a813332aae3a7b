// Package plan describes a load test before it runs.
//
// A [Plan] is a value: it says what is tested, what the simulated users do, how many there are and for how long,
// under which seed, and which differences matter. It never holds a connection, a clock or a goroutine, so the same
// plan can be hashed, diffed, sent to an agent and stored next to the run it produced.
package plan
