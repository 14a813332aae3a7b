// Package session carries out runs.
//
// # Flow
//
// The calling program describes itself by a [Program]. [Begin] opens the store and returns a
// [Session]: the host, its cores and its rating. Package deploy brings one arm on one database into
// being ([Session.NewDeployments]). [Session.Trial] then carries out one run on it: it resets the
// system, carries the trial out with the parts of a run, and leaves a sealed run. Packages
// run/compare and run/sizing repeat that for every cell of a comparison, and for every step of a
// sizing.
//
// A run is a list of parts (parts.go), of which each begins before the trial and ends after it:
// users, sources of series, gates, turns of a duet, crashes. What a run can do more is one more
// part, in a file of its own.
//
// # Seams
//
// Knowledge of one kind of server is handed in by a [Service]: dialects, the drivers of their
// servers, and the work before a run is sealed. session names no server, reads no flag, and judges
// nothing. It speaks to people through package run/audience and through Program.Warn.
//
// # Errors
//
// A mistake of the caller is a [plan.UsageError]. [CarriedError] is the exit status of another
// process of this program, which has carried everything out. Every other error means that the tool
// failed, and nothing follows about the target.
//
// # Concurrency
//
// A Session carries out one run at a time: its methods are not safe for concurrent use. Progress
// and Panics of it are.
package session
