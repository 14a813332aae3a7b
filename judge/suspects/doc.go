// Package suspects ranks the commits of a range by how much of a difference in cost they touch: the
// functions that changed, their callers, what they call, and the statements of the database.
//
// A suspect is a hint and no result: a commit may touch a function without making it slower. Only
// a bisection shows which one did.
//
// The package is pure: it reads no repository. Package run/source reads one with git.
package suspects
