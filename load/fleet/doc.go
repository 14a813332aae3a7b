// Package fleet drives the users of one run from several processes: agents, which have the users,
// and a coordinator, which is the [trial.Driver] of the run.
//
// # Roles
//
// Agent k of n drives the users k, k+n, k+2n and so on, or those of a deal by the ratings of hosts
// ([engine.Config]), so that the same seed gives the same users with the same names and think
// times, for any number of agents. The coordinator provisions, and hands the outcome to the agents
// ([workload.Portable]). At each tick of the trial it requests the records since the last tick from
// every agent and merges them without loss: histograms, counts, the state of users, the ledger, the
// samples of the agent's own probe. A run has one ledger: acknowledgments go to the agents that
// know the channel by way of the coordinator, one tick later, and events that come earlier wait for
// them ([workload.Ledger.Share]).
//
// # Messages
//
// A coordinator sends a request and waits for the reply; an agent never speaks first. Requests are
// JSON values, one after the other; a reply is one line of JSON, and behind it the bytes of its
// reports' windows, in the format of windows.hdr, whose sizes the line has. They travel over any
// byte stream: the standard streams of a child process, or a stream to an agent on another host
// ([ServeHost]), which leads the processes there and sends their reports together. Windows are
// merged as they are encoded. Each reply is waited for until a deadline. An agent that does not
// answer, or whose stream ends, is lost: [RemoteDriver.Collect] returns an error, and the run is
// invalid. An agent whose coordinator is gone stops its users and ends.
//
// # Late reports
//
// A collect names the tick that it is of. An agent on another host that gets no such request
// collects by itself and keeps the reports, one for each tick; when requests come again, each is
// answered with the reports up to its tick. The trial waits at its tick meanwhile, so that each
// report is merged in the tick that it is of.
//
// # Clocks
//
// Instants travel as offsets from the run's epoch, which the agent finds on its own clock when it
// starts. Every reply carries when the request came and when the reply went; from these the
// coordinator computes the offset of the two clocks (RFC 5905, section 8) and their drift, by a
// line through the samples of the shortest ways, one for each ten seconds. It maps the instants of
// messages of other hosts by that line. On one host they are one clock. Deliveries between hosts
// are a part of the latency only while the errors of two clocks are small against it
// ([RemoteDriver.Apart]); one that comes before it was sent is kept for the run's validity
// ([RemoteDriver.Untimely]).
package fleet
