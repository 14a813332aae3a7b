// Package statements says which statements a difference in a database's work comes from.
//
// Its unit is the block. Statements of two releases are one if their normalized texts are equal, or
// else if they do the same to the same relations. [Attribute] returns what changed, with the plans
// of both arms.
//
// The package is pure: it reads no file and no clock, and parses no SQL.
package statements
