package api

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

const root = "/api/v4" // of all paths

// A Recorder takes finished ops; workload.User is one.
type Recorder interface {
	// Begin records that an op is under way; Done follows unless the run ends first, and returns
	// when the op was due, as an offset from the epoch.
	Begin(n measure.Name)
	Done(n measure.Name, due, sent, done time.Time, class measure.Class, bytes int64) time.Duration
}

// A Client is one user's side of the API. Each method makes one request and records one op; its
// error is an [*OpError], or the context's if the run ended (then nothing is recorded). It is not
// safe for concurrent use; a [Socket] obtained from it is separate.
type Client struct {
	Options
	http       *wire.Client
	connection string    // id of the client's WebSocket, see SetSocket
	sent, done time.Time // of the last request
	buf        *[]byte   // of the body of the call under way
}

// Options are the parts of a [Client] that its owner sets.
type Options struct {
	URL       string        // base URL of the server, http or https; fixed
	HTTP2     bool          // HTTP/2 over https; WebSockets stay HTTP/1.1; fixed
	Token     string        // session, personal or bot token; set later by SetToken, or Login
	Timeout   time.Duration // of one operation; 0 means wire.DefaultTimeout; fixed
	Clock     *clock.Clock  // in whose time operations time out; nil means real time; fixed
	UserAgent string        // fixed
	Recorder  Recorder      // required
	Table     *Table        // the names under which calls are recorded; required
	Note      func(error)   // called with every failed op; may be nil
	// Collapse makes the client show replies in their threads alone: lists of a channel's posts are
	// of roots, and viewing a channel leaves its threads unread. Only servers with collapsed
	// threads support it.
	Collapse bool
	// Dial makes connections; nil means the usual way.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Patience repeats calls that a rate limit refuses. It may be nil.
	Patience *Patience
	// Secrets gets every token that the client sends or is issued. If nil, tokens are not redacted.
	Secrets *plain.Secrets
}

// NewClient returns a client without a connection.
func NewClient(cfg Options) (*Client, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.New(time.Now())
	}
	h, err := wire.NewClient(wire.Config{
		URL: cfg.URL, HTTP2: cfg.HTTP2, Timeout: cfg.Timeout, Clock: cfg.Clock,
		UserAgent: cfg.UserAgent, Dial: cfg.Dial,
	})
	if err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = wire.DefaultTimeout
	}
	cfg.Secrets.Add(cfg.Token)
	return &Client{Options: cfg, http: h}, nil
}

// SetSocket sets the client's WebSocket, which gets no events of the client's own actions where the
// server can leave them out. nil means none.
func (c *Client) SetSocket(s *Socket) {
	c.connection = ""
	if s != nil {
		c.connection = s.born.String()
	}
}

// SetToken changes the token that later calls send.
func (c *Client) SetToken(token string) {
	c.Secrets.Add(token)
	c.Token = token
}

// Lend sets the recorder, the names and the token of the client's next calls. [Options.Secrets] has
// the token already.
func (c *Client) Lend(rec Recorder, t *Table, token string) {
	c.Recorder = rec
	c.Table = t
	c.Token = token
}

// Under records the next calls under other names, until the function that it returns is called.
func (c *Client) Under(t *Table) (back func()) {
	was := c.Table
	c.Table = t
	return func() { c.Table = was }
}

// Close closes the connection. Its errors have no effect on a client that is done.
func (c *Client) Close() { _ = c.http.Close() }

// bodies holds buffers for request bodies, so that an idle user holds none.
var bodies = sync.Pool{New: func() any {
	b := make([]byte, 0, 1<<10)
	return &b
}}

// body returns an empty buffer for the body of the next call, which gives it back.
func (c *Client) body() []byte {
	c.buf = bodies.Get().(*[]byte)
	return (*c.buf)[:0]
}

// call makes the request of an op with these values, again while a limit refuses it if the client
// has patience, and records each. req has what is particular to the call. read reads the needed
// fields of the answer and returns an error if the answer does not show the effect.
func (c *Client) call(
	ctx context.Context, o op, req *wire.Request, read func(*wire.Response) error, values ...string,
) error {
	row := &ops[o]
	req.Method = row.method
	req.Path = o.path(values)
	req.Repeatable = row.traits.has(reads)
	req.MaxBody = row.traits.mostBody()
	req.Token = c.Token
	if c.connection != "" && row.traits.has(notifies) {
		req.Header = append(req.Header, wire.Field{Name: "Connection-Id", Value: c.connection})
	}
	if req.Body != nil && req.ContentType == "" {
		req.ContentType = "application/json"
	}
	var err error
	if c.Patience == nil {
		err = c.once(ctx, o, req, read)
	} else {
		err = c.Patience.do(ctx, func() error { return c.once(ctx, o, req, read) })
	}
	if c.buf != nil && cap(req.Body) <= 64<<10 {
		*c.buf = req.Body
		bodies.Put(c.buf)
	}
	c.buf = nil
	return err
}

