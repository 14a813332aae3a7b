// Package live lets others watch a run, comparison or sizing while it goes on, and steer it: a Unix socket in its
// directory, on which a [Publisher] writes one line of JSON a second and takes orders.
//
// # Protocol
//
// Whoever connects gets frames, one a line, until a line of kind "end". It may write lines, each an [Order], which is
// answered by a line of kind "answer" with the field "done" or "error". The directory is its owner's alone, and so is the
// socket: there is no other check.
//
// A frame has at most [MostBytes]. A reader that is slow misses frames: the newest is kept, and nothing is queued. Frames
// are made only while somebody watches ([Publisher.Watched]). A process that is killed leaves its socket behind, and a
// connection to that is refused.
//
// The package knows no run and no HTTP. It draws no conclusion.
package live
