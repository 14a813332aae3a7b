package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"plimsoll/load/clock"
)

// DefaultMaxBody limits a decoded response body in bytes, unless configuration or request sets
// another limit.
const DefaultMaxBody = 4 << 20

var errNoResponse = errors.New("the server closed the connection without a response")

// idleCheck is the idle time after which a connection is worth a system call that looks whether it
// still stands.
const idleCheck = 250 * time.Millisecond

// A Config describes a [Client].
type Config struct {
	URL       string // http://host:port/base or https://...; Request.Path is appended to it
	Timeout   time.Duration
	UserAgent string // none is sent if empty

	// HTTP2 speaks HTTP/2 alone, which needs an https URL. See "HTTP/2" in the package comment.
	HTTP2 bool

	// Clock counts Timeout. While it stands still, no operation begins. Nil means real time.
	Clock *clock.Clock

	// Dial replaces [Dial], for instance to choose a source address. It may be nil.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// For tests: TLS of an https URL, the limit of a decoded body in place of DefaultMaxBody, and
	// the budget in place of the process's.
	tls     *tls.Config
	maxBody int64
	budget  *Budget
}

// A Client is one user's connection to one origin. It dials when it has to, never follows redirects
// and requests gzip. It is not safe for concurrent use, except that a context may end a Do at any
// time. The zero Client is not usable.
type Client struct {
	o       origin
	agent   string
	fixed   string // header lines that never change
	timeout time.Duration
	maxBody int64
	closed  bool

	conn  net.Conn  // nil if there is none
	h2    *h2conn   // nil if HTTP/1.1 is spoken on conn
	since time.Time // of the last read
	first moment    // of the response under way
	tally *tally
	watch watch
	rd    reader
	body  body
	kept  *buffer // backs resp.Body if rd does not
	extra int64   // reserved for values decoded from the response
	resp  Response
}

// NewClient checks the configuration and returns a client without a connection. Timeout limits a
// whole Do: dial, handshake, write, header and body; 0 means [DefaultTimeout].
func NewClient(cfg Config) (*Client, error) {
	o, err := parseOrigin(cfg.URL, "http", "https", cfg.tls)
	if err != nil {
		return nil, err
	}
	if strings.Contains(o.path, "?") {
		return nil, fmt.Errorf("URL for host %s has a query; remove it", o.host)
	}
	if !isValue(cfg.UserAgent) {
		return nil, errors.New("the user agent contains a control character")
	}
	o.dial, o.clock = cfg.Dial, stoppable(cfg.Clock)
	if o.http2 = cfg.HTTP2; o.http2 {
		if o.tls == nil {
			return nil, fmt.Errorf(
				"URL for host %s is http: HTTP/2 is agreed over TLS; want https",
				o.host,
			)
		}
		o.tls = o.tls.Clone()
		o.tls.NextProtos = []string{"h2"}
	}
	c := &Client{
		o:       o,
		agent:   cfg.UserAgent,
		timeout: cfg.Timeout,
		maxBody: cfg.maxBody,
		tally:   nextTally(),
		watch:   watch{lazy: true},
	}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	if c.maxBody <= 0 {
		c.maxBody = DefaultMaxBody
	}
	c.rd.of = cfg.budget
	c.fixed = "Host: " + o.host + "\r\n"
	if cfg.UserAgent != "" {
		c.fixed += "User-Agent: " + cfg.UserAgent + "\r\n"
	}
	return c, nil
}

// Do sends req and reads the whole response. Any status is a success here. The Response is never
// nil, not even with an error: its times and other known fields are filled in. An error is always
// an [*Error]; after one in the middle of a message the connection is closed and the next Do makes
// a new one. When ctx is over, a blocked Do returns promptly.
func (c *Client) Do(ctx context.Context, req *Request) (*Response, error) {
	c.Release()
	resp := &c.resp
	*resp = Response{}
	if c.o.clock != nil {
		_ = c.o.clock.Wait(ctx) // its error is that of ctx, which is looked at below
	}
	now := time.Now()
	resp.Due = now
	resp.Sent = now
	resp.Done = now
	resp.Read = now
	if c.closed {
		return resp, &Error{Err: ErrClosed}
	}
	if err := req.check(); err != nil {
		return resp, &Error{Err: err}
	}
	if ctx.Err() != nil {
		return resp, newError(ctx, PhaseNone, nil)
	}
	if e := c.do(ctx, req, now); e != nil {
		resp.Done = time.Now()
		resp.Read, resp.Kernel = resp.Done, false
		c.drop()
		return resp, e
	}
	return resp, nil
}

