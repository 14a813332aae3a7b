// Package names says which function of one build is which of another although names differ.
//
// A module gets a new major version, a package moves, a closure gets another number, a method is
// renamed: a comparison by name alone would show all of their cost as removed and added.
// [Match] pairs functions by exact names first, then by normal forms of names (without versions
// and pointers, with packages and receivers that moved as a whole), then by their callers and
// callees. Each step takes only pairs that have no rival: a second candidate that is nearly as good
// leaves both unmatched, for a wrong match hides a change, and a missing one shows two.
//
// The package is pure, knows no function by its name, and bounds its work on hostile names: its
// time grows with the lengths of names and lists of callees, and never with the product of the
// numbers of functions.
package names
