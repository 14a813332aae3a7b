package api

import (
	"context"
	"errors"
	"net"
	"slices"
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
	// Begin records that an op is under way; Done follows unless the run ends first, and returns when the op was due,
	// as an offset from the epoch.
	Begin(n measure.Name)
	Done(n measure.Name, due, sent, done time.Time, class measure.Class, bytes int64) time.Duration
}

// A Client is one user's side of the API. Each method makes one request and records one op; its error is an
// [*OpError], or the context's if the run ended (then nothing is recorded). It is not safe for concurrent use; a
// [Socket] obtained from it is separate.
type Client struct {
	http    *wire.Client
	wsURL   string
	agent   string
	timeout time.Duration
	clock   *clock.Clock
	token   string
	rec     Recorder
	table   *Table
	note    func(error) // called with every failed op; may be nil
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
	secrets *plain.Secrets

	patience   *Patience
	collapse   bool
	connection string    // id of the client's WebSocket, see SetSocket
	sent, done time.Time // of the last request
	buf        *[]byte   // of the body of the call under way
}

// A ClientConfig describes a [Client].
type ClientConfig struct {
	URL       string        // base URL of the server, http or https
	HTTP2     bool          // speaks HTTP/2, over https; WebSockets stay HTTP/1.1
	Token     string        // session, personal or bot token; see also SetToken
	Timeout   time.Duration // of one operation; 0 means wire.DefaultTimeout
	Clock     *clock.Clock  // in whose time operations time out; nil means real time
	UserAgent string
	Recorder  Recorder // required
	Table     *Table   // required
	Note      func(error)
	// Collapse makes the client show replies in their threads alone: lists of a channel's posts are of roots, and
	// viewing a channel leaves its threads unread. Only servers with collapsed threads support it.
	Collapse bool
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil means the usual way
	// Patience repeats calls that a rate limit refuses. It may be nil.
	Patience *Patience
	// Secrets gets every token that the client sends or is issued. If nil, tokens are not redacted.
	Secrets *plain.Secrets
}

// NewClient returns a client without a connection.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.New(time.Now())
	}
	h, err := wire.NewClient(wire.Config{URL: cfg.URL, HTTP2: cfg.HTTP2, Timeout: cfg.Timeout, Clock: cfg.Clock, UserAgent: cfg.UserAgent, Dial: cfg.Dial})
	if err != nil {
		return nil, err
	}
	cfg.Secrets.Add(cfg.Token)
	ws := "ws" + strings.TrimRight(cfg.URL, "/")[len("http"):] + root + "/websocket" // the scheme in either case
	return &Client{
		http: h, wsURL: ws, agent: cfg.UserAgent, timeout: cfg.Timeout, clock: cfg.Clock, token: cfg.Token, rec: cfg.Recorder,
		table: cfg.Table, note: cfg.Note, dial: cfg.Dial, collapse: cfg.Collapse, secrets: cfg.Secrets, patience: cfg.Patience,
	}, nil
}

// ownEvents are the calls whose event the web app does not receive itself: it names its connection.
var ownEvents = map[op]bool{
	opUpsertDraft: true, opDeleteDraft: true, opSchedulePost: true, opUpdateScheduled: true, opDeleteScheduled: true,
	opAddBookmark: true, opUpdateBookmark: true, opSortBookmark: true, opDeleteBookmark: true,
}

// SetSocket sets the client's WebSocket: it gets no events of the client's own actions, where the server can leave
// them out. nil means none.
func (c *Client) SetSocket(s *Socket) {
	c.connection = ""
	if s != nil {
		c.connection = s.born.String()
	}
}

// SetToken changes the token that later calls send.
func (c *Client) SetToken(token string) {
	c.secrets.Add(token)
	c.token = token
}

// Recorder returns the recorder of the client's calls.
func (c *Client) Recorder() Recorder { return c.rec }

// Timeout returns how long one operation may take; 0 means wire.DefaultTimeout.
func (c *Client) Timeout() time.Duration { return c.timeout }

// Table returns the names under which calls are recorded.
func (c *Client) Table() *Table { return c.table }

// Lend makes the client's next calls those of a recorder, under its names and with a token that
// [ClientConfig.Secrets] knows.
func (c *Client) Lend(rec Recorder, t *Table, token string) { c.rec, c.table, c.token = rec, t, token }

// SetTable changes the names under which later calls are recorded.
func (c *Client) SetTable(t *Table) { c.table = t }

// Close closes the connection.
func (c *Client) Close() { _ = c.http.Close() } // it has no errors worth a word

// bodies holds buffers for request bodies, so that an idle user holds none.
var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

// body returns an empty buffer for the body of the next call, which gives it back.
func (c *Client) body() []byte {
	c.buf = bodies.Get().(*[]byte)
	return (*c.buf)[:0]
}

