package newsfeed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// An op is a kind of call.
type op int

const (
	opParticipant op = iota
	opBefriend
	opStory
	opSearch
	opInbound
	opOutbound
)

var opNames = [...]string{"participant", "befriend", "story", "search", "inbound", "outbound"}

// Ops returns the names of the steady state's operations, of which rules may speak.
func Ops() []string { return opNames[:opInbound:opInbound] }

// A table holds the handles of the op names in one registry.
type table [len(opNames)]measure.Name

// newTable returns the names of the steady state, or with workload.Setup as prefix those of the
// calls around it.
func newTable(reg *measure.Registry, prefix string) *table {
	t := new(table)
	for i, name := range opNames {
		if prefix != "" {
			name = prefix + "_" + name
		}
		t[i] = reg.Name(name)
	}
	return t
}

// A recorder takes finished ops; workload.User is one.
type recorder interface {
	Begin(n measure.Name)
	Done(n measure.Name, due, sent, done time.Time, class measure.Class, bytes int64) time.Duration
}

// An opError is a call that did not have its effect.
type opError struct {
	Op     string
	Class  measure.Class
	Status int    // of the answer; 0 if there was none
	Said   string // the server's message, as [plain.Excerpt] shows it
	Err    error  // the cause, if it is not just the status
}

// Error names the op and the known cause.
func (e *opError) Error() string {
	text := e.Op + ": "
	if e.Status != 0 {
		text += fmt.Sprintf("status %d ", e.Status)
	}
	if e.Said != "" {
		text += strconv.Quote(e.Said) + " "
	}
	if e.Err != nil {
		text += plain.Excerpt(e.Err.Error(), 500) + " "
	}
	return text + "(" + e.Class.String() + ")"
}

// Unwrap returns the cause.
func (e *opError) Unwrap() error { return e.Err }

// A client is one user's side of the interface. Each method makes one request and records one op;
// its error is an [*opError], or the context's if the run ended (then nothing is recorded). It is
// not safe for concurrent use.
type client struct {
	http  *wire.Client
	set   settings
	rec   recorder
	table *table
	note  func(*opError)    // called with every failed op; may be nil
	reg   *measure.Registry // counts the statuses of failed ops; nil for calls that are not load
	body  []byte
}

func newClient(
	env *workload.Env,
	set settings,
	rec recorder,
	t *table,
	note func(*opError),
) (*client, error) {
	h, err := wire.NewClient(wire.Config{
		URL:       env.URL,
		HTTP2:     env.HTTP2,
		Timeout:   env.Timeout,
		Clock:     env.Clock,
		UserAgent: "plimsoll",
		Dial:      env.Dial,
	})
	if err != nil {
		return nil, err
	}
	return &client{http: h, set: set, rec: rec, table: t, note: note, reg: env.Registry}, nil
}

func (c *client) close() { _ = c.http.Close() } // it has no errors worth a word

// call makes a request and records it. read returns an error if the answer does not show the
// effect.
func (c *client) call(ctx context.Context, o op, req *wire.Request, read func([]byte) error) error {
	if req.Method == "POST" {
		req.Body, req.ContentType = c.body, "application/json"
		if c.set.form {
			req.ContentType = "application/x-www-form-urlencoded"
		}
	}
	c.rec.Begin(c.table[o])
	resp, err := c.http.Do(ctx, req)
	defer c.http.Release()
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	var e *opError
	switch {
	case err != nil:
		e = &opError{Op: opNames[o], Class: workload.ClassOf(err), Status: resp.Status, Err: err}
	case resp.Status != 200:
		e = &opError{
			Op:     opNames[o],
			Class:  workload.ClassOfStatus(resp.Status),
			Status: resp.Status,
			Said:   said(resp.Body),
		}
	default:
		if err := c.decode(resp.Body, read); err != nil {
			e = &opError{
				Op:     opNames[o],
				Class:  workload.ClassOf(err),
				Status: resp.Status,
				Err:    err,
			}
		}
	}
	class := measure.OK
	if e != nil {
		class = e.Class
	}
	due := c.rec.Done(c.table[o], resp.Due, resp.Sent, resp.Done, class, resp.BodyBytes)
	if e == nil {
		return nil
	}
	if class == measure.Status4xx || class == measure.Status5xx {
		workload.Answered(c.reg, opNames[o], e.Status, due)
	}
	if c.note != nil {
		c.note(e)
	}
	return e
}

const (
	// Bytes of a list of stories, which an audit reads whole, one after the other.
	mostList     = 32 << 20
	mostElements = 500_000 // objects in it
	mostFound    = 100_000 // commas in the result of a search: senders, or objects of two members
)

// decode calls read with memory reserved for the values decoded from a large answer.
func (c *client) decode(body []byte, read func([]byte) error) (err error) {
	defer boundary.Recover("reading an answer", &err)
	if len(body) > 64<<10 {
		if err := c.http.Reserve(2 * int64(len(body))); err != nil {
			return err
		}
	}
	return read(body)
}

// said is the error message of an answer in JSON.
func said(body []byte) string {
	var v struct{ Error string }
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	return plain.Excerpt(v.Error, 200)
}

// errEffect is the error of an answer that does not show the effect of the call.
var errEffect = errors.New("the answer does not show the effect")

