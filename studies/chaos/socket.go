package main

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// frame is an unmasked frame of a WebSocket: a server's.
func frame(fin bool, op byte, payload string) string {
	b := []byte{op}
	if fin {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return string(append(b, payload...))
}

// event is a frame of text.
func event(text string) string { return frame(true, 1, text) }

// hello is a server's first event.
var hello = event(`{"event":"hello","data":{"connection_id":"chaos","server_version":"11.0.0"},"broadcast":{},"seq":0}`)

// switched is a right answer to the handshake, with further fields.
func (x *exchange) switched(fields ...string) string {
	sum := sha1.Sum(
		[]byte(x.req.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"),
	)
	return head(
		"101 Switching Protocols",
		append([]string{"Upgrade: websocket", "Connection: Upgrade",
			"Sec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:])}, fields...)...)
}

// refuses makes a mode that answers the handshake of a WebSocket.
func refuses(name, what string, do func(x *exchange)) *mode {
	return &mode{name: name, what: what, upgrade: do}
}

// Lies in the handshake.
var handshakeModes = []*mode{
	refuses("upgrade-accept", "101 with the wrong Sec-WebSocket-Accept", func(x *exchange) {
		x.say(head("101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
			"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=") + hello)
		x.hold()
	}),
	refuses("upgrade-200", "200 with a page in the place of 101", func(x *exchange) {
		x.answer("200 OK", "text/html", "<p>It works!</p>")
	}),
	refuses("upgrade-403", "403", func(x *exchange) {
		x.json("403 Forbidden", appError(`"api.context.permissions.app_error"`, `"no"`))
	}),
	refuses("upgrade-500", "500", func(x *exchange) {
		x.json("500 Internal Server Error", appError(`"app.chaos.app_error"`, `"no"`))
	}),
	refuses("upgrade-redirect", "302 to another host", func(x *exchange) {
		x.redirect("302 Found", strings.Replace(x.p.trap, "http", "ws", 1)+"/api/v4/websocket")
	}),
	refuses("upgrade-extension", "101 with an extension that nobody asked for", func(x *exchange) {
		x.say(x.switched("Sec-WebSocket-Extensions: permessage-deflate") + hello)
		x.hold()
	}),
	refuses("upgrade-silent", "101, and then nothing", func(x *exchange) {
		x.say(x.switched())
		x.hold()
	}),
	refuses("upgrade-frozen", "no answer", (*exchange).hold),
	refuses("upgrade-endless", "a header without an end", func(x *exchange) {
		x.say("HTTP/1.1 101 Switching Protocols\r\n")
		x.flood(strings.Repeat("X-H: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 1<<10))
	}),
	refuses("upgrade-closed", "101, and then the end of the connection",
		func(x *exchange) { x.say(x.switched()) }),
}

// breaks makes a mode that writes into an open WebSocket.
func breaks(name, what string, do func(x *exchange)) *mode {
	return &mode{name: name, what: what, socket: do}
}

// abuse is breaks for one that writes once, and then waits for the client's reaction.
func abuse(name, what string, frames func(x *exchange) string) *mode {
	return breaks(name, what, func(x *exchange) {
		x.say(frames(x))
		x.hold()
	})
}

// sends is abuse with the same frames each time.
func sends(name, what, frames string) *mode {
	return abuse(name, what, func(*exchange) string { return frames })
}

// torrent makes a mode that writes the same into an open WebSocket until the client goes.
func torrent(name, what, frames string, times int) *mode {
	return weighty(breaks(name, what, func(x *exchange) { x.flood(strings.Repeat(frames, times)) }))
}

// soon makes a mode that does something 20 ms after the hello.
func soon(name, what string, do func(x *exchange)) *mode {
	return breaks(name, what, func(x *exchange) {
		if x.rest(20 * time.Millisecond) {
			do(x)
		}
	})
}

// Abuses of open WebSockets.
var socketModes = []*mode{
	weighty(abuse("ws-large", "an event of 5 MB", func(*exchange) string {
		return event(`{"event":"posted","data":{"post":"` + strings.Repeat("a", 5<<20) +
			`"},"broadcast":{},"seq":1}`)
	})),
	torrent("ws-large-many", "events of 900 kB without a pause", event(
		`{"event":"typing","data":{"a":"`+strings.Repeat("a", 900<<10)+`"},"broadcast":{},"seq":1}`), 1),
	torrent("ws-fragments", "fragments of one message without an end",
		frame(false, 0, strings.Repeat("a", 1000)), 64),
	torrent("ws-fragments-empty", "empty fragments of one message without an end",
		frame(false, 0, ""), 32<<10),
	torrent("ws-pings", "pings of 125 bytes without a pause",
		frame(true, 9, strings.Repeat("p", 125)), 512),
	torrent("ws-pongs", "pongs that nobody asked for, without a pause", frame(true, 10, "p"), 20<<10),
	sends("ws-masked", "a masked frame", "\x81\x85\x01\x02\x03\x04iggmn"),
	sends("ws-opcode", "a reserved opcode", frame(true, 3, "a")),
	sends("ws-reserved", "a reserved bit", "\xc1\x02{}"),
	sends("ws-ping-long", "a ping of 126 bytes", frame(true, 9, strings.Repeat("\x00", 126))),
	sends("ws-ping-part", "a ping in fragments", frame(false, 9, "a")),
	sends("ws-length", "a frame of 2^62 bytes", "\x81\x7f\x40\x00\x00\x00\x00\x00\x00\x00{"),
	sends("ws-length-negative", "a frame of 2^63 bytes",
		"\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00{"),
	sends("ws-continuation", "a continuation of nothing", frame(true, 0, "{}")),
	sends("ws-garbage", "bytes that are no frames", strings.Repeat("\xff\x13\x37", 999)),
	sends("ws-no-json", "an event that is no JSON", event("{it works!")),
	abuse("ws-deep", "an event 300,000 levels deep", func(*exchange) string {
		return event(`{"event":"posted","data":` + strings.Repeat(`{"post":`, 100_000) +
			strings.Repeat("[", 100_000))
	}),
	sends("ws-types", "an event with wrong types",
		event(`{"event":["posted"],"data":7,"broadcast":"","seq":{"a":1}}`)),
	sends("ws-post", "an event whose message has ids of another form", event(
		`{"event":"posted","data":{"channel_type":"O","post":"{\"id\":\"../../x\",\"channel_id\":\"\\u0000\",\"user_id\":7}"},"broadcast":{},"seq":1}`)),
	soon("ws-close-storm", "closes every WebSocket 20 ms after its hello, in order",
		func(x *exchange) { x.say(frame(true, 8, "\x03\xe9")) }),
	soon("ws-reset", "resets every WebSocket 20 ms after its hello", (*exchange).reset),
	sends("ws-close-code", "a close with a code that must not be sent", frame(true, 8, "\x03\xed")),
	breaks("ws-trickle", "a frame of 900 kB byte by byte", func(x *exchange) {
		x.say("\x81\x7f\x00\x00\x00\x00\x00\x0d\xbb\xa0")
		x.drip(`{"event":"`)
	}),
}
