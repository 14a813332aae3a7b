// Package users is the users' side of a run: it divides simulated users among processes and hosts,
// gives them accounts, starts them, and says what became of them.
//
// # Where users live
//
// A [Layout] divides the users of a run: all in this process, in several processes of this host
// where one cannot hold their connections, or on the hosts of a [Crew] of agents that have joined.
// [Start] makes them a [Population], which drives them wherever they are. Plan and seed decide on
// the users, and their number of processes does not.
//
// # The other end
//
// A process with users is this program as the verb agent: [Builder] makes its engine from settings
// that hold the secrets of its users and of no others. An [Attendance] is this program as an agent
// of runs that another host leads; it starts such processes there.
//
// It deploys nothing and judges nothing: it gets the address of a target, and its findings are
// about the users alone.
package users
