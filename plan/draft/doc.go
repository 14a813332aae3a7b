// Package draft writes plans for people who have none: facts about a target and a question in, the
// commented YAML of a plan out. The plan is then parsed and checked like any other; a draft
// promises nothing beyond that.
//
// It reads no files, makes no requests and knows no kind of server: the particulars of one come in
// its [Facts].
package draft
