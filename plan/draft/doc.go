// Package draft writes plans for people who have none: facts about a target and a question in, the
// commented YAML of a plan out. The plan is then parsed and checked like any other; a draft
// promises nothing beyond that.
//
// It reads nothing, asks nobody and knows no kind of server: what is particular to one comes in its
// [Facts].
package draft