// field appends one member of a request's body. Values are digits, letters, spaces, dashes and
// slashes only.
func (c *client) field(name, value string) {
	if c.set.form {
		if len(c.body) > 0 {
			c.body = append(c.body, '&')
		}
		c.body = append(append(c.body, name...), '=')
		for i := range len(value) {
			switch ch := value[i]; ch {
			case ' ':
				c.body = append(c.body, '+')
			case '/':
				c.body = append(c.body, "%2F"...)
			default:
				c.body = append(c.body, ch)
			}
		}
		return
	}
	sep := ","
	if len(c.body) == 0 {
		sep = "{"
	}
	c.body = append(
		append(append(append(append(append(c.body, sep...), '"'), name...), `":"`...), value...),
		'"',
	)
}

// end finishes a request's body.
func (c *client) end() {
	if !c.set.form {
		c.body = append(c.body, '}')
	}
}

// ref is a participant as a request names it.
func (c *client) ref(id int64) string {
	n := strconv.FormatInt(id, 10)
	if c.set.legacy {
		return n
	}
	return linkPrefix + n
}

const linkPrefix = "/participant/"

// refID reads a participant's number from a number, a link, or an object that has it as id; 0 if it
// is none of them.
func refID(raw json.RawMessage) int64 {
	if bytes.HasPrefix(raw, []byte("{")) {
		var v struct{ ID int64 }
		_ = json.Unmarshal(raw, &v) // 0 then
		return v.ID
	}
	id, err := strconv.ParseInt(
		strings.TrimPrefix(strings.Trim(string(raw), `"`), linkPrefix),
		10,
		64,
	)
	if err != nil {
		return 0
	}
	return id
}

// path returns the path of an operation: this generation's.
func (c *client) path(legacy, rest string, id int64) string {
	if c.set.legacy {
		return legacy
	}
	return strings.Replace(rest, "{id}", strconv.FormatInt(id, 10), 1)
}

// participant creates a participant and returns its number.
func (c *client) participant(ctx context.Context, name string) (id int64, err error) {
	c.body = c.body[:0]
	c.field("name", name)
	c.end()
	err = c.call(ctx, opParticipant, &wire.Request{
		Method: "POST",
		Path:   c.path("/participant/new", "/participant", 0),
	}, func(b []byte) error {
		var v struct {
			ID   int64
			Name string
		}
		b = bytes.TrimSpace(b)
		if bytes.HasPrefix(b, []byte("[")) { // some releases answer with an array of one
			b = bytes.TrimSuffix(b[1:], []byte("]"))
		}
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		if v.ID < 1 || v.Name != name {
			return fmt.Errorf("%w: participant %d of name %q", errEffect, v.ID, v.Name)
		}
		id = v.ID
		return nil
	})
	return id, err
}

// befriend makes a friendship.
func (c *client) befriend(ctx context.Context, from, to int64) error {
	c.body = c.body[:0]
	c.field("from", c.ref(from))
	c.field("to", c.ref(to))
	c.end()
	return c.call(ctx, opBefriend, &wire.Request{
		Method: "POST",
		Path:   c.path("/friends/new", "/participant/{id}/friends", from),
	}, func(b []byte) error {
		var v struct {
			ID       int64
			From, To json.RawMessage
		}
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		if v.ID < 1 || refID(v.From) != from || refID(v.To) != to {
			return fmt.Errorf("%w: friendship %d", errEffect, v.ID)
		}
		return nil
	})
}

// story posts a story.
func (c *client) story(ctx context.Context, from int64, occurred, subject, text string) error {
	c.body = c.body[:0]
	c.field("from", c.ref(from))
	c.field("occurred", occurred)
	c.field("subject", subject)
	c.field("story", text)
	c.end()
	return c.call(ctx, opStory, &wire.Request{
		Method: "POST",
		Path:   c.path("/outbound/new", "/participant/{id}/outbound", from),
	}, func(b []byte) error {
		var v struct {
			From    json.RawMessage
			Subject string
		}
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		if refID(v.From) != from || v.Subject != subject {
			return fmt.Errorf("%w: not the story's sender and subject", errEffect)
		}
		return nil
	})
}

// search looks for a word; it may have no matches.
func (c *client) search(ctx context.Context, word string) error {
	req := &wire.Request{Path: "/outbound?keywords=" + word}
	if c.set.legacy {
		c.body = c.body[:0]
		c.field("terms", word)
		c.end()
		req = &wire.Request{Method: "POST", Path: "/outbound/search", Repeatable: true}
	}
	return c.call(ctx, opSearch, req, func(b []byte) error {
		if bytes.Count(b, []byte{','}) > mostFound {
			return wire.Exceeded(wire.ErrElements)
		}
		v, err := list[json.RawMessage](b)
		if err != nil {
			return err
		}
		for _, ref := range v {
			if refID(ref) < 1 {
				return fmt.Errorf("%w: a sender without number", errEffect)
			}
		}
		return nil
	})
}

// subjects reads the subjects of a participant's inbound or outbound.
func (c *client) subjects(ctx context.Context, o op, id int64) (all []string, err error) {
	n := strconv.FormatInt(id, 10)
	path := c.path("/"+opNames[o]+"/"+n, "/participant/{id}/"+opNames[o], id)
	err = c.call(ctx, o, &wire.Request{Path: path, MaxBody: mostList}, func(b []byte) error {
		if bytes.Count(b, []byte{'{'}) > mostElements {
			return wire.Exceeded(wire.ErrElements)
		}
		v, err := list[struct{ Subject string }](b)
		if err != nil {
			return err
		}
		for _, m := range v {
			if m.Subject == "" {
				return fmt.Errorf("%w: a story without subject", errEffect)
			}
			all = append(all, m.Subject)
		}
		return nil
	})
	return all, err
}

// list reads an array, which null is not.
func list[T any](b []byte) (v []T, err error) {
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("%w: no list", errEffect)
	}
	return v, nil
}