// call makes the request of an op with these values, again while a limit refuses it if the client has patience, and
// records each. req has what is particular to the call. read, if not nil, reads the needed fields of the answer and
// returns an error if the answer does not show the effect.
func (c *Client) call(ctx context.Context, o op, req *wire.Request, read func(*wire.Response) error, values ...string) error {
	req.Method, req.Path, req.Repeatable = ops[o].method, o.path(values), ops[o].repeatable
	req.Token = c.token
	if c.connection != "" && ownEvents[o] {
		req.Header = append(req.Header, wire.Field{Name: "Connection-Id", Value: c.connection})
	}
	if req.Body != nil && req.ContentType == "" {
		req.ContentType = "application/json"
	}
	req.MaxBody = mostBody(o)
	var err error
	if c.patience == nil {
		err = c.once(ctx, o, req, read)
	} else {
		err = c.patience.do(ctx, func() error { return c.once(ctx, o, req, read) })
	}
	if c.buf != nil && cap(req.Body) <= 64<<10 {
		*c.buf = req.Body
		bodies.Put(c.buf)
	}
	c.buf = nil
	return err
}

// do makes a call whose body and answer are JSON: body is nil, or begins with [Client.body].
func (c *Client) do(ctx context.Context, o op, body []byte, check func([]byte) error, values ...string) error {
	req := wire.Request{Body: body}
	return c.call(ctx, o, &req, func(resp *wire.Response) error { return check(resp.Body) }, values...)
}

// send is do for an answer that has a value.
func send[T any](ctx context.Context, c *Client, o op, body []byte, read func([]byte) (T, error), values ...string) (v T, err error) {
	err = c.do(ctx, o, body, func(b []byte) (err error) {
		v, err = read(b)
		return err
	}, values...)
	return v, err
}

// get is send without a body.
func get[T any](ctx context.Context, c *Client, o op, read func([]byte) (T, error), values ...string) (T, error) {
	return send(ctx, c, o, nil, read, values...)
}

// once makes a request and records it.
func (c *Client) once(ctx context.Context, o op, req *wire.Request, read func(*wire.Response) error) error {
	c.rec.Begin(c.table.names[o])
	resp, err := c.http.Do(ctx, req)
	defer c.http.Release()
	c.sent, c.done = resp.Sent, resp.Done
	if over(ctx, err) {
		return context.Cause(ctx)
	}
	var e *OpError
	if err != nil {
		e = &OpError{Op: ops[o].name, Class: workload.ClassOf(err), Status: resp.Status, Cause: brokenCause(err), Err: err}
	} else {
		switch {
		case !slices.Contains(ops[o].ok, resp.Status):
			e = &OpError{Op: ops[o].name, Class: workload.ClassOfStatus(resp.Status), Status: resp.Status}
			refusal(e, resp)
		case read != nil:
			if err := c.decode(resp, read); err != nil {
				e = &OpError{Op: ops[o].name, Class: workload.ClassOf(err), Status: resp.Status, Err: err}
				switch {
				case challenge(resp):
					e.Cause = challenged
				case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
					e.Cause = pageCause
				}
			}
		}
	}
	class := measure.OK
	if e != nil {
		e.Expected = c.table.prefix == "" && anticipated(o, e) // of the steady state, where it is counted
		if !e.Expected {
			class = e.Class
		}
	}
	due := c.rec.Done(c.table.names[o], resp.Due, resp.Sent, resp.Done, class, resp.BodyBytes)
	switch {
	case e == nil:
		return nil
	case e.Expected: // the object of the rest of the action does not exist, and nothing failed
		c.table.anticipated(o, e, due)
	default:
		c.failed(o, e, e.Status, due)
	}
	return e
}

// failed counts the status of a call's answer and notes the failure.
func (c *Client) failed(o op, e *OpError, status int, due time.Duration) {
	if e.Class == measure.Status4xx || e.Class == measure.Status5xx {
		c.table.answered(o, status, due)
	}
	if c.note != nil && (c.patience == nil || !held(e)) {
		c.note(e)
	}
}

// mostBody returns how large the answer to a call may be, in bytes; 0 is wire's own limit, which is enough for every
// page.
func mostBody(o op) int64 {
	switch o {
	case opMyChannels, opMyChannelMembers, opTeamChannels, opTeamChannelMembers, opPreferences, opCategories, opGetThread:
		return 16 << 20 // lists that come whole
	case opFile:
		return 128 << 20 // nothing of it is kept; servers accept attachments of 100 MB unless they are set up otherwise
	}
	return 0
}

// decode calls read with memory reserved for the values decoded from a large answer: identifiers, names and times
// take less than the text that they are in, and slices that grow are there twice.
func (c *Client) decode(resp *wire.Response, read func(*wire.Response) error) (err error) {
	defer boundary.Recover("reading an answer", &err)
	if n := int64(len(resp.Body)); n > 64<<10 {
		if err := c.http.Reserve(2 * n); err != nil {
			return err
		}
	}
	return read(resp)
}

// ErrEffect is the error of an answer that does not show the effect of the call.
var ErrEffect = errors.New("the answer does not show the effect")

// millis formats a server time for a query.
func millis(t int64) string { return strconv.FormatInt(t, 10) }

// decimal formats the number or the size of a page.
func decimal(n int) string { return strconv.Itoa(n) }
