// Package engine runs simulated users in this process, one goroutine each.
//
// The engine owns time. After an action a user thinks; the end of that pause is the next action's Intended, the
// moment at which the user's goroutine runs again is its Due. The difference is the generator's own lateness and is
// recorded as lag; it never enters a latency.
//
// Users are numbered from 0. The n active users are always those with the numbers below n, and behaviors are
// stratified over the numbers, so that any n has the plan's mix, and a number that leaves and comes back is the
// same user with the same streams of chance.
//
// The engine knows no server and no plan file: behaviors come from the caller.
package engine
