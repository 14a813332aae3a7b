// Package deploy brings systems under test into being and down again.
//
// # Flow
//
// [New] returns the [Deployments] of a plan, with none up. [Deployments.System] deploys one arm on
// one database, with its stores, its network and its limits, and provisions it. Before each run
// the system is reset ([System.Reset]) or, where the plan's own commands do that, prepared
// ([Installation.Prepare]). [Deployments.Close] stops all systems, and [Deployments.Clear] removes
// what they have left on disk.
//
// During a run, [CrashWatch] follows the programs of a system and [DiskWatch] the space that its
// files take.
//
// # Seams
//
// Package deploy chooses drivers by the names in a plan. What is done for users is handed in by
// [Config]: their accounts, their sockets, the probes that a plan lists. The package knows no
// trials, writes no records and judges nothing: it reports why a target is not as the plan wants
// it, and the caller decides what follows. The parts below it are separate packages:
// run/deploy/stores (databases, replicas, proxies), run/deploy/sandbox (networks, limits,
// containers) and run/deploy/dumps (data sets).
//
// # Concurrency
//
// Deployments may be used by several goroutines. A System is used by one run at a time.
package deploy
