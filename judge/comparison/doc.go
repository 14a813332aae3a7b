// Package comparison carries out arms × databases in blocks and judges their runs.
//
// A block is one run of every arm on every database, adjacent in time, because machines drift: compared runs were
// made side by side. Within a block the arms of one database follow each other directly. The order is balanced
// (over two blocks each arm goes first as often) and seeded, so that it can neither be chosen nor repeated by
// accident.
//
// In a duet ([Config.RunBlock]) the runs of a block are made at the same time, in turns: no run came first, and a block
// is carried out, recorded, cut and resumed as one.
//
// A run that is not valid voids its block. Voided blocks are run again, whole, at the end, or before the next planned
// look; their runs are kept and listed, and never judged.
//
// Planned looks ([plan.Compare.Looks]) judge the comparison after so many blocks, each at its level, and end it as
// soon as every verdict is decided. Between looks nothing is judged. A comparison with a budget ([plan.Compare.Auto])
// goes on until every endpoint is decided, or until the rest of its time is too short for the blocks up to the next
// look.
//
// A comparison that was cut goes on ([Resume]): its runs are recalled in their order, as if they were made again, and
// the remaining ones are made. A comparison of a build with itself ([Twins]) measures the noise, for an environment
// ([Environment]) at a time.
//
// The package knows neither targets nor clocks: a run is a function of the caller ([Config.Run]).
package comparison
