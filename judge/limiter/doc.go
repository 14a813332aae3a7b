// Package limiter names what stopped a run, with the evidence.
//
// [Indicators] lists the signals that can show a resource of a system at its limit. [Diagnose]
// compares their values near the capacity with those at lower loads and returns a [Limiter]: a
// resource whose saturation grows with the load and passes its limit, or [LimitUnknown] if none
// qualifies. docs/limiter.md has the rule and the measured rate of right answers.
//
// The package reads no clock and no file. It does not know where the values come from.
package limiter
