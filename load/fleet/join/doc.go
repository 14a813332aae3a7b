// Package join connects agents on other hosts to a coordinator over NATS: a server in this process,
// or a cluster that others run.
//
// # Who speaks
//
// An agent dials out, subscribes to its own subject and waits ([Attend]). A coordinator opens a
// [Hall] and calls each agent that its key file names, about twice a second, until it answers;
// [Hall.Link] then begins a session with it. An agent sends nothing but answers.
//
//	plimsoll.AGENT.down   to the agent, which alone may subscribe to it
//	plimsoll.AGENT.up.>   to coordinators; the agent alone may publish there
//
// AGENT is the public half of the agent's nkey. A server of ours refuses every other subject. What
// an agent answers goes to the subject of one session of one hall, which the message names that it
// answers.
//
// # Who is trusted
//
// The server: the one of this process, or the one that the user names. TLS 1.3 with a pinned
// certificate, nkeys and the permissions of subjects keep everybody else from reading, changing and
// sending. Who runs the server can do all three.
//
// # What arrives
//
// A [Requester] has one request at a time, with a number, and its reply is one message of the same
// number. While there is none, the link asks for it about twice a second, and the agent says what
// has come. NATS keeps the order of one sender, so each end knows what was lost with a connection,
// and nothing is sent twice because a way is slow. A request that comes twice is carried out once,
// and a reply is kept until the next request. The deadline is the caller's: it closes the link. A
// message has as many bytes as the server takes: 64 MiB with one of ours.
//
// # Out of scope
//
// It knows nothing of runs and users: it carries the bytes of package fleet, and the description
// that agents give of themselves. A host that holds the coordinator's keys is trusted, and so is an
// agent with its own.
package join