// do sends req, twice if need be.
func (c *Client) do(ctx context.Context, req *Request, now time.Time) *Error {
	timeout := c.timeout
	if req.Timeout > 0 {
		timeout = min(timeout, req.Timeout)
	}
	l := within(ctx, now, timeout, patience(c.o.clock))
	c.tally.requests.Add(1)
	if c.conn != nil && c.outdated(now) {
		c.tally.reopened.Add(1)
		c.drop()
	}
	for {
		reused := c.conn != nil
		if !reused {
			if !c.resp.Retried {
				c.resp.Sent = now
			}
			if e := c.connect(ctx, l); e != nil {
				return e
			}
			now = time.Now()
		}
		if !c.resp.Retried {
			c.resp.Sent = now
		}
		var e *Error
		var untouched bool
		if c.h2 != nil {
			e, untouched = c.exchange2(ctx, l, req)
		} else {
			c.watch.begin(ctx, c.conn, l)
			e, untouched = c.exchange(ctx, req)
			c.watch.end()
		}
		if e == nil {
			return nil
		}
		if !reused || !untouched || e.Timeout || ctx.Err() != nil {
			return e
		}
		c.drop()
		c.resp.Retried = true
		c.tally.repeats.Add(1)
		c.resp.FirstByte, c.resp.Status = time.Time{}, 0
	}
}

// connect makes the connection.
func (c *Client) connect(ctx context.Context, l limit) (e *Error) {
	aside(func() {
		if c.conn, e = c.o.connect(ctx, l); e != nil {
			c.conn = nil
			return
		}
		c.resp.Dialed = true
		if c.o.http2 {
			var err error
			if c.h2, err = newH2(c.conn); err != nil {
				e = newError(ctx, PhaseWrite, err)
			}
		}
	})
	return e
}

// outdated reports whether the idle connection is not to be used again.
func (c *Client) outdated(now time.Time) bool {
	if c.h2 != nil {
		return c.h2.cc.Available() == 0
	}
	return now.Sub(c.since) >= idleCheck && stale(c.conn)
}

// exchange writes req and reads the response. With an error, untouched reports whether the request
// may be sent again.
func (c *Client) exchange(ctx context.Context, req *Request) (e *Error, untouched bool) {
	c.rd.open(c.conn)
	written, werr, rerr := c.write(req)
	if werr != nil && (written == 0 || isTimeout(werr)) {
		return newError(ctx, PhaseWrite, werr), written == 0 || req.replayable()
	}
	// A server may answer and close before it has read the whole request. Its answer counts more
	// than the failed write.
	f, err := c.readHead(rerr)
	if err != nil {
		nothing := c.resp.FirstByte.IsZero()
		if werr != nil {
			return newError(ctx, PhaseWrite, werr), nothing && req.replayable()
		}
		return newError(ctx, PhaseHeader, err), nothing && req.replayable()
	}
	c.resp.Status = f.status
	c.resp.Header = f.header
	if err := c.readBody(req, &f); err != nil {
		return newError(ctx, PhaseBody, err), false
	}
	c.finish(c.rd.last)
	if werr != nil || !f.keepAlive || c.body.mode == bodyEOF || c.rd.r != c.rd.w ||
		req.has("connection", "close") {
		c.drop()
	}
	return nil, false
}

// began notes when the first byte came.
func (c *Client) began(first moment) {
	c.first = first
	c.resp.FirstByte, c.resp.Kernel = first.arrival(c.resp.Sent)
}

// finish notes when the last byte came.
func (c *Client) finish(last moment) {
	if last == c.first { // by far the most common case: one read brought it all
		c.resp.Done = c.resp.FirstByte
	} else {
		c.resp.Done, c.resp.Kernel = last.arrival(c.resp.Sent)
	}
	if c.resp.Done.Before(c.resp.FirstByte) { // that one had no stamp
		c.resp.Done = c.resp.FirstByte
	}
	c.resp.Read, c.since = last.now, last.now
	c.tally.count(c.resp.Kernel)
}

