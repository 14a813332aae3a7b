// Package sizing carries out the steps of a sizing: bounded tests of growing numbers of users, one
// after another on one deployment, around the capacity that a first search finds where the plan has
// no steps. Package judge/sizing grades them.
package sizing
