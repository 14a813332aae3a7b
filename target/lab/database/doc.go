// Package database supervises a private database server for tests and measurements. A [Product]
// holds the differences between kinds of server; packages postgresql and mysql have one each.
//
// [Start] prepares a data directory on first use and starts the server on a private port of
// 127.0.0.1 and a unix socket in a directory that only the server's user can enter. As root, which
// these servers refuse, it runs as the user of the system's package or as nobody.
//
// # State
//
// [Server.Snapshot] stops the server cleanly and copies its data directory. [Server.Restore] kills
// the server (its data is thrown away in the next moment), puts a copy of the snapshot in place of
// the data directory and starts the server. Snapshot and restore cover all databases at once. The
// copies are on disk before the server starts, so that no run pays for writing them back. Where
// they share blocks, see [lab.Space], they are made in a moment. Where they do not, a product may
// keep one database inside the running server instead, see [Product].Keep.
//
// A [Replica] begins with a copy of its primary's snapshot.
//
// # Secrets
//
// The user of the clients gets a new random password at each start. It lives in this program's
// memory and in the DSN, and as a hash in the server.
//
// # Out of scope
//
// Schemas, and who uses the database. Durability and sizes stay at the server's own defaults unless
// changed by [Config].Settings.
package database
