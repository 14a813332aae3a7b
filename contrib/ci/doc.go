// Package ci has the tests of the actions for forges, action.yml and those of contrib/ci: they
// carry the steps out as a runner does.
package ci
