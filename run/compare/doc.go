// Package compare carries out a comparison: arms × databases in blocks, each run by a session
// ([session.Session]).
//
// # Blocks
//
// A block is one run of every arm on every database, adjacent in time, because machines drift:
// compared runs were made side by side. Within a block the arms of one database follow each other
// directly. The order is balanced (over two blocks each arm goes first as often) and seeded, so
// that it can neither be chosen nor repeated by accident.
//
// In a duet the runs of a block are made at the same time, in turns: no run came first, and a block
// is carried out, recorded, cut and resumed as one. With bounded.measure: auto, its measured phases
// end together, as soon as the block itself leaves little doubt about its differences.
//
// A run that is not valid voids its block. Void blocks are run again, whole, at the end, or before
// the next planned look; their runs are kept and listed, and never judged.
//
// # Looks
//
// Planned looks ([plan.Compare.Looks]) judge the comparison after planned numbers of blocks, each
// at its level, and end it as soon as every verdict is decided. Between looks nothing is judged. A
// comparison with a budget ([plan.Compare.Auto]) goes on until every endpoint is decided, or until
// the rest of its time is too short for the blocks up to the next look. Package comparison, which
// executes nothing, computes the conclusion of a look.
//
// # Resumption
//
// A comparison that was cut goes on: its runs are recalled in their order, as if they were made
// again, and the remaining ones are made.
//
// # Before the blocks
//
// Pilots find the number of users that the plan leaves open ([FindUsers]), and the start of
// searches. [Options.Fits] checks whether a comparison can take the requested minutes.
package compare
