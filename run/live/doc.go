// Package live lets others watch a run, comparison or sizing while it goes on, and steer it: a Unix
// socket in its directory, on which a [Publisher] writes one line of JSON a second and takes
// orders.
//
// # Protocol
//
// A client that connects gets frames, one a line, until a line of kind "end". It may write lines,
// each an [Order], and gets for each a line of kind "answer" with the field "done" or "error". The
// directory and the socket are accessible to their owner alone: there is no other check.
//
// A frame has at most [MostBytes]. A slow reader misses frames: the newest is kept, and nothing is
// queued. Frames are made only while somebody watches ([Publisher.Watched]). A process that is
// killed leaves its socket behind, which refuses connections.
//
// The package knows no run and no HTTP. It draws no conclusion.
package live
