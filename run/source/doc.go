// Package source reads the history of a program's source with git: the commits between two
// revisions, what they change, and which of them touch a part of a difference.
//
// It calls git, changes no branch and no work tree of the user, and fetches nothing. Package
// judge/suspects ranks what it reads.
package source
