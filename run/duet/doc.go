// Package duet lets the runs of one block take turns on one host.
//
// Runs one after the other, a minute and more apart, compare hosts as much as builds: a shared machine changes faster.
// Runs that alternate within a second see the same host (Bulej et al., Duet Benchmarking, ICPE 2020; Abedi and Brecht,
// Conducting Repeatable Experiments in Highly Variable Cloud Computing Environments, ICPE 2017).
//
// The package knows neither targets nor users: a target is what can be paused, and a run is a clock.
package duet
