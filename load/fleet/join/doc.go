// Package join connects agents on other hosts to a coordinator over NATS: a server in this process, or a cluster that
// others run.
//
// # Who speaks
//
// An agent dials out, subscribes to its own subject and waits ([Attend]). A coordinator opens a [Hall] and calls each
// agent that its key file names, about twice a second, until it answers; [Hall.Link] then gives a stream to it. An
// agent sends nothing but answers.
//
//	plimsoll.AGENT.down   to the agent, which alone may subscribe to it
//	plimsoll.AGENT.up     to the coordinator; the agent alone may publish on it
//
// AGENT is the public half of the agent's nkey. A server of ours refuses every other subject.
//
// # Who can read
//
// Each message is sealed to the keys of both ends (X25519, XSalsa20 and Poly1305: the curve keys of nkeys, format
// xkv1), so that a cluster of somebody else carries bytes only. Inside are a session, a direction and a number that
// grows with every message. A message of another session, of the wrong direction, or with a number that was there is
// refused, whoever sent it: a recorded one cannot be played again. The session is new for each run: both ends draw a
// half of it.
//
// # What arrives
//
// A stream's writes are numbered and cut into pieces of 64 KiB, each kept until the other end has acknowledged it, and
// sent again after a connection was lost. NATS keeps the order of one sender, so a piece that did not come is known by
// the next message, and nothing is sent twice because a way is slow. One write has at most 64 MiB.
//
// # Out of scope
//
// It knows nothing of runs and users: it carries the bytes of package fleet, and the description that agents give of
// themselves. A host that holds the coordinator's keys is trusted, and so is an agent with its own.
package join
