// Package dataset makes the data that a messaging server holds before a test begins: people, teams,
// channels with their members, and months of posts with threads, reactions and files.
//
// A [Population] is a pure function of a [Spec]: the same spec gives the same rows, byte for byte,
// on any machine and with any number of goroutines. It holds no post. Users and memberships are
// computed on demand; of each channel it keeps 32 bytes, and of its posts only a [Chunk] at a time
// exists. Memory is bounded by about 100 bytes per channel and goroutine, plus 4 MiB per goroutine
// for its chunk, for any number of posts.
//
// The package does not know the destination of the rows: reference/dataset/refchat loads them into
// a database, reference/dataset/mattermost writes them as a file for bulk import,
// reference/dataset/dump keeps a filled database for later.
//
// # Model
//
// Posts are numbered in the order of their times, so that a table filled in that order looks like
// one that grew. Their density follows the hours of a working week in UTC. A root goes to a channel
// by the type's share (public 35 %, private 25 %, group 10 %, direct 30 %) and, within the type, by
// Zipf's law of exponent 1; its author is a member, by the same law. Channels of all users have the
// same leading authors.
//
// The members of the k-th largest public channel of a team are 1/k of the team, of a private one
// 1/(8k); group messages have 3 to 8; the team's default channels have all its users.
//
// A reply answers a post of at most 65,535 posts ago, log-uniformly distributed, and belongs to the
// thread of that post; one in twenty goes to a long thread instead, of which each 4,096 posts begin
// one. A thread ends with its chunk of 65,536 posts.
//
// Texts are words of a list of 9,895 (7.5 letters on average, Zipf), 1 to 68 of them in a root and
// 1 to 46 in a reply; one in ten ends with an emoji, one in ten with a mention of a member, one in
// ten with a link, one in a hundred with the address of another post. Two percent of the roots have
// files: the four that the release teams' load test uploads, one (half of the cases), two or three.
//
// Most members have read everything; 20 % have not read the last posts and 10 % not those of the
// last days; see [ReadTo].
package dataset
