// Package refnull is a server that does almost nothing, for measuring the client in front of it.
//
// # Overview
//
// It answers any request with a fixed body, at about the cost of two system calls, and enough of a
// chat server's API v4 for simulated users to log in, read, post and listen: small constant answers
// whose ids match the request. Its only state are the names behind the ids that it created. The
// cost of a generator, the number of users that a host can drive and the accuracy of a clock are
// all measured against it, in a process of its own.
//
// # Paths
//
//	/api/v4/...      answers from a table, see api.txt; a path that is not in it gets an empty object
//	                 (GET) or {"status":"OK"} and is counted in /refnull/stats
//	/api/v4/websocket  a WebSocket: hello, replies to every action, pings, and posted events at Config.Push
//	/refnull/stats   counts, unknown paths, and quantiles of the times that delayed requests took; ?reset clears them
//	/refnull/stall   ?for=2s&in=10s: stop answering for that long, once, after that time
//	everything else  200 with Config.Body bytes
//
// # Time
//
// The header X-Refnull-Delay (a Go duration, at most one minute) or Config.Delay keeps an answer
// back. The header X-Refnull-Took of the answer is then the number of nanoseconds between the
// return of the read that completed the request and the moment before the write, by this process's
// own clock; /refnull/stats has their distribution. A stall counts in it.
//
// # Out of scope
//
// Anything that lasts, and anything that passes from one user to another: NullServer in its client
// configuration says so to those who count deliveries. The events of Config.Push are of nobody's
// posts. Further: posts are not kept, passwords not checked, tokens are user ids. It reads HTTP/1.1
// requests with a Content-Length or without a body, and nothing else (chunked bodies get 411). It
// shares no code with wire: two readings of one protocol do not share a mistake.
package refnull
