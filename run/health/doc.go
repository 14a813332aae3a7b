// Package health reads the gates of a run: whether its load generator, its hosts and its network
// were well enough for the results to be the target's.
//
// The gates themselves, with limits and causes, are the table of [plan.DefaultGates]. [GateReader]
// takes the readings of a moment from the last samples of the probes; package trial judges them.
// [Signals] also answers the questions of rules about hosts and series.
//
// A new gate is a row of that table and an entry of the table readings.
//
// The package starts no load, deploys nothing and opens no probe (run/health/sources does).
package health
