// Package evidence answers questions about stored runs: its limiter, its drift, its cost, the
// intervals of its percentiles, its graphs and pages, and the contents of the report of a
// comparison.
//
// A [Run] is a stored run together with its plan, which is parsed once. All answers follow from the
// files of the run alone, so that they can be given again years later.
//
// Package evidence does not know any server by name. It neither makes runs nor judges them.
package evidence
