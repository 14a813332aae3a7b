// Package verdict says whether two arms of a comparison differ, how good a load step is, and what drifts.
//
// It turns numbers from pairs of runs into a [Result] per endpoint ([Judge]) and the results of one
// database into a [Verdict] ([Combine]). It does not know how a number was measured, whether its run was
// valid (runs that are not valid never become pairs), which server answered, or where a report goes. It
// reads no clock and no file: the same pairs give the same words.
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
// Worse and better need the consent of the exact sign-flip test where it can reach alpha; where the sample
// is too small for that, all pairs must point the same way. A conclusion that changes when the flagged
// outliers are left out is inconclusive. Fewer than six pairs are indicative: numbers, no verdict. No data at
// all is invalid, never the same.
//
// Where the order of the runs of the pairs is known and balanced, its effect is taken out of the differences, at the price of one degree
// of freedom. An arm whose runs vary more is a warning, no verdict.
//
// # Censored values
//
// A search that ended at its own limit knows only "at least". With at most half of the pairs such bounds, the conclusion is the one that
// holds whatever lies behind them ([stats.Spans]), with an interval; with more, the order within the pairs is left: a sign
// test, in which an order that is not known counts against the conclusion, and one end of the difference. Bounds never
// read same.
//
// # Several endpoints
//
// [Combine] holds the level over all endpoints of a database by Holm's method: any worse makes the database
// worse, else any inconclusive makes it inconclusive, else any better makes it better.
//
// # Further metrics
//
// [JudgeFamily] looks at all numbers beside the primary endpoints at once: a [Metric] is a finding when it changed by more than
// its floor, at a false discovery rate of 10 %. A [Family] says where to look and decides no verdict. docs/statistics.md
// has the rules with their sources, and tables of how often they err.
//
// [FindShift] says where in the distribution of response times two arms differ, with a band over all quantiles at once.
//
// # Load steps
//
// [Size] gives each step of a ladder a [Grade] by a fixed rule ([GradeOf]), names the comfortable and the most users,
// the bottleneck as far as the steps show one ([FindBottleneck]), and what a user costs on the machines of a price list. A
// step that is not valid carries no grade, and between steps nothing is interpolated.
//
// [FindDrift] says of a run what rises, falls, levels off or stays, and what it was too short for.
//
// # Numbers of one's own
//
// [ReadCSV] and [Text] are the two ends of the judge verb.
package verdict
