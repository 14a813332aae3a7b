// Package attribution says which functions a difference in CPU cost comes from.
//
// Its unit is the block, as in all of judge: each block has a [CPUProfile] of the base and one of the
// new arm. [Attribute] compares the CPU time per operation of every function, and returns parts
// that add up to the difference of the whole.
//
// The package is pure: it reads no file and no clock, and names no program.
package attribution
