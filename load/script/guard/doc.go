// Package guard limits what code of a script computes and holds. It knows neither scripts nor users:
// only what can be interrupted, and runtimes of sobek.
//
// # Computing
//
// A [Watch] looks at all stretches of computing every 20 ms and interrupts the one that has computed
// for longer than its limit. What counts is the CPU time of the process, divided by the stretches
// that compute: on a host that gives the process no CPU, or in the run queue behind others, a stretch
// grows older and is not blamed. Entering, pausing and leaving are atomic operations; no user has a
// goroutine or a timer.
//
// # Memory
//
// The same look compares the heap of the process with a limit. Garbage is collected before anybody
// is blamed. Then those are interrupted who compute since the last look at least, as no short action
// fills a heap; if there are none, all that compute.
//
// # Single calls
//
// An interrupt takes effect between two operations of the interpreter. [Harden] therefore bounds the
// calls that work or allocate at length within one: they throw a RangeError that names the bound.
// It does not freeze intrinsics, which libraries extend: what a host relies on it takes before the
// script runs, and [Freeze] is for the host's own objects.
package guard