// write sends head and body, in one piece if they are small, and returns how many bytes the
// connection took. It may have read the beginning of the response, too, or failed to: that is rerr.
func (c *Client) write(req *Request) (n int, werr, rerr error) {
	buf := getBuffer(c.rd.of)
	b := req.appendHead(buf.b[:0], c.o.path, c.fixed)
	rest := req.Body
	if len(b)+len(rest) <= keepBuffer {
		b = append(b, rest...)
		rest = nil
	}
	if c.rd.plain() != nil && len(rest) == 0 {
		n, werr, rerr = c.rd.exchange(b)
	}
	if werr == nil && n < len(b) {
		var m int
		m, werr = c.conn.Write(b[n:])
		n += m
	}
	buf.b = b
	putBuffer(buf)
	if werr == nil && len(rest) > 0 {
		var m int
		m, werr = c.conn.Write(rest)
		n += m
	}
	return n, werr, rerr
}

// readHead reads the head of the final response. err is the error of an attempt to read that was
// made before.
func (c *Client) readHead(err error) (framing, error) {
	for range maxInformational + 1 {
		if err == nil && c.rd.r == c.rd.w {
			err = c.rd.fill()
		}
		if err == io.EOF {
			err = errNoResponse
		}
		if err != nil {
			return framing{}, err
		}
		c.began(c.rd.last) // that of the last head read is the final one
		head, err := c.rd.head()
		if err != nil {
			return framing{}, err
		}
		f, err := parseHead(head)
		switch {
		case err != nil:
			return f, err
		case f.status == 101:
			return f, ProtocolError("the server switched protocols unasked")
		case f.status >= 200:
			return f, nil
		}
	}
	return framing{}, ProtocolError("too many informational responses")
}

// most is the largest number of bytes of the decoded body of a response to req.
func (c *Client) most(req *Request, status int) int64 {
	// that is a limit of bytes that are not kept
	if req.MaxBody > 0 && !(req.SkipBody && status >= 400) {
		return req.MaxBody
	}
	return c.maxBody
}

// readBody reads, decodes and counts the body.
func (c *Client) readBody(req *Request, f *framing) error {
	c.body.reset(&c.rd, f, req.method())
	if c.body.mode == bodyNone {
		return nil
	}
	unzip := f.gzip && !req.asksEncoding()
	most, skip := c.most(req, f.status), req.skips(f.status)
	if left := c.body.left; c.body.mode == bodyLength && !unzip &&
		left <= int64(len(c.rd.buf.b)-c.rd.r) &&
		left <= most {
		for int64(c.rd.w-c.rd.r) < left {
			if err := c.rd.fill(); err != nil {
				c.resp.BodyBytes = int64(c.rd.w - c.rd.r)
				return noEOF(err)
			}
		}
		c.resp.BodyBytes = left
		if !skip {
			c.resp.Body = c.rd.buf.b[c.rd.r : c.rd.r+int(left) : c.rd.r+int(left)]
		}
		c.rd.r += int(left)
		return nil
	}
	if c.body.mode == bodyLength && !unzip && c.body.left > most {
		return ErrBodySize
	}
	return c.take(&c.body, unzip, skip, most)
}

// take reads a body to its end, keeps it decoded unless skip, and counts it.
func (c *Client) take(src io.Reader, unzip, skip bool, most int64) error {
	if !skip {
		c.kept = getBuffer(c.rd.of)
	}
	n, err := readAll(src, unzip, c.kept, most, c.rd.of)
	c.resp.BodyBytes = n
	if c.kept != nil && err == nil {
		c.resp.Body = c.kept.b[:n:n]
	}
	return err
}

// Release gives the buffers behind the last Response back. Its Header and Body must not be used
// afterwards; its other fields may, until the next Do. Do calls it first; a user who is about to
// think for a long time calls it to save memory.
func (c *Client) Release() {
	c.rd.release()
	putBuffer(c.kept)
	c.kept = nil
	if c.extra > 0 {
		c.rd.of.give(c.extra)
		c.extra = 0
	}
	c.resp.Header, c.resp.Body = Header{}, nil
}

// Reserve takes n bytes out of the client's budget for the values that the caller decodes from the
// response, until Release. The error is an [*Error] with [ErrBudget] inside.
func (c *Client) Reserve(n int64) error {
	if !c.rd.of.take(n) {
		return Exceeded(ErrBudget)
	}
	c.extra += n
	return nil
}

// Close closes the connection. A closed client only returns [ErrClosed].
func (c *Client) Close() error {
	c.closed = true
	c.Release()
	c.watch.unregister()
	c.drop()
	return nil
}

// drop closes the connection, if there is one. The next Do makes a new one.
func (c *Client) drop() {
	if c.conn != nil {
		// Nothing can be done about it, and nothing depends on it; with HTTP/2 it ends the
		// transport's goroutine.
		_ = c.conn.Close()
		c.conn, c.h2 = nil, nil
	}
}
