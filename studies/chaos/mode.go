package main

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// A mode is one way in which a target misbehaves. Of its functions, those that it has are its
// faults.
type mode struct {
	name    string
	what    string                     // it does, for the table
	answer  func(x *exchange)          // answers a request in the place of the server
	upgrade func(x *exchange)          // answers the handshake of a WebSocket
	socket  func(x *exchange)          // writes into a WebSocket that is open
	conn    func(p *proxy, c net.Conn) // takes a connection before any bytes are sent
	cert    string                     // names the certificate that is shown
	// answer is of requests alone: the handshakes of WebSockets pass
	sockets bool
	// heavy moves many bytes: fewer of its kind run at a time, and users pause for longer.
	heavy bool
}

// modes are all modes but the mutations, by kind.
func modes() []*mode {
	var all []*mode
	for _, list := range [][]*mode{slowModes, endlessModes, truncatedModes, lyingModes, refusingModes, echoModes, bombModes, connectionModes, tlsModes, handshakeModes, socketModes} {
		all = append(all, list...)
	}
	return all
}

// answers makes a mode that answers requests in the place of the server.
func answers(name, what string, do func(x *exchange)) *mode {
	return &mode{name: name, what: what, answer: do}
}

// weighs is answers for one that moves many bytes.
func weighs(name, what string, do func(x *exchange)) *mode {
	return weighty(answers(name, what, do))
}

// weighty is a mode that moves many bytes.
func weighty(m *mode) *mode {
	m.heavy = true
	return m
}

// says makes a mode that writes a text in the place of an answer, and closes the connection.
func says(name, what, text string) *mode {
	return answers(name, what, func(x *exchange) { x.say(text) })
}

// stays is says for one that keeps the connection open.
func stays(name, what, text string) *mode {
	return answers(name, what, func(x *exchange) {
		x.say(text)
		x.hold()
	})
}

// gives makes a mode that answers with a status and JSON.
func gives(name, what, status, body string) *mode {
	return answers(name, what, func(x *exchange) { x.json(status, body) })
}

// shows makes a mode that answers with a status and a text of another type.
func shows(name, what, status, kind, body string, fields ...string) *mode {
	return answers(name, what, func(x *exchange) { x.answer(status, kind, body, fields...) })
}

// floods makes a mode that writes the beginning of an answer, and then the same without an end.
func floods(name, what, begin, piece string, times int) *mode {
	return weighs(name, what, func(x *exchange) {
		x.say(begin)
		x.flood(strings.Repeat(piece, times))
	})
}

// moves makes a mode that redirects to another place.
func moves(name, what, status string, to func(x *exchange) string) *mode {
	return answers(name, what, func(x *exchange) { x.redirect(status, to(x)) })
}

// Slow and frozen.
var slowModes = []*mode{
	{name: "slow", sockets: true, what: "answers 60 ms late", answer: func(x *exchange) {
		if x.rest(60 * time.Millisecond) {
			x.pass(x.real())
		}
	}},
	{
		name:    "late",
		sockets: true,
		what:    "answers after 8 s, when nobody waits any more",
		answer: func(x *exchange) {
			a := x.real()
			if x.rest(8 * time.Second) {
				x.pass(a)
			}
		},
	},
	answers("drip", "sends a body of 100 kB byte by byte, 20 a second", func(x *exchange) {
		x.say(head("200 OK", ofJSON, "Content-Length: 100000"))
		x.drip(`{"id":"`)
	}),
	answers("drip-header", "sends a header without an end byte by byte, 20 a second",
		func(x *exchange) { x.drip("HTTP/1.1 200 OK\r\nX-Filler: ") }),
	answers("frozen", "accepts, reads, and never answers", (*exchange).hold),
	stays("frozen-body", "sends a header and half a body, then nothing",
		head("201 Created", ofJSON, "Content-Length: 400")+`{"id":"`),
}

// drip writes a text and then filler, a byte at a time.
func (x *exchange) drip(text string) {
	for i := 0; ; i++ {
		c := "a"
		if i < len(text) {
			c = text[i : i+1]
		}
		if !x.say(c) || !x.rest(50*time.Millisecond) {
			return
		}
	}
}

// flood writes the same piece of about 64 kB until the client is gone: up to 64 MB a second, which
// is beyond any limit at once and leaves something of the host to the other rows.
func (x *exchange) flood(piece string) {
	b := []byte(piece)
	for x.send(b) && x.rest(time.Millisecond) {
	}
}

