package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Field is one header line.
type Field struct{ Name, Value string }

// A Request is a request for [Client.Do], which does not change it, and does not
// keep it after it has returned.
type Request struct {
	Method string // "GET", "POST", ...; empty means GET
	// Path is appended to the base path of the client's URL; begins with "/", carries the query,
	// already escaped.
	Path string
	// further header lines; Host, Content-Length and Transfer-Encoding are not allowed
	Header      []Field
	Body        []byte // sent with a Content-Length
	ContentType string // of Body
	Token       string // if not empty, sent as "Authorization: Bearer Token"
	MaxBody     int64  // of the response, decoded bytes; 0 means DefaultMaxBody
	// SkipBody: read, decode and count the response's body, but do not keep it. With a status of
	// 400 or above it is kept, because it has the reason, and DefaultMaxBody is its limit.
	SkipBody bool
	// Timeout limits this request further than the client's does; 0 means not.
	Timeout time.Duration
	// Repeatable marks an idempotent request: like a GET, it may be repeated when the server closed
	// the idle connection.
	Repeatable bool
}

func (r *Request) method() string {
	if r.Method == "" {
		return "GET"
	}
	return r.Method
}

// replayable reports whether the request may be sent twice without a second effect (RFC 9110,
// 9.2.1: safe methods).
func (r *Request) replayable() bool {
	switch r.method() {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return r.Repeatable
}

// skips reports whether the body of a response with a status is not kept.
func (r *Request) skips(status int) bool { return r.SkipBody && status < 400 }

// check reports a request that would not be one well-formed HTTP message. Values are not shown:
// they may be secrets.
func (r *Request) check() error {
	if !isToken(r.Method) {
		return fmt.Errorf("method %q is not a token", r.Method)
	}
	if r.Path == "" || r.Path[0] != '/' {
		return fmt.Errorf("path %q does not begin with a slash", r.Path)
	}
	if !isEscaped(r.Path) {
		return fmt.Errorf("path %q contains a byte that must be escaped", r.Path)
	}
	for _, f := range r.Header {
		if f.Name == "" {
			return fmt.Errorf("header line without a name")
		}
		if !isToken(f.Name) {
			return fmt.Errorf("header name %q is not a token", f.Name)
		}
		if !isValue(f.Value) {
			return fmt.Errorf("the value of header %s contains a control character", f.Name)
		}
		if equalFold(f.Name, "host") || equalFold(f.Name, "content-length") ||
			equalFold(f.Name, "transfer-encoding") {
			return fmt.Errorf("header %s is set by the client", f.Name)
		}
	}
	if !isValue(r.ContentType) {
		return fmt.Errorf("the content type contains a control character")
	}
	if !isValue(r.Token) {
		return fmt.Errorf("the token contains a control character")
	}
	return nil
}

// has reports whether the request has its own header line of that name, with that value unless it
// is "" (both in lower case).
func (r *Request) has(name, value string) bool {
	for _, f := range r.Header {
		if equalFold(f.Name, name) && (value == "" || equalFold(f.Value, value)) {
			return true
		}
	}
	return false
}

// asksEncoding reports whether the caller chose an Accept-Encoding and so decodes the body.
func (r *Request) asksEncoding() bool { return r.has("accept-encoding", "") }

// appendHead appends request line and header. fixed holds the lines of the client.
func (r *Request) appendHead(b []byte, base, fixed string) []byte {
	method := r.method()
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, base...)
	b = append(b, r.Path...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = append(b, fixed...)
	if !r.asksEncoding() {
		b = append(b, "Accept-Encoding: gzip\r\n"...)
	}
	if r.ContentType != "" {
		b = appendField(b, "Content-Type: ", r.ContentType)
	}
	b = appendFields(b, r.Header)
	if r.Token != "" {
		b = appendField(b, "Authorization: Bearer ", r.Token)
	}
	if len(r.Body) > 0 || method == "POST" || method == "PUT" || method == "PATCH" {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(r.Body)), 10)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}

func appendFields(b []byte, fields []Field) []byte {
	for _, f := range fields {
		b = append(b, f.Name...)
		b = appendField(b, ": ", f.Value)
	}
	return b
}

func appendField(b []byte, prefix, value string) []byte {
	b = append(b, prefix...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// isToken reports whether v may be a method or a header name (RFC 9110, 5.6.2), or is empty.
func isToken[T string | []byte](v T) bool {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// isEscaped reports whether no byte of a path has to be escaped.
func isEscaped(path string) bool {
	for i := 0; i < len(path); i++ {
		if c := path[i]; c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// isValue reports whether v may stand in a header value: no control characters except the tab.
func isValue[T string | []byte](v T) bool {
	for i := 0; i < len(v); i++ {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// equalFold compares s with lower, which must be in lower case, ignoring the case of ASCII letters.
func equalFold[T string | []byte](s T, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
