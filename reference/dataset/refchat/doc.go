// Package refchat loads a population into the tables of the reference chat server, on PostgreSQL by
// COPY and on MySQL or MariaDB by LOAD DATA LOCAL INFILE, over several connections, and checks
// loaded rows.
//
// Tables and indexes are the server's own: [Load] lets it make its schema in an empty database,
// takes indexes and keys (on MySQL, where rows live in the primary key's order, only the further
// indexes) out of the catalog, drops them, loads, and makes them again from the same definitions.
// The server's columns that follow from others (counts of posts, times of last posts, unread
// mentions, threads and their followers) are written as the server would have left them.
//
// While a load is under way the database's schema carries the version "loading", which the server
// refuses; a load that fails drops its tables. So there is never a half-loaded database that looks
// whole.
//
// All users share one password, hashed once: a hash costs as much as a login.
//
// The package does not know where the database runs and how it is kept: see reference/dataset/dump.
// It never repeats a DSN, which holds a password.
package refchat