// Fields of answers.
const (
	ofJSON  = "Content-Type: application/json"
	chunked = "Transfer-Encoding: chunked"
)

// Endless.
var endlessModes = []*mode{
	floods("endless-body", "sends a body without an end, of no announced length",
		head("200 OK", ofJSON, "Connection: close")+`{"id":"`, "a", 64<<10),
	floods("endless-chunks", "sends chunks of 64 kB without an end",
		head("200 OK", ofJSON, chunked), "10000\r\n"+strings.Repeat(" ", 0x10000)+"\r\n", 1),
	floods("endless-tiny-chunks", "sends chunks of one byte without an end",
		head("200 OK", ofJSON, chunked), "1\r\n \r\n", 10<<10),
	floods("endless-extension", "sends a chunk whose extension has no end",
		head("200 OK", ofJSON, chunked)+"2;x=", "a", 64<<10),
	floods("endless-trailer", "sends trailer lines without an end",
		head("200 OK", ofJSON, chunked)+"2\r\n{}\r\n0\r\n",
		"X-T: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 2<<10),
	floods("endless-header", "sends header lines without an end",
		"HTTP/1.1 200 OK\r\n", "X-H: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 2<<10),
	floods("endless-100", "says 100 Continue without an end",
		"", "HTTP/1.1 100 Continue\r\n\r\n", 2<<10),
	answers("endless-pages", "answers every list of members with a full page of new ones",
		func(x *exchange) {
			if x.req.Method != "GET" || !strings.HasSuffix(x.req.URL.Path, "/members") {
				x.pass(x.real())
				return
			}
			var list []string
			for range 200 {
				list = append(list, fmt.Sprintf(
					`{"team_id":"%026[1]d","channel_id":"%026[1]d","user_id":"%[2]s","roles":""}`,
					1, randomName()))
			}
			x.pass(answer{
				status: 200,
				header: http.Header{"Content-Type": {"application/json"}},
				body:   []byte("[" + strings.Join(list, ",") + "]"),
			})
		}),
}

// Truncated.
var truncatedModes = []*mode{
	says("truncated-header", "closes the connection within the header",
		"HTTP/1.1 201 Created\r\nContent-Ty"),
	says("truncated-body", "closes the connection within a body of announced length", halfABody),
	says("truncated-chunks", "closes the connection within a chunk",
		head("201 Created", ofJSON, chunked)+"100\r\n"+`{"id":"`),
	answers("truncated-gzip", "announces the right length of half a gzip stream",
		func(x *exchange) {
			z := zipped([]byte(strings.Repeat(`{"id":"`+randomName()+`"}`, 100)))
			x.large("201 Created", "application/json", z[:len(z)/2], "Content-Encoding: gzip")
		}),
}

// halfABody is the beginning of an answer with a body of 4,000 bytes.
var halfABody = head("201 Created", ofJSON, "Content-Length: 4000") + `{"id":"`

var (
	idField   = regexp.MustCompile(`"id":"[^"]*"`)
	userField = regexp.MustCompile(`"user_id":"[^"]*"`)
)

// Lies.
var lyingModes = []*mode{
	gives("lying-empty", "200 with nothing", "200 OK", ""),
	gives("lying-object", "200 with {}", "200 OK", "{}"),
	gives("lying-ok", `200 with {"status":"OK"} in the place of what was made`,
		"200 OK", `{"status":"OK"}`),
	gives("lying-created", `201 with {"status":"OK"} in the place of what was made`,
		"201 Created", `{"status":"OK"}`),
	gives("lying-null", "200 with null", "201 Created", "null"),
	gives("lying-array", "a list in the place of an object", "201 Created", `[{"id":1}]`),
	gives("lying-types", "numbers, lists and objects in the place of texts", "201 Created",
		`{"id":{"a":[1e999]},"user_id":[],"channel_id":7,"token":true,"roles":{},"username":null,"name":0,"from":[],"subject":{}}`),
	shows("lying-html", "200 with a page of HTML", "200 OK", "text/html",
		"<!doctype html><title>Welcome</title><p>It works!</p>"),
	{
		name:    "lying-ids",
		sockets: true,
		what:    "ids of another form: too long, with slashes, dots and line feeds",
		answer: func(x *exchange) {
			a := x.real()
			bad := []byte(`id":"../../` + strings.Repeat("z", 40) + `\r\nX: y"`)
			a.body = idField.ReplaceAll(a.body, append([]byte(`"`), bad...))
			a.body = userField.ReplaceAll(a.body, append([]byte(`"user_`), bad...))
			if x.p.script.load == feed {
				a.body = []byte(
					`{"id":-7,"name":"","from":"/participant/../7","to":"","subject":""}`,
				)
			}
			x.pass(a)
		},
	},
	{
		name:    "lying-invented",
		sockets: true,
		what:    "does nothing, and answers with an id of the right form",
		answer: func(x *exchange) {
			if x.req.Method != "POST" || x.req.URL.Path != "/api/v4/posts" {
				x.pass(x.real())
				return
			}
			body := strings.TrimPrefix(string(x.body), "{")
			x.json(
				"201 Created",
				`{"id":"`+randomName()+`","user_id":"`+randomName()+`","create_at":1700000000000,"update_at":1700000000000,"delete_at":0,`+body,
			)
		},
	},
	answers("lying-short", "a content length of 5 before a longer body, on a connection that stays",
		func(x *exchange) {
			x.say(head("201 Created", ofJSON, "Content-Length: 5") + `{"id":"` + randomName() + `"}`)
			x.hold()
		}),
	says("lying-lengths", "two content lengths that differ",
		head("201 Created", ofJSON, "Content-Length: 2", "Content-Length: 400")+"{}"),
	says("lying-negative", "a content length of -1",
		head("201 Created", ofJSON, "Content-Length: -1")+"{}"),
	says("lying-overflow", "a content length of 2^64",
		head("201 Created", ofJSON, "Content-Length: 18446744073709551616")+"{}"),
	says("lying-chunk-size", "a chunk size of 2^64 + 2",
		head("201 Created", ofJSON, chunked)+"10000000000000002\r\n{}\r\n0\r\n\r\n"),
	says("lying-ssh", "an SSH banner in the place of HTTP", "SSH-2.0-OpenSSH_9.2p1\r\n"),
	says("lying-status", "a status that is no number", head("OK 200", "Content-Length: 2")+"{}"),
	says("lying-204", "204, so no content, in the place of what was made",
		head("204 No Content", "Connection: close")),
}

// missingPost is the chat server's answer for a message that does not exist.
const missingPost = `{"id":"app.post.get.app_error","message":"Unable to get the post.","status_code":404}`

// Refusals.
var refusingModes = []*mode{
	gives("failing-500", "500 for everything",
		"500 Internal Server Error", `{"id":"app.chaos.app_error","message":"no"}`),
	shows("failing-503", "503 with an empty body for everything",
		"503 Service Unavailable", "text/plain", ""),
	shows("shedding-429", "429 for everything",
		"429 Too Many Requests", "text/plain", "slow down", "Retry-After: 3600"),
	shows("challenging-403", "a proxy's challenge page for everything",
		"403 Forbidden", "text/html",
		"<!doctype html><title>Just a moment...</title><script src=/cdn-cgi/challenge-platform/x></script>"),
	gives("unauthorized-401", "401 for everything",
		"401 Unauthorized", `{"id":"api.context.session_expired.app_error","message":"no"}`),
	{
		name:    "missing-404",
		sockets: true,
		what:    "404 for every message, and empty lists",
		answer: func(x *exchange) {
			if strings.HasSuffix(x.req.URL.Path, "/posts") {
				x.json("200 OK", `{"order":[],"posts":{}}`)
				return
			}
			if strings.HasPrefix(x.req.URL.Path, "/api/v4/posts/") {
				x.json("404 Not Found", missingPost)
				return
			}
			x.pass(x.real())
		},
	},
	gives("empty-lists", "an empty list for everything that is read", "200 OK", "[]"),
	moves("redirect-host", "302 to another host", "302 Found", taken),
	moves("redirect-keep", "307 to another host, which asks for the same method and body there",
		"307 Temporary Redirect", taken),
	moves("redirect-loop", "308 to itself", "308 Permanent Redirect",
		func(x *exchange) string { return x.p.URL() + x.req.URL.RequestURI() }),
	moves("redirect-file", "301 to a file", "301 Moved Permanently",
		func(*exchange) string { return "file:///etc/passwd" }),
}

// taken is a page of the trap.
func taken(x *exchange) string { return x.p.trap + "/taken" }

func (x *exchange) redirect(status, to string) {
	x.answer(status, "text/html", "moved", "Location: "+to)
}
