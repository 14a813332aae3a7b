// Package origin reads what the runs of a comparison hold of where CPU time goes, and attributes
// the differences in cost to it.
//
// Its figures are those of the verdict: a profile shares out the cost of the run in the block that
// was judged, so that the parts of a difference add up to the one that was judged. It follows from
// the files of the runs alone, and decides nothing.
package origin
