// Package engine runs simulated users in this process, one goroutine each.
//
// The engine owns time. After the last answer of an action has arrived a user thinks; the end of
// that pause is the next action's Intended. The time between it and the moment at which the user's
// goroutine runs again is recorded as the lag of the action; the time between it and the moment at
// which the first request is ready is the lag of that operation. A later operation of the action is
// intended when the answer before it arrived, and has its lag too ([workload.User.Done]). Lag is
// the generator's own lateness; it never enters a latency.
//
// Users are numbered from 0. The n active users are always those with the numbers below n, and
// behaviors are stratified over the numbers, so that any n has the plan's mix, and a number that
// leaves and comes back is the same user with the same streams of chance.
//
// # Arrivals
//
// Beside the users, [Arrivals] come by a schedule. Their Intended is the schedule's moment. The
// time that they wait for a place in flight, from being noticed until the server that takes them
// has its last answer, is wait. A late notice is lag, and so is the time that the server needed to
// read and decode its last answer.
//
// # Timers
//
// Each sleeping user is a goroutine that waits for the wheel of its core ([clock.Wheel]), which
// fires all pauses that end in one millisecond together where more than two do. Few wake-ups a
// second (9,000 users with pauses of 20 s make 450, 2 ms apart) are joined by nothing, and are
// exact to the timer of the operating system.
//
// The engine is independent of servers and plan files: behaviors come from the caller.
package engine
