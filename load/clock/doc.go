// Package clock counts the time of one run, which can stand still.
//
// Two loads that share a host by turns ("duet") must not see each other's turns: while one has its
// turn, the users of the other neither think nor wait. Each run therefore has a [Clock] of its own.
// Everything that plans or measures in a run does so in the time of that clock: pauses of users,
// latencies, ticks, samples of probes, deadlines. A clock that cannot be stopped is the monotonic
// clock of the process, at its cost.
//
// An instant that lies in a stop is, in the clock's time, the moment of the stop. An operation that
// is under way when a clock stops keeps its time: its latency is what has passed on the clock.
//
// That is the time of a target that stands still with its clock. A target that works on meanwhile
// (one elsewhere, which cannot be paused) answers in real time: with the clock of [NewUnpaused]
// users and phases still live in the time of the clock, and how long the target takes is real time
// ([Clock.Took]). An operation that is under way when such a clock stops, and is answered 2 ms
// later, did not take 0 ms more.
package clock
