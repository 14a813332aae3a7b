package main

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// frame is an unmasked frame of a WebSocket: a server's.
func frame(fin bool, op byte, payload []byte) string {
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

// hello is a server's first event.
const hello = `{"event":"hello","data":{"connection_id":"chaos","server_version":"11.0.0"},"broadcast":{},"seq":0}`

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

// Lies in the handshake.
var handshakeModes = []*mode{
	{
		name: "upgrade-accept",
		what: "101 with the wrong Sec-WebSocket-Accept",
		upgrade: func(x *exchange) {
			x.say(
				head(
					"101 Switching Protocols",
					"Upgrade: websocket",
					"Connection: Upgrade",
					"Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
				) + frame(
					true,
					1,
					[]byte(hello),
				),
			)
			x.hold()
		},
	},
	{
		name:    "upgrade-200",
		what:    "200 with a page in the place of 101",
		upgrade: func(x *exchange) { x.answer("200 OK", "text/html", "<p>It works!</p>") },
	},
	{
		name: "upgrade-403",
		what: "403",
		upgrade: func(x *exchange) {
			x.json("403 Forbidden", appError(`"api.context.permissions.app_error"`, `"no"`))
		},
	},
	{
		name: "upgrade-500",
		what: "500",
		upgrade: func(x *exchange) {
			x.json("500 Internal Server Error", appError(`"app.chaos.app_error"`, `"no"`))
		},
	},
	{name: "upgrade-redirect", what: "302 to another host", upgrade: func(x *exchange) {
		x.redirect("302 Found", strings.Replace(x.p.trap, "http", "ws", 1)+"/api/v4/websocket")
	}},
	{
		name: "upgrade-extension",
		what: "101 with an extension that nobody asked for",
		upgrade: func(x *exchange) {
			x.say(
				x.switched(
					"Sec-WebSocket-Extensions: permessage-deflate",
				) + frame(
					true,
					1,
					[]byte(hello),
				),
			)
			x.hold()
		},
	},
	{name: "upgrade-silent", what: "101, and then nothing", upgrade: func(x *exchange) {
		x.say(x.switched())
		x.hold()
	}},
	{name: "upgrade-frozen", what: "no answer", upgrade: func(x *exchange) { x.hold() }},
	{name: "upgrade-endless", what: "a header without an end", upgrade: func(x *exchange) {
		x.say("HTTP/1.1 101 Switching Protocols\r\n")
		x.flood(strings.Repeat("X-H: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 1<<10))
	}},
	{
		name:    "upgrade-closed",
		what:    "101, and then the end of the connection",
		upgrade: func(x *exchange) { x.say(x.switched()) },
	},
}

// abuse makes a mode that writes into an open WebSocket once, and then waits for the client's
// reaction.
func abuse(name, what string, frames func() string) *mode {
	return &mode{name: name, what: what, socket: func(x *exchange) {
		x.say(frames())
		x.hold()
	}}
}

// torrent makes a mode that writes the same into an open WebSocket until the client goes.
func torrent(name, what, frames string) *mode {
	return &mode{name: name, what: what, heavy: true, socket: func(x *exchange) { x.flood(frames) }}
}

// Abuses of open WebSockets.
var socketModes = []*mode{
	{name: "ws-large", what: "an event of 5 MB", heavy: true, socket: func(x *exchange) {
		x.say(
			frame(
				true,
				1,
				[]byte(
					`{"event":"posted","data":{"post":"`+strings.Repeat(
						"a",
						5<<20,
					)+`"},"broadcast":{},"seq":1}`,
				),
			),
		)
		x.hold()
	}},
	torrent(
		"ws-large-many",
		"events of 900 kB without a pause",
		frame(
			true,
			1,
			[]byte(
				`{"event":"typing","data":{"a":"`+strings.Repeat(
					"a",
					900<<10,
				)+`"},"broadcast":{},"seq":1}`,
			),
		),
	),
	torrent(
		"ws-fragments",
		"fragments of one message without an end",
		strings.Repeat(frame(false, 0, []byte(strings.Repeat("a", 1000))), 64),
	),
	torrent(
		"ws-fragments-empty",
		"empty fragments of one message without an end",
		strings.Repeat(frame(false, 0, nil), 32<<10),
	),
	torrent(
		"ws-pings",
		"pings of 125 bytes without a pause",
		strings.Repeat(frame(true, 9, []byte(strings.Repeat("p", 125))), 512),
	),
	torrent(
		"ws-pongs",
		"pongs that nobody asked for, without a pause",
		strings.Repeat(frame(true, 10, []byte("p")), 20<<10),
	),
	abuse("ws-masked", "a masked frame", func() string { return "\x81\x85\x01\x02\x03\x04iggmn" }),
	abuse("ws-opcode", "a reserved opcode", func() string { return frame(true, 3, []byte("a")) }),
	abuse("ws-reserved", "a reserved bit", func() string { return "\xc1\x02{}" }),
	abuse("ws-ping-long", "a ping of 126 bytes", func() string {
		return frame(true, 9, make([]byte, 126))
	}),
	abuse("ws-ping-part", "a ping in fragments", func() string {
		return frame(false, 9, []byte("a"))
	}),
	abuse("ws-length", "a frame of 2^62 bytes", func() string {
		return "\x81\x7f\x40\x00\x00\x00\x00\x00\x00\x00{"
	}),
	abuse("ws-length-negative", "a frame of 2^63 bytes", func() string {
		return "\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00{"
	}),
	abuse("ws-continuation", "a continuation of nothing", func() string {
		return frame(true, 0, []byte("{}"))
	}),
	abuse("ws-garbage", "bytes that are no frames", func() string {
		return strings.Repeat("\xff\x13\x37", 999)
	}),
	abuse("ws-no-json", "an event that is no JSON", func() string {
		return frame(true, 1, []byte("{it works!"))
	}),
	abuse("ws-deep", "an event 300,000 levels deep", func() string {
		return frame(
			true,
			1,
			[]byte(
				`{"event":"posted","data":`+strings.Repeat(
					`{"post":`,
					100_000,
				)+strings.Repeat(
					"[",
					100_000,
				),
			),
		)
	}),
	abuse("ws-types", "an event with wrong types", func() string {
		return frame(true, 1, []byte(`{"event":["posted"],"data":7,"broadcast":"","seq":{"a":1}}`))
	}),
	abuse("ws-post", "an event whose message has ids of another form", func() string {
		return frame(
			true,
			1,
			[]byte(
				`{"event":"posted","data":{"channel_type":"O","post":"{\"id\":\"../../x\",\"channel_id\":\"\\u0000\",\"user_id\":7}"},"broadcast":{},"seq":1}`,
			),
		)
	}),
	{
		name: "ws-close-storm",
		what: "closes every WebSocket 20 ms after its hello, in order",
		socket: func(x *exchange) {
			if x.rest(20 * time.Millisecond) {
				x.say(frame(true, 8, []byte{3, 233}))
			}
		},
	},
	{
		name: "ws-reset",
		what: "resets every WebSocket 20 ms after its hello",
		socket: func(x *exchange) {
			if x.rest(20 * time.Millisecond) {
				x.reset()
			}
		},
	},
	abuse("ws-close-code", "a close with a code that must not be sent", func() string {
		return frame(true, 8, []byte{3, 237})
	}),
	{name: "ws-trickle", what: "a frame of 900 kB byte by byte", socket: func(x *exchange) {
		x.say("\x81\x7f\x00\x00\x00\x00\x00\x0d\xbb\xa0")
		x.drip(`{"event":"`)
	}},
}
