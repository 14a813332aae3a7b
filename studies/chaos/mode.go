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
	what    string                       // it does, for the table
	answer  func(x *exchange)            // answers a request in the place of the server
	upgrade func(x *exchange)            // answers the handshake of a WebSocket
	socket  func(x *exchange)            // writes into a WebSocket that is open
	conn    func(p *proxy, c net.Conn)   // takes a connection before any bytes are sent
	cert    func(c *certificates) string // names the certificate that is shown
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
	{
		name: "drip",
		what: "sends a body of 100 kB byte by byte, 20 a second",
		answer: func(x *exchange) {
			x.say(head("200 OK", "Content-Type: application/json", "Content-Length: 100000"))
			x.drip(`{"id":"`)
		},
	},
	{
		name: "drip-header",
		what: "sends a header without an end byte by byte, 20 a second",
		answer: func(x *exchange) {
			x.drip("HTTP/1.1 200 OK\r\nX-Filler: ")
		},
	},
	{
		name:   "frozen",
		what:   "accepts, reads, and never answers",
		answer: func(x *exchange) { x.hold() },
	},
	{
		name: "frozen-body",
		what: "sends a header and half a body, then nothing",
		answer: func(x *exchange) {
			x.say(
				head(
					"201 Created",
					"Content-Type: application/json",
					"Content-Length: 400",
				) + `{"id":"`,
			)
			x.hold()
		},
	},
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

const chunked = "Transfer-Encoding: chunked"

