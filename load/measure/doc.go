// Package measure counts finished operations and their times.
//
// # Four instants
//
// An [Op] keeps four instants, each charged to its owner:
//
//	Intended --lag--> Due --wait--> Sent --service--> Done
//
// Lag (Due - Intended) is the generator's own lateness, with its schedule and between an answer's
// arrival and the next request of the same action: it voids a run and is never added to a latency.
// Wait (Sent - Due) is the time without a connection, or without a place in flight; it is measured,
// and the rest between Intended and Sent is lag ([Op.Charge]). Service (Done - Sent) is the
// target's. Response is wait + service: the time that a person would have felt. Nothing is
// synthesized to correct an omission: a late schedule shows as lag.
//
// # Histograms, never samples
//
// A [Histogram] is log-linear after HdrHistogram (Tene, hdrhistogram.org): 128 linear steps per
// power of two, so that a reported value is off by at most 0.4 % (half a step), in constant memory,
// merged without loss over windows, shards and machines. Percentiles are questions to it, not
// records.
//
// # Ops that count as a latency
//
// The histograms hold operations that ended [OK] and those that ended in [Timeout] (which took at
// least that long; leaving them out would flatter the tail). Every other class is counted and not
// timed: a refused connection answers in microseconds and would flatter the mean.
//
// # Concurrency
//
// A [Registry] is safe for concurrent use. A [Recorder] is a handle on one of its shards: many
// goroutines may share one. A [Batch] belongs to one goroutine and takes the lock once for many
// ops; its owner flushes it before it rests. [Registry.Cut] takes away everything recorded since
// the cut before.
//
// The package uses no clock, no network and no protocol.
package measure
