// Package agent carries the probes of another host to a run: [Readers] there, a [Remote] here. The
// way between them is the caller's: a question with a reader's name leads there, and a [Reply] in
// JSON comes back.
//
// # The answer
//
// It has the samples of the probes at that moment. Every series has a label role: the role of the
// agent, or that of the processes it is about. Beside the probes' own series there are
//
//	plimsoll_agent_info{role,version}             1
//	plimsoll_probe_up{probe}                      1, or 0 if anything of the probe's sample failed
//	plimsoll_probe_seconds{probe}                 how long the sample took
//
// # Time of samples
//
// The agent samples on request, never by itself: a counter is as old as the way back takes, and a
// value that is formed over the time between two samples, such as plimsoll_cpu_busy_ratio, covers
// the time between two answers to the same reader. For that each reader has probes of its own, so
// that a second one does not shorten the intervals of the first.
//
// # Whose clock
//
// A [Remote] leaves the time to its caller, who stores the samples under the instant of its
// request. The other host's clock plays no part in that: an NTP step there moves nothing. How far
// it is away is measured all the same, see [Remote], because that host's log files are read beside
// the run.
//
// # Out of scope
//
// It judges nothing, and takes no commands: a reader gets numbers.
package agent
