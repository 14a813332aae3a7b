// Package capacity searches for the number of users that a target supports.
//
// The search is a pure step function: a caller measures, passes its readings to [Search.Step], and
// gets the number of users for the next step. The package reads no clock, starts no goroutine and
// knows neither users nor targets; it does not know the source of a reading or the meaning of its
// rule. So the same search drives a real server, a fleet of agents and a simulated server in a
// test, and the same observations give the same answer.
//
// # Phases
//
// In "ramp" the users grow in proportion to themselves, never by doubling: a chat server must not
// be pushed far beyond its capacity. A violation pauses the growth, and one that lasts for a whole
// window ends the ramp: a window is the time for which one bad moment stays visible in a trailing
// reading, so anything longer is fresh evidence. Then the search backs off, geometrically until a
// window is healthy, and "track" moves up after a healthy window and down after a violated one, in
// proportional steps that halve at a reversal and grow again on a long march. At the end "steady"
// holds the estimate, since the capacity is defined at constant users, and "overload" returns to
// the level that ended the ramp: an overload that does not last is of a server that has changed.
//
// # The answer
//
// A [Result] is never a bare number. It is an Estimate with its 95 % interval, or AtLeast when
// something other than the target ended the search, or Invalid when a signal was missing.
// docs/method/capacity.md has the formulas, and the bias and coverage of both estimators on
// simulated servers.
//
// # Missing data
//
// A reading that is absent, not a number or infinite is missing: it is neither healthy nor
// violated, it pauses the search, and after four windows it makes the result Invalid. A reading
// with fewer operations than its rule requires is undecided: it does not stop the search, and the
// result warns of a rule that was never decided.
package capacity
