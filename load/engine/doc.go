// Package engine runs simulated users in this process, one goroutine each.
//
// The engine owns time. After the last answer of an action has arrived a user thinks; the end of that pause is the
// next action's Intended. The time between it and the moment at which the user's goroutine runs again is recorded as
// the lag of the action; the time between it and the moment at which the first request is ready is the lag of that
// operation. A later operation of the action is intended when the answer before it arrived, and has its lag too
// ([workload.User.Done]). Lag is the generator's own lateness; it never enters a latency.
//
// Users are numbered from 0. The n active users are always those with the numbers below n, and behaviors are
// stratified over the numbers, so that any n has the plan's mix, and a number that leaves and comes back is the
// same user with the same streams of chance.
//
// # Arrivals
//
// Beside the users, [Arrivals] come by a schedule. Their Intended is the schedule's moment. The time that they wait
// for a place in flight, from being noticed until the server that takes them has its last answer, is wait. A late
// notice is lag, and so is the time that the server needed to read and decode its last answer.
//
// # Timers
//
// Each sleeping user is a goroutine on a timer of Go's. A wheel of coarser ticks was weighed: at 9,000 users with
// pauses of 20 s there are 450 wake-ups per second, 2 ms apart, so ticks of a millisecond would join nearly none, and
// ticks that join many would be late by more than the gate on lag allows. When wake-ups are many, Go's timers are
// joined anyway: BenchmarkSleepers counts 1.3 context switches per wake-up at 500 per second, 0.2 at 4,500 and 0.02
// at 45,000.
//
// The engine is independent of servers and plan files: behaviors come from the caller.
package engine
