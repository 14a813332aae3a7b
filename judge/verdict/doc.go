// Package verdict judges whether two arms of a comparison differ.
//
// It turns numbers from pairs of runs into a [Result] per endpoint ([Judge]) and the results of one
// database into a [Verdict] ([Combine]). It does not know how a number was measured, whether its
// run was valid (invalid runs never become pairs), which server answered, or where a report goes.
// It reads no clock and no file: the same pairs give the same words.
//
// # The rule
//
// With the interval of level 1-alpha (the 95 % interval) and the one of level 1-2·alpha (the 90 %
// interval) of the mean difference of the pairs, and a margin fixed beforehand:
//
//   - same, if the 90 % interval lies inside the margin (a "small real shift" is named when the 95 %
//     interval excludes zero);
//   - worse, if it does not and the 95 % interval lies on the bad side of zero;
//   - better, the mirror of worse;
//   - inconclusive otherwise, with the minimum detectable effect, the pairs that are needed and the pair
//     that contributes most to the width.
//
// Worse and better need the consent of the exact sign-flip test where it can reach alpha; where the
// sample is too small for that, all pairs must point the same way. A conclusion that changes when
// the flagged outliers are left out is inconclusive. Fewer than six pairs are indicative: numbers,
// no verdict. No data at all is invalid, never the same.
//
// Where the order of the runs of the pairs is known and balanced, its effect is taken out of the
// differences, at the price of one degree of freedom. An arm whose runs vary more gets a warning,
// not a verdict.
//
// # Censored values
//
// A search that ended at its own limit yields only a lower bound. If at most half of the pairs are
// bounds, the conclusion is the one that holds for all true values behind them ([stats.Spans]),
// with an interval. If more are, only the order within the pairs is used: a sign test, in which an
// unknown order counts against the conclusion, and one end of the difference. A sample with bounds
// is never judged the same.
//
// # Several endpoints
//
// [Combine] holds the level over all endpoints of a database by Holm's method: any worse makes the
// database worse, else any inconclusive makes it inconclusive, else any better makes it better.
// Endpoints that the plan could not decide are no part of it; the verdict names them.
//
// # Further metrics
//
// [JudgeFamily] looks at all numbers beside the primary endpoints at once: a [Metric] is a finding
// when it changed by more than its floor, at a false discovery rate of 10 %. A [Family] shows where
// to look and decides no verdict. docs/method/statistics.md has the rules with their sources, and
// tables of how often they err.
//
// [FindShift] finds where in the distribution of response times two arms differ, with a band over
// all quantiles at once.
package verdict