// do makes a call whose body and answer are JSON: body is nil, or begins with [Client.body].
func (c *Client) do(
	ctx context.Context, o op, body []byte, check func([]byte) error, values ...string,
) error {
	req := wire.Request{Body: body}
	return c.call(ctx, o, &req, func(resp *wire.Response) error {
		return check(resp.Body)
	}, values...)
}

// send is do for an answer that has a value.
func send[T any](
	ctx context.Context,
	c *Client,
	o op,
	body []byte,
	read func([]byte) (T, error),
	values ...string,
) (v T, err error) {
	err = c.do(ctx, o, body, func(b []byte) (err error) {
		v, err = read(b)
		return err
	}, values...)
	return v, err
}

// get is send without a body.
func get[T any](
	ctx context.Context, c *Client, o op, read func([]byte) (T, error), values ...string,
) (T, error) {
	return send(ctx, c, o, nil, read, values...)
}

// once makes a request and records it.
func (c *Client) once(
	ctx context.Context, o op, req *wire.Request, read func(*wire.Response) error,
) error {
	c.Recorder.Begin(c.Table.names[o])
	resp, err := c.http.Do(ctx, req)
	defer c.http.Release()
	c.sent = resp.Sent
	c.done = resp.Done
	if over(ctx, err) {
		return context.Cause(ctx)
	}
	var e *OpError
	if err != nil {
		e = &OpError{
			Class:  workload.ClassOf(err),
			Status: resp.Status,
			Cause:  brokenCause(err),
			Err:    err,
		}
	} else if !c.Table.rows[o].traits.accepts(resp.Status) {
		e = &OpError{Class: workload.ClassOfStatus(resp.Status), Status: resp.Status}
		refusal(e, resp)
	} else if err := c.decode(resp, read); err != nil {
		e = &OpError{Class: workload.ClassOf(err), Status: resp.Status, Err: err}
		switch {
		case challenge(resp):
			e.Cause = challenged
		case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
			e.Cause = pageCause
		}
	}
	return c.finish(o, resp.Due, resp.Sent, resp.Done, resp.BodyBytes, e)
}

// finish records an op, counts the status of an unwanted answer and notes a failure. It returns e,
// which is nil for a success.
func (c *Client) finish(o op, due, sent, done time.Time, bytes int64, e *OpError) error {
	class := measure.OK
	if e != nil {
		e.Op = c.Table.rows[o].name
		e.Expected = c.Table.prefix == "" && anticipated(o, e) // counted in the steady state alone
		if !e.Expected {
			class = e.Class
		}
	}
	at := c.Recorder.Done(c.Table.names[o], due, sent, done, class, bytes)
	if e == nil {
		return nil
	}
	series := phased(e.Op, c.Table.prefix)
	if e.Expected { // the object of the rest of the action does not exist, and nothing failed
		workload.Anticipated(c.Table.reg, series, e.Status, e.Code, at)
		return e
	}
	if class == measure.Status4xx || class == measure.Status5xx {
		workload.Answered(c.Table.reg, series, statusOf(e), at)
	}
	if c.Note != nil && (c.Patience == nil || !held(e)) {
		c.Note(e)
	}
	return e
}

// decode calls read with memory reserved for the values decoded from a large answer: identifiers,
// names and times take less than the text that they are in, and slices that grow are there twice.
func (c *Client) decode(resp *wire.Response, read func(*wire.Response) error) (err error) {
	defer boundary.Recover("reading an answer", &err)
	if n := int64(len(resp.Body)); n > 64<<10 {
		if err := c.http.Reserve(2 * n); err != nil {
			return err
		}
	}
	return read(resp)
}

// millis formats a server time for a query.
func millis(t int64) string { return strconv.FormatInt(t, 10) }

// decimal formats the number or the size of a page.
func decimal(n int) string { return strconv.Itoa(n) }
