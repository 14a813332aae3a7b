// Package workload defines simulated users: their random streams, their behavior and the record of
// their operations.
//
// # Roles
//
// A [Behavior] is the conduct of one kind of user against one kind of server; dialects implement it
// and the program registers it by name. It makes an [Actor] for each [User]. The engine owns time:
// it decides when an actor acts and stamps Intended and Due; the actor performs operations, each of
// which it reports with [User.Done].
//
// # The same load twice
//
// Each user has four independent PCG streams, derived from the plan's seed and the user's number
// alone: Action, Think, Content and Pick. Two arms with one seed have the same think times and
// actions; picks are a function of (stream, visible state). Nothing else may be used as a source of
// chance. Classes of users are stratified by number ([Strata]), never drawn, and a [Deal] divides
// users and arrivals among agents by their numbers.
//
// # Messages
//
// A message's whole way is measured from the author's Sent instant to the moment at which another
// user's connection read the event. The [Ledger] also counts messages lost, duplicated or
// misordered on the way, and keeps the acknowledged messages, which an [Auditor] reads back at the
// end.
//
// # The mix
//
// The [Tally] holds planned and actual numbers per action, with the reasons for the difference.
//
// # Storms
//
// A [Storm] is something that many users do at once. Its users are chosen by number, and its
// operations have series of their own that begin with [StormPrefix]: they hide no more inside the
// steady state than logins do.
//
// The package is independent of networks and servers.
package workload
