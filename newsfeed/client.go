package newsfeed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// A client is one user's side of the interface. Each method makes one request and records one op;
// its error is that of [workload.Caller.Do]. It is not safe for concurrent use.
type client struct {
	*workload.Caller
	set    settings
	prefix string // of the names of ops
	body   []byte
}

// call makes a request and records it. read returns an error if the answer does not show the
// effect.
func (c *client) call(
	ctx context.Context, o op, req *wire.Request, read func([]byte) error,
) (*wire.Response, error) {
	if req.Method == "POST" {
		req.Body, req.ContentType = c.body, "application/json"
		if c.set.form {
			req.ContentType = "application/x-www-form-urlencoded"
		}
	}
	return c.Do(ctx, c.prefix+opNames[o], req, read)
}

const (
	// Bytes of a list of stories, which an audit reads whole, one after the other.
	mostList     = 32 << 20
	mostElements = 500_000 // objects in it
	mostFound    = 100_000 // commas in the result of a search: senders, or objects of two members
)

// errEffect is the error of an answer that does not show the effect of the call.
var errEffect = errors.New("the answer does not show the effect")

// fill makes the body of a request from its members, names before values. Values are digits, letters,
// spaces, dashes and slashes only.
func (c *client) fill(members ...string) {
	begin, between, middle, end := `{"`, `","`, `":"`, `"}`
	if c.set.form {
		begin, between, middle, end = "", "&", "=", ""
	}
	c.body = append(c.body[:0], begin...)
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			c.body = append(c.body, between...)
		}
		c.body = append(append(c.body, members[i]...), middle...)
		if c.set.form {
			c.escape(members[i+1])
		} else {
			c.body = append(c.body, members[i+1]...)
		}
	}
	c.body = append(c.body, end...)
}

// escape appends a value of a form.
func (c *client) escape(value string) {
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

// post makes a request that creates something, with the body that was filled in.
func (c *client) post(
	ctx context.Context, o op, legacy, rest string, id int64, read func([]byte) error,
) (*wire.Response, error) {
	return c.call(ctx, o, &wire.Request{Method: "POST", Path: c.path(legacy, rest, id)}, read)
}

// participant creates a participant and returns its number.
func (c *client) participant(ctx context.Context, name string) (id int64, err error) {
	c.fill("name", name)
	_, err = c.post(ctx, opParticipant, "/participant/new", "/participant", 0, func(b []byte) error {
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
	c.fill("from", c.ref(from), "to", c.ref(to))
	const rest = "/participant/{id}/friends"
	_, err := c.post(ctx, opBefriend, "/friends/new", rest, from, func(b []byte) error {
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
	return err
}

// story posts a story, and returns the response for its instants.
func (c *client) story(
	ctx context.Context, from int64, occurred, subject, text string,
) (*wire.Response, error) {
	c.fill("from", c.ref(from), "occurred", occurred, "subject", subject, "story", text)
	const rest = "/participant/{id}/outbound"
	return c.post(ctx, opStory, "/outbound/new", rest, from, func(b []byte) error {
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
		c.fill("terms", word)
		req = &wire.Request{Method: "POST", Path: "/outbound/search", Repeatable: true}
	}
	_, err := c.call(ctx, opSearch, req, func(b []byte) error {
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
	return err
}

// subjects reads the subjects of a participant's inbound or outbound.
func (c *client) subjects(ctx context.Context, o op, id int64) (all []string, err error) {
	n := strconv.FormatInt(id, 10)
	path := c.path("/"+opNames[o]+"/"+n, "/participant/{id}/"+opNames[o], id)
	_, err = c.call(ctx, o, &wire.Request{Path: path, MaxBody: mostList}, func(b []byte) error {
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
