// Package bisect finds the first build of a range that moved an endpoint, from noisy measurements.
//
// # Model
//
// Builds are in order, from 0, the good one, to n-1, the bad one. A [BlockRatio] is one block: the
// logarithm of the ratio of an endpoint between two builds. Up to the first changed build the ratio
// to build 0 is 1, from there on exp(δ); with a second change further on, another. The noise is
// normal with an unknown variance, the same for all blocks. The effects are normal and the variance
// is inverse gamma (the conjugate prior), so that the probability of the data under each first
// build is a multivariate t density: few blocks, whose spread is hardly known, convince little. The
// prior over builds is uniform, or weighted by suspects. One in ten ranges is taken to hold two
// changes; both models are weighed against each other by the data.
//
// # Search
//
// The next build is the median of the posterior over the first changed build. A measurement of a
// build depends on that build only by being before or behind it, so its expected information
// depends on the probability p of "before" alone, and is largest at p = 1/2 for noise that is alike
// on both sides: the median is the choice of most expected information, without its integrals.
// Noisy search by the median of a posterior is due to Horstein (1963); Burnashev and Zigangirov
// (1974) bound its error on a grid, and Waeber, Frazier and Henderson ("Bisection search with noisy
// responses", SIAM J. Control Optim. 51, 2013) show that it converges geometrically.
//
// The search begins with six blocks of the ends, or twelve, and says that there is nothing to find
// unless their whole 95 % interval is beyond [Least] on one side. It stops at a build of 95 %, which
// six new blocks against its predecessor must confirm: their interval does not depend on the search,
// and so is honest about the size.
//
// # Limits
//
// A build that cannot be made is skipped, and the answer is then a range of builds. Another
// placement of the same code in memory changes its speed by some tenths of a percent (Mytkowicz et
// al., "Producing wrong data without doing anything obviously wrong", ASPLOS 2009): a change of
// that size has no first commit. More than two changes are reported as more than one.
package bisect
