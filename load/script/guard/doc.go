// Package guard limits what code of a script computes and holds. It knows neither scripts nor users:
// only what can be interrupted, and runtimes of sobek.
//
// A [Watch] looks at all stretches of computing every 20 ms. What counts is the CPU time of the
// process, divided by the stretches that compute: on a host that gives the process no CPU, or in the
// queue behind others, a stretch grows older and is not blamed. Of the heap counts what is left
// after a collection of garbage. Beyond the limit those are interrupted who compute since the look
// before, as no short action fills a heap; if there are none, all that compute.
//
// An interrupt takes effect between two operations of the interpreter. [Bounds] are for the calls
// that work or allocate at length within one: they throw a RangeError that names the bound.
// Intrinsics are not frozen, as libraries extend them: what a host relies on it takes before the
// script runs.
package guard
