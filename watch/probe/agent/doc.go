// Package agent carries the probes of another host to a run: a [Server] there, a [Remote] here.
//
// # The page
//
// The server answers GET /metrics over HTTPS, to clients with the token, with the samples of its probes at that
// moment, in the OpenMetrics format (so any Prometheus reads it too). Every series has a label role: the role of the
// agent, or that of the processes it is about. Beside the probes' own series there are
//
//	plimsoll_agent_info{role,version}             1
//	plimsoll_agent_received_timestamp_seconds     wall clock of that host when the request came
//	plimsoll_agent_replied_timestamp_seconds      and just before the answer went
//	plimsoll_probe_up{probe}                      1, or 0 if anything of the probe's sample failed
//	plimsoll_probe_seconds{probe}                 how long the sample took
//
// A reason for each failure is in the response's header Plimsoll-Failure, not in a label, where it would make new
// series.
//
// # Time of samples
//
// The agent samples on request, never by itself: a counter is as old as the way back takes, and a value that is
// formed over the time between two samples, such as plimsoll_cpu_busy_ratio, covers the time between two answers to
// the same reader. For that each connection has probes of its own, so that a second reader does not shorten the
// intervals of the first.
//
// # Whose clock
//
// A [Remote] leaves the time to its caller, who stores the samples under the instant of its request. The other
// host's clock plays no part in that: an NTP step there moves nothing. How far it is away is measured all the same,
// see [Remote], because that host's log files are read beside the run.
//
// # Out of scope
//
// It judges nothing, and takes no commands: a reader gets numbers. It cannot be reached without TLS, without a
// token, or with a certificate that is not verified.
package agent
