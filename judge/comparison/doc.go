// Package comparison judges the runs of a comparison: arms × databases in blocks, or figures of
// other tools in pairs.
//
// [Judge] judges every arm against the base on each database, and the databases of an arm against
// the first, by the pairs of the whole blocks. A run that is not valid takes its block out of the
// judgement. [Numbers] are the values of a run; a [Reader] adds metrics to them.
//
// Planned looks ([plan.Compare.Looks]) judge a comparison after planned numbers of blocks, each at
// its level. [Decide] and [Spend] conclude from a look whether the comparison ends with it; between
// looks nothing is judged.
//
// A comparison of a build with itself ([Twins]) measures the noise, for an environment
// ([Environment]) at a time.
//
// The package executes nothing: package run/compare carries comparisons out. It reads runs by a
// function of the caller, and checks that they are unaltered ([Loader], [Resumable]).
package comparison
