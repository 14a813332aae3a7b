// Package calibration finds out how much load the generator on this host can make.
//
// # Method
//
// [Measure] drives a server that does almost nothing, in another process, for about twenty seconds,
// in two ways: 64 connections as fast as they go, and simulated users with their pauses, much
// faster than in a test. The first gives the least cost of an operation; the second the cost when
// every user has a goroutine, a timer, a WebSocket and its own moments. From the second, the host's
// cores and its limits on files and memory follows how many users at pace 1 it can drive. The
// outcome is kept per host in a file ([File]): it is measured once.
//
// # Accuracy
//
// It is a rating of the generator without a network and without a real server's slowness, measured
// in one go: good to about a tenth, and an upper bound. A test that needs more than a part of it is
// refused, or flagged by the gates; the generator's real work is measured during the run.
//
// # Out of scope
//
// Which server and which behavior: the caller brings both.
package calibration
