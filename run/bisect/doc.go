// Package bisect carries out the search for the build that moved an endpoint: package judge/bisect
// decides what to measure next, and each step is a comparison of two builds in blocks (package
// run/compare), stored as any other.
//
// Builds are given, or made of commits by a person's command; one that cannot be made, or of which
// no block is valid, is skipped. All that happened is in the file of the bisection, so that a search
// that was cut goes on where it was: whole blocks count, also those of the step that was cut.
package bisect
