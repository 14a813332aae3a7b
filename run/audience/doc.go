// Package audience tells people what a run, a comparison or a sizing does while it is carried out.
//
// A [Reporter] writes the progress to a terminal or a log. [Viewers] are the readers of a run's
// socket in consoles; they may steer the run by hand, which makes it exploratory.
// [Reporter.Publish] publishes a whole comparison or sizing, and [ShowConsole] starts a console
// beside it.
//
// # Out of scope
//
// The format of frames and the sockets, which package run/live has, and the pages of the console.
package audience
