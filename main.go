package plimsoll

import (
	"plimsoll/cmd/verbs"
	"plimsoll/run/session"
)

// A Service is one kind of server: its Dialect, which is required, and for a server that the program
// itself starts its Drivers, Telemetry and Servers.
type Service = session.Service

// A ServerVerb is a verb of the program that runs a server until its context ends.
type ServerVerb = session.ServerVerb

// Main is the program plimsoll, which knows further services besides its own, and returns its exit
// status. It reads the arguments of the process and uses its streams and environment. The first
// signal ends the verb in order: runs are sealed as interrupted; the second interrupt or SIGTERM ends
// the process at once. Nothing may run before Main: a process that the program has started in
// namespaces of its own becomes another program there.
func Main(services ...Service) int { return verbs.Main(services...) }
