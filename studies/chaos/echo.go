package main

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// taunt holds control sequences of a terminal, and a line that looks like the program's own.
const taunt = "\x1b]0;owned\x07\x1b[2J\x1b[31m\r\n" + forged + "\n\u009b31m\u202e\u2028\x7f"

// heard is the content of the request: the session's token, and the body with its password.
func (x *exchange) heard() string {
	return x.req.Header.Get(
		"Authorization",
	) + " " + string(
		x.body,
	) + " " + strings.Join(
		x.passwords(),
		" ",
	)
}

// line is the content in one line, for a header.
func (x *exchange) line() string {
	return strings.NewReplacer("\r", "", "\n", "").Replace(x.heard())
}

// passwords are the strings of the request's body that are passwords, decoded.
func (x *exchange) passwords() (list []string) {
	var v struct {
		Password string `json:"password"`
	}
	if json.Unmarshal(x.body, &v) == nil && v.Password != "" {
		list = append(list, v.Password)
	}
	return list
}

// spelled writes a text as a JSON string in which every character is escaped.
func spelled(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	b.WriteByte('"')
	return b.String()
}

func encoded(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// appError is an error in the format of the chat server.
func appError(id, message string) string {
	return `{"id":` + id + `,"message":` + message + `,"detailed_error":` + message + `,"request_id":` + id + `,"status_code":500,"error":` + message + `}`
}

// secretOf is the request's most telling secret: its password, or else its token.
func (x *exchange) secretOf() string {
	if p := x.passwords(); len(p) > 0 {
		return p[0]
	}
	return strings.TrimPrefix(x.req.Header.Get("Authorization"), "Bearer ")
}

// Echoes: the request's content comes back in texts that people read.
var echoModes = []*mode{
	{
		name: "echo-id",
		what: "500, and the error's id is the request's secrets",
		answer: func(x *exchange) {
			x.json("500 Internal Server Error", appError(encoded(x.secretOf()), encoded(x.heard())))
		},
	},
	{
		name: "echo-taunt",
		what: "500, and the error's id holds escape sequences, line feeds and a forged line",
		answer: func(x *exchange) {
			x.json("500 Internal Server Error", appError(encoded(taunt), encoded(taunt)))
		},
	},
	{
		name: "echo-cut",
		what: "400, and the secrets lie where a text is cut off",
		answer: func(x *exchange) {
			x.json("400 Bad Request", appError(
				encoded(strings.Repeat("x", int(80+x.number%110))+x.secretOf()),
				encoded(x.heard()),
			))
		},
	},
	{
		name: "echo-spelled",
		what: "500, and the secrets in the error's id are spelled in escapes",
		answer: func(x *exchange) {
			x.json("500 Internal Server Error", appError(spelled(x.secretOf()), spelled(x.heard())))
		},
	},
	{
		name: "echo-403",
		what: "403 with secrets and escape sequences in the error's id",
		answer: func(x *exchange) {
			x.json("403 Forbidden", appError(encoded(x.secretOf()+taunt), encoded(x.heard()+taunt)))
		},
	},
	{
		name: "echo-reason",
		what: "503 with secrets in the reason phrase and in fields of the header",
		answer: func(x *exchange) {
			said := x.line()
			x.answer("503 "+said, "text/plain", said, "Server: "+said, "X-Request-Id: "+said)
		},
	},
	{
		name: "echo-header",
		what: "503 with secrets and escape sequences in the reason phrase and in fields of the header",
		answer: func(x *exchange) {
			said := "\x1b[31m\x1b]0;owned\x07" + x.line()
			x.answer("503 "+said, "text/plain\x1b[2J", said, "Server: "+said, "X-Request-Id: "+said)
		},
	},
	{
		name: "echo-body",
		what: "201 with the secrets in the place of every field",
		answer: func(x *exchange) {
			s := encoded(x.secretOf() + taunt)
			x.json(
				"201 Created",
				`{"id":`+s+`,"user_id":`+s+`,"username":`+s+`,"roles":`+s+`,"token":`+s+`,"team_id":`+s+`,"channel_id":`+s+`,"name":`+s+`,"subject":`+s+`,"from":`+s+`,"Version":`+s+`}`,
			)
		},
	},
	{
		name: "echo-raw",
		what: "200 with the request itself as the body, after escape sequences",
		answer: func(x *exchange) {
			x.json("200 OK", taunt+x.heard())
		},
	},
	{name: "echo-page", what: "a challenge page that shows the request", answer: func(x *exchange) {
		x.answer(
			"403 Forbidden",
			"text/html",
			"<title>Just a moment</title>"+html.EscapeString(x.heard())+taunt,
		)
	}},
	{
		name: "echo-redirect",
		what: "302 to another host with the token in the address",
		answer: func(x *exchange) {
			x.redirect("302 Found", x.p.trap+"/?token="+x.secretOf())
		},
	},
	{
		name:    "echo-close",
		what:    "closes the WebSocket with secrets and escape sequences as the reason",
		upgrade: nil,
		socket: func(x *exchange) {
			reason := "\x1b[31m\n" + forged + "\n" + strings.TrimPrefix(
				x.req.Header.Get("Authorization"),
				"Bearer ",
			)
			x.say(frame(true, 8, append([]byte{3, 233}, reason...)))
			x.hold()
		},
	},
	{
		name: "echo-event",
		what: "an event whose name and fields are secrets and escape sequences",
		socket: func(x *exchange) {
			s := encoded(taunt + strings.TrimPrefix(x.req.Header.Get("Authorization"), "Bearer "))
			x.say(
				frame(
					true,
					1,
					[]byte(
						`{"event":"posted","data":{"post":`+s+`,"channel_type":`+s+`},"broadcast":{},"seq":`+s+`}`,
					),
				),
			)
			x.hold()
		},
	},
	{
		name: "echo-upgrade",
		what: "refuses the WebSocket with secrets in reason, header and body",
		upgrade: func(x *exchange) {
			x.answer(
				"403 "+x.line(),
				"application/json",
				appError(encoded(x.heard()+taunt), encoded(x.heard())),
				"X-Request-Id: "+x.line(),
			)
		},
	},
}
