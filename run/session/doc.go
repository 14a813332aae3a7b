// Package session assembles a run and carries it out.
//
// # Flow
//
// The calling program describes itself by a [Program]. [Begin] opens the store and returns a
// [Session]: the host, its cores and its rating. Package deploy brings one arm on one database into
// being ([Session.NewDeployments]). [Session.Trial] then carries out one run on it: it resets the
// system, starts users in this process or in agents, samples the probes, reads the gates, and
// leaves a sealed run. Packages run/compare and run/sizing
// repeat that for every cell of a comparison, and for every step of a sizing.
//
// # Seams
//
// Package session knows probes by name, as package deploy does drivers. Knowledge of one kind of server
// is handed in: dialects, the drivers of their servers, and the work before a run is sealed. session
// names no server, reads no flag, and judges nothing. It speaks to people through a reporter of package
// audience and
// through Program.Warn.
//
// # Errors
//
// A mistake of the caller is a [plan.UsageError]. [CarriedError] is the exit status of another process
// of this program, which has carried everything out. Every other error means that the tool failed, and nothing follows
// about the target.
//
// # Concurrency
//
// A Session carries out one run at a time: its methods are not safe for concurrent use. Those of
// its Progress and Panics are.
package session
