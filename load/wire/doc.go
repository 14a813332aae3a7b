// Package wire speaks HTTP/1.1 and WebSocket as one simulated user would, at the least cost per
// user.
//
// # Overview
//
// A [Client] is one user's keep-alive connection to one origin: [Client.Do] writes a request, reads
// the whole response and records when the request was sent, when the first byte came back and when
// the last one did. A [WS] is one user's WebSocket connection. Both sit directly on a net.Conn or a
// tls.Conn; there is no pool of connections and no goroutine of its own after dialing, so a user
// that does nothing costs its connection and little else.
//
// # Clocks
//
// Due is read when Do is called, Sent when the connection is there and the request is about to be
// encoded and written. With a connection at hand both are one reading of the clock; otherwise
// dialing and the TLS handshake lie between them, and nothing else does. Done is the arrival of the
// last byte at this host, by the kernel's stamp of the segment that carried it (Linux,
// SO_TIMESTAMPNS), converted to the monotonic clock; under TLS, of the segment that completed the
// record. A read that returns several segments has the stamp of the newest, so FirstByte may be
// later than the very first byte, and a WebSocket message that shares a read with later ones may
// seem to have arrived with them; no arrival is later than the read. Without a trustworthy stamp
// (another system, a connection that is not a plain socket, a wall clock that was just set, a body
// that ends with the connection) the arrival is the moment the read returned. Response.Kernel and
// [WS.LastRead] report which it was, [Stamps] how often. Decoding counts in neither case. When the
// connection cannot be made, Sent is the moment the attempt began and Done the moment it ended.
// When a request is repeated (below), Sent stays the first attempt's: it was the server that
// closed the connection.
//
// A Config with a clock.Clock that can be stopped makes the limits of operations times of that
// clock: what an operation spends in a stop does not count, and none begins in one. The instants of
// a Response are real ones all the same.
//
// # Repeating a request
//
// A server may close an idle connection at any time. A connection idle for a quarter of a second or
// more is checked before it is used, and a closed one is replaced before anything is written. For
// the remaining race, a request on a reused connection is repeated once, on a new connection, if no
// byte of a response was seen and either
//
//   - the method is GET, HEAD, OPTIONS or TRACE, or the request is marked [Request.Repeatable], and the server
//     closed the connection, or
//   - the write failed at once, with no byte accepted.
//
// Any other POST of which even one byte was accepted is never repeated: the server may have carried
// it out, and a message posted twice would be a lie about the load. It fails in [PhaseHeader] or
// [PhaseWrite].
//
// # HTTP/2
//
// Config.HTTP2 gives a client one HTTP/2 connection with one stream at a time, behind the same Do,
// at three times the cost per request and a goroutine of net/http's transport per connection. It is
// agreed by ALPN; a server that does not choose h2 fails in [PhaseTLS] with [ErrNoHTTP2].
// WebSockets stay HTTP/1.1. FirstByte and Done are the arrival of the frames HEADERS and
// END_STREAM; Response.Header has no order; a request that could not be written whole fails in
// [PhaseHeader]; and a stream that the server refused is repeated for any method, because the
// server declares that it did not process it.
//
// # Memory
//
// Buffers come from pools and are held while an operation is under way and as long as its result
// may be used: until the next Do (or [Client.Release]), or until the next [WS.Read], which holds
// none while it waits.
//
// # Limits
//
// A server may send anything. An answer that exceeds a limit fails with an [*Error], the connection
// is closed, and [Refused] counts it.
//
//	a response's body, decoded    4 MiB    DefaultMaxBody, Request.MaxBody                   ErrBodySize
//	its status line and header    64 KiB, and so much again for all trailers                ErrHeaderSize
//	a WebSocket message           1 MiB                                                     ErrMessageSize
//	its fragments                 1 for each 256 bytes of that limit                         ErrFragments
//	control frames                100 in ten seconds                                         ErrControls
//	all of these together         192 MiB  DefaultBudget, Budget.SetLimit                    ErrBudget
//
// Bytes are counted as they arrive and as they are decompressed, never as a header announces them.
// All connections of a process share one [Budget]: buffers beyond 4 KiB, and the memory of gzip,
// are taken out of it before they are allocated and come back when the buffers do. So an answer
// that fits into 4 KiB always finds room. Garbage that is not yet collected is not in the budget,
// nor are the 4 KiB of each answer under way, sockets in the kernel, and the buffers of the HTTP/2
// transport (4 MiB for each connection at most).
//
// # Out of scope
//
// Redirects, cookies, caches, proxies by environment, WebSocket extensions, the meaning of a status
// code for a measurement, and every API built on top. It follows RFC 9110, RFC 9112 and RFC 6455
// strictly where laxness would hide a broken server: folded header lines, conflicting lengths,
// masked server frames and the like are errors.
package wire
