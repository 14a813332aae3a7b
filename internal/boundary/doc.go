// Package boundary turns a panic into an error, at the few places where one must not end the
// process: a simulated user, a proof, a sample of a probe, a request of one of our own servers or
// agents, and the program's own beginning.
//
// A panic is a defect of this program, even if text of a target has led to it. Code that catches
// one therefore reports it: the work it was in has failed, the run gets a red finding of the gate
// "panic" with the stack among its events, and the program ends with status 1. Without a boundary
// Go's runtime ends the process with status 2, which this program has given to bad usage, and the
// records so far stay unsealed.
//
// A deferred [Recover] costs no allocation and about a nanosecond, so a boundary may lie on the hot
// path.
package boundary
