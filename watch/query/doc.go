// Package query has the statements of a database in a form that two servers can be compared by:
// normalized texts, differences of counters, and the shapes of plans.
//
// The package is pure. It asks no server; the packages below watch/probe do. It parses no SQL
// beyond comments, constants and the names behind FROM, JOIN, INTO and UPDATE.
//
// # Secrets
//
// No text that it returns holds a constant of a statement.
package query
