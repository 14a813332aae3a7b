package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// taunt holds control sequences of a terminal, and a line that looks like the program's own.
const taunt = "\x1b]0;owned\x07\x1b[2J\x1b[31m\r\n" + forged + "\n\u009b31m\u202e\u2028\x7f"

// heard is the content of the request: the session's token, and the body with its password.
func (x *exchange) heard() string {
	return x.req.Header.Get("Authorization") + " " + string(x.body) + " " + x.password()
}

// line is the content in one line, for a header.
func (x *exchange) line() string {
	return strings.NewReplacer("\r", "", "\n", "").Replace(x.heard())
}

// password is the one in the request's body, decoded; "" if it has none.
func (x *exchange) password() string {
	var v struct {
		Password string `json:"password"`
	}
	if json.Unmarshal(x.body, &v) != nil {
		return ""
	}
	return v.Password
}

// token is the session's.
func (x *exchange) token() string {
	return strings.TrimPrefix(x.req.Header.Get("Authorization"), "Bearer ")
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
func (x *exchange) secretOf() string { return cmp.Or(x.password(), x.token()) }

// accuses makes a mode that answers with an error whose id and message are of the request.
func accuses(name, what, status string, texts func(x *exchange) (id, message string)) *mode {
	return answers(name, what, func(x *exchange) { x.json(status, appError(texts(x))) })
}

// Echoes: the request's content comes back in texts that people read.
var echoModes = []*mode{
	accuses("echo-id", "500, and the error's id is the request's secrets",
		"500 Internal Server Error", func(x *exchange) (id, message string) {
			return encoded(x.secretOf()), encoded(x.heard())
		}),
	accuses("echo-taunt",
		"500, and the error's id holds escape sequences, line feeds and a forged line",
		"500 Internal Server Error", func(*exchange) (id, message string) {
			return encoded(taunt), encoded(taunt)
		}),
	accuses("echo-cut", "400, and the secrets lie where a text is cut off",
		"400 Bad Request", func(x *exchange) (id, message string) {
			before := strings.Repeat("x", int(80+x.number%110))
			return encoded(before + x.secretOf()), encoded(x.heard())
		}),
	accuses("echo-spelled", "500, and the secrets in the error's id are spelled in escapes",
		"500 Internal Server Error", func(x *exchange) (id, message string) {
			return spelled(x.secretOf()), spelled(x.heard())
		}),
	accuses("echo-403", "403 with secrets and escape sequences in the error's id",
		"403 Forbidden", func(x *exchange) (id, message string) {
			return encoded(x.secretOf() + taunt), encoded(x.heard() + taunt)
		}),
	answers("echo-reason",
		"503 with secrets in the reason phrase and in fields of the header",
		func(x *exchange) { x.reveal("", "") }),
	answers("echo-header",
		"503 with secrets and escape sequences in the reason phrase and in fields of the header",
		func(x *exchange) { x.reveal("\x1b[31m\x1b]0;owned\x07", "\x1b[2J") }),
	answers("echo-body", "201 with the secrets in the place of every field", func(x *exchange) {
		s := encoded(x.secretOf() + taunt)
		x.json("201 Created", strings.ReplaceAll(
			`{"id":S,"user_id":S,"username":S,"roles":S,"token":S,"team_id":S,"channel_id":S,"name":S,"subject":S,"from":S,"Version":S}`,
			":S", ":"+s))
	}),
	answers("echo-raw", "200 with the request itself as the body, after escape sequences",
		func(x *exchange) { x.json("200 OK", taunt+x.heard()) }),
	answers("echo-page", "a challenge page that shows the request", func(x *exchange) {
		x.answer("403 Forbidden", "text/html",
			"<title>Just a moment</title>"+html.EscapeString(x.heard())+taunt)
	}),
	moves("echo-redirect", "302 to another host with the token in the address", "302 Found",
		func(x *exchange) string { return x.p.trap + "/?token=" + x.secretOf() }),
	abuse("echo-close", "closes the WebSocket with secrets and escape sequences as the reason",
		func(x *exchange) string {
			return frame(true, 8, "\x03\xe9\x1b[31m\n"+forged+"\n"+x.token())
		}),
	abuse("echo-event",
		"an event whose name and fields are secrets and escape sequences",
		func(x *exchange) string {
			s := encoded(taunt + x.token())
			return event(`{"event":"posted","data":{"post":` + s + `,"channel_type":` + s +
				`},"broadcast":{},"seq":` + s + `}`)
		}),
	refuses("echo-upgrade", "refuses the WebSocket with secrets in reason, header and body",
		func(x *exchange) {
			x.answer("403 "+x.line(), "application/json",
				appError(encoded(x.heard()+taunt), encoded(x.heard())), "X-Request-Id: "+x.line())
		}),
}

// reveal answers with secrets in the reason phrase and in the header, after a text, and with an end
// of the type.
func (x *exchange) reveal(before, end string) {
	said := before + x.line()
	x.answer("503 "+said, "text/plain"+end, said, "Server: "+said, "X-Request-Id: "+said)
}