// Endless.
var endlessModes = []*mode{
	{
		name:  "endless-body",
		heavy: true,
		what:  "sends a body without an end, of no announced length",
		answer: func(x *exchange) {
			x.say(head("200 OK", "Content-Type: application/json", "Connection: close") + `{"id":"`)
			x.flood(strings.Repeat("a", 64<<10))
		},
	},
	{
		name:  "endless-chunks",
		heavy: true,
		what:  "sends chunks of 64 kB without an end",
		answer: func(x *exchange) {
			x.say(head("200 OK", "Content-Type: application/json", chunked))
			x.flood("10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n")
		},
	},
	{
		name:  "endless-tiny-chunks",
		heavy: true,
		what:  "sends chunks of one byte without an end",
		answer: func(x *exchange) {
			x.say(head("200 OK", "Content-Type: application/json", chunked))
			x.flood(strings.Repeat("1\r\n \r\n", 10<<10))
		},
	},
	{
		name:  "endless-extension",
		heavy: true,
		what:  "sends a chunk whose extension has no end",
		answer: func(x *exchange) {
			x.say(head("200 OK", "Content-Type: application/json", chunked) + "2;x=")
			x.flood(strings.Repeat("a", 64<<10))
		},
	},
	{
		name:  "endless-trailer",
		heavy: true,
		what:  "sends trailer lines without an end",
		answer: func(x *exchange) {
			x.say(head("200 OK", "Content-Type: application/json", chunked) + "2\r\n{}\r\n0\r\n")
			x.flood(strings.Repeat("X-T: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 2<<10))
		},
	},
	{
		name:  "endless-header",
		heavy: true,
		what:  "sends header lines without an end",
		answer: func(x *exchange) {
			x.say("HTTP/1.1 200 OK\r\n")
			x.flood(strings.Repeat("X-H: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 2<<10))
		},
	},
	{
		name:  "endless-100",
		heavy: true,
		what:  "says 100 Continue without an end",
		answer: func(x *exchange) {
			x.flood(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 2<<10))
		},
	},
	{
		name: "endless-pages",
		what: "answers every list of members with a full page of new ones",
		answer: func(x *exchange) {
			if x.req.Method != "GET" || !strings.HasSuffix(x.req.URL.Path, "/members") {
				x.pass(x.real())
				return
			}
			var b strings.Builder
			for i := range 200 {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(
					&b,
					`{"team_id":"%026d","channel_id":"%026d","user_id":"%s","roles":""}`,
					1,
					1,
					randomName(),
				)
			}
			x.pass(answer{
				status: 200,
				header: http.Header{"Content-Type": {"application/json"}},
				body:   []byte("[" + b.String() + "]"),
			})
		},
	},
}

// Truncated.
var truncatedModes = []*mode{
	{
		name:   "truncated-header",
		what:   "closes the connection within the header",
		answer: func(x *exchange) { x.say("HTTP/1.1 201 Created\r\nContent-Ty") },
	},
	{
		name: "truncated-body",
		what: "closes the connection within a body of announced length",
		answer: func(x *exchange) {
			x.say(
				head(
					"201 Created",
					"Content-Type: application/json",
					"Content-Length: 4000",
				) + `{"id":"`,
			)
		},
	},
	{
		name: "truncated-chunks",
		what: "closes the connection within a chunk",
		answer: func(x *exchange) {
			x.say(
				head(
					"201 Created",
					"Content-Type: application/json",
					chunked,
				) + "100\r\n" + `{"id":"`,
			)
		},
	},
	{
		name: "truncated-gzip",
		what: "announces the right length of half a gzip stream",
		answer: func(x *exchange) {
			z := zipped([]byte(strings.Repeat(`{"id":"`+randomName()+`"}`, 100)))
			x.answer(
				"201 Created",
				"application/json",
				string(z[:len(z)/2]),
				"Content-Encoding: gzip",
			)
		},
	},
}

var (
	idField   = regexp.MustCompile(`"id":"[^"]*"`)
	userField = regexp.MustCompile(`"user_id":"[^"]*"`)
)

// Lies.
var lyingModes = []*mode{
	{
		name:   "lying-empty",
		what:   "200 with nothing",
		answer: func(x *exchange) { x.json("200 OK", "") },
	},
	{
		name:   "lying-object",
		what:   "200 with {}",
		answer: func(x *exchange) { x.json("200 OK", "{}") },
	},
	{
		name:   "lying-ok",
		what:   `200 with {"status":"OK"} in the place of what was made`,
		answer: func(x *exchange) { x.json("200 OK", `{"status":"OK"}`) },
	},
	{
		name:   "lying-created",
		what:   `201 with {"status":"OK"} in the place of what was made`,
		answer: func(x *exchange) { x.json("201 Created", `{"status":"OK"}`) },
	},
	{
		name:   "lying-null",
		what:   "200 with null",
		answer: func(x *exchange) { x.json("201 Created", "null") },
	},
	{
		name:   "lying-array",
		what:   "a list in the place of an object",
		answer: func(x *exchange) { x.json("201 Created", `[{"id":1}]`) },
	},
	{
		name: "lying-types",
		what: "numbers, lists and objects in the place of texts",
		answer: func(x *exchange) {
			x.json(
				"201 Created",
				`{"id":{"a":[1e999]},"user_id":[],"channel_id":7,"token":true,"roles":{},"username":null,"name":0,"from":[],"subject":{}}`,
			)
		},
	},
	{name: "lying-html", what: "200 with a page of HTML", answer: func(x *exchange) {
		x.answer("200 OK", "text/html", "<!doctype html><title>Welcome</title><p>It works!</p>")
	}},
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
	{
		name: "lying-short",
		what: "a content length of 5 before a longer body, on a connection that stays",
		answer: func(x *exchange) {
			x.say(
				head(
					"201 Created",
					"Content-Type: application/json",
					"Content-Length: 5",
				) + `{"id":"` + randomName() + `"}`,
			)
			x.hold()
		},
	},
	{name: "lying-lengths", what: "two content lengths that differ", answer: func(x *exchange) {
		x.say(
			head(
				"201 Created",
				"Content-Type: application/json",
				"Content-Length: 2",
				"Content-Length: 400",
			) + "{}",
		)
	}},
	{name: "lying-negative", what: "a content length of -1", answer: func(x *exchange) {
		x.say(head("201 Created", "Content-Type: application/json", "Content-Length: -1") + "{}")
	}},
	{name: "lying-overflow", what: "a content length of 2^64", answer: func(x *exchange) {
		x.say(
			head(
				"201 Created",
				"Content-Type: application/json",
				"Content-Length: 18446744073709551616",
			) + "{}",
		)
	}},
	{name: "lying-chunk-size", what: "a chunk size of 2^64 + 2", answer: func(x *exchange) {
		x.say(
			head(
				"201 Created",
				"Content-Type: application/json",
				chunked,
			) + "10000000000000002\r\n{}\r\n0\r\n\r\n",
		)
	}},
	{
		name:   "lying-ssh",
		what:   "an SSH banner in the place of HTTP",
		answer: func(x *exchange) { x.say("SSH-2.0-OpenSSH_9.2p1\r\n") },
	},
	{
		name:   "lying-status",
		what:   "a status that is no number",
		answer: func(x *exchange) { x.say(head("OK 200", "Content-Length: 2") + "{}") },
	},
	{
		name:   "lying-204",
		what:   "204, so no content, in the place of what was made",
		answer: func(x *exchange) { x.say(head("204 No Content", "Connection: close")) },
	},
}

// missingPost is the chat server's answer for a message that does not exist.
const missingPost = `{"id":"app.post.get.app_error","message":"Unable to get the post.","status_code":404}`

// Refusals.
var refusingModes = []*mode{
	{
		name: "failing-500",
		what: "500 for everything",
		answer: func(x *exchange) {
			x.json("500 Internal Server Error", `{"id":"app.chaos.app_error","message":"no"}`)
		},
	},
	{
		name:   "failing-503",
		what:   "503 with an empty body for everything",
		answer: func(x *exchange) { x.answer("503 Service Unavailable", "text/plain", "") },
	},
	{
		name: "shedding-429",
		what: "429 for everything",
		answer: func(x *exchange) {
			x.answer("429 Too Many Requests", "text/plain", "slow down", "Retry-After: 3600")
		},
	},
	{
		name: "challenging-403",
		what: "a proxy's challenge page for everything",
		answer: func(x *exchange) {
			x.answer(
				"403 Forbidden",
				"text/html",
				"<!doctype html><title>Just a moment...</title><script src=/cdn-cgi/challenge-platform/x></script>",
			)
		},
	},
	{name: "unauthorized-401", what: "401 for everything", answer: func(x *exchange) {
		x.json("401 Unauthorized", `{"id":"api.context.session_expired.app_error","message":"no"}`)
	}},
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
	{
		name:   "empty-lists",
		what:   "an empty list for everything that is read",
		answer: func(x *exchange) { x.json("200 OK", "[]") },
	},
	{
		name:   "redirect-host",
		what:   "302 to another host",
		answer: func(x *exchange) { x.redirect("302 Found", x.p.trap+"/taken") },
	},
	{
		name: "redirect-keep",
		what: "307 to another host, which asks for the same method and body there",
		answer: func(x *exchange) {
			x.redirect("307 Temporary Redirect", x.p.trap+"/taken")
		},
	},
	{
		name: "redirect-loop",
		what: "308 to itself",
		answer: func(x *exchange) {
			x.redirect("308 Permanent Redirect", x.p.URL()+x.req.URL.RequestURI())
		},
	},
	{
		name:   "redirect-file",
		what:   "301 to a file",
		answer: func(x *exchange) { x.redirect("301 Moved Permanently", "file:///etc/passwd") },
	},
}

func (x *exchange) redirect(status, to string) {
	x.answer(status, "text/html", "moved", "Location: "+to)
}
