// Package stats is the mathematics behind a verdict.
//
// Everything here is a function of numbers: the same input gives the same output, bit for bit, on
// every machine and on every call. The package reads no file, no clock and no random source of its
// own; it does not know what a server, a run or a release is, and it concludes nothing (that is the
// task of package verdict).
//
// # The unit is the run
//
// A [Sample] holds one number from each of n runs, or one difference from each of n pairs of runs.
// Seconds inside a run are not values of a sample: they depend on each other, and a test that
// treats them as replicates calls two equal builds different most of the time.
//
// # Pairs
//
// [LogRatios] turns the pairs (base, new) into ln(new/base). On that scale "5 % more" and "5 %
// less" are symmetric, and drift that both runs of a pair share cancels. Rates that may be zero are
// compared by [Differences] instead.
//
// # Functions
//
//   - [TInterval] and [TTest]: Student's t on the differences; the interval is the only basis for "the same";
//   - [SignFlip], [SignTest] and [HodgesLehmann]: their robust twins, exact for small samples;
//   - [MDE] and [PairsFor]: the smallest effect that an experiment of this size could see, and the size that it needs;
//   - [Holm], [BenjaminiHochberg], [PocockLooks] and [BudgetLooks]: several endpoints, many metrics, and several looks at the
//     growing data;
//   - [ModeratedT]: many metrics whose variances borrow from each other, against a floor below which no change matters;
//   - [ShiftFunction]: whole distributions, with a band that holds at all quantiles at once;
//   - [Chain] and [ChangePoints]: many comparisons that share releases, and where their level changes;
//   - [Outliers]: values to name, never to delete;
//
// Of the inside of one run, as values in time and histograms of intervals:
//
//   - [SettlingOf]: whether the beginning of a phase was warm-up;
//   - [TrendOf] and [RunDrift]: whether values in time drift, in spite of their autocorrelation;
//   - [BlockBootstrap]: the precision of the quantiles of one run;
//   - [EffectiveCount], [QuantileSupported] and [QuantileSD]: the quantiles that a run can estimate, and how well.
//
// docs/method/statistics.md has the error rates of each of them.
//
// # Few values
//
// Nothing is invented for samples that are too small. One or two values have no interval and no
// p-value: the functions return NaN, and the sample carries a warning. Callers show
// [Sample.Warnings].
//
// # Concurrency
//
// All functions may be called from several goroutines at once. None keeps or changes its arguments.
package stats
