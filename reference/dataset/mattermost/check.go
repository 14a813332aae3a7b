package mattermost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Counts are the numbers of objects in a file.
type Counts struct {
	Teams, Channels, Users, DirectChannels int
	Posts, Replies, Reactions, Attachments int
}

// maxLine is the longest line that servers read.
const maxLine = 16 << 20

// order lists the types of lines as they follow each other in a file.
var order = []string{"version", "team", "channel", "user", "post", "direct_channel", "direct_post"}

// Check reads a file as strictly as the documentation allows, and returns the first error with its
// line. It keeps the names of teams, channels and users, and the memberships.
func Check(ctx context.Context, r io.Reader) (Counts, error) {
	c := checker{seen: map[string]bool{}}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<20), maxLine)
	n := 0
	for sc.Scan() {
		n++
		if n%1024 == 0 && ctx.Err() != nil {
			return c.n, context.Cause(ctx)
		}
		if err := c.line(n, sc.Bytes()); err != nil {
			return c.n, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return c.n, fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return c.n, errors.New("line 1: the file is empty; want a version")
	}
	return c.n, nil
}

type checker struct {
	n  Counts
	at int // index in order of the type of the last line
	// What the lines before have: "team T", "channel T C", "user U", "direct channel U V …" with
	// its members sorted, and "member T C U".
	seen map[string]bool
}

var (
	nameForm = regexp.MustCompile(`^[a-z0-9]+([a-z0-9_-]+|__)[a-z0-9]+$`)
	userForm = regexp.MustCompile(`^[a-z][a-z0-9._-]{2,21}$`)
)

func (c *checker) line(n int, b []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("this is not JSON: %w", err)
	}
	at := slices.Index(order, head.Type)
	switch {
	case at < 0:
		return fmt.Errorf("type %q: want one of %s", head.Type, strings.Join(order, ", "))
	case (n == 1) != (head.Type == "version"):
		return errors.New("the version must be the first line, and only that")
	case at < c.at:
		return fmt.Errorf("a %s after a %s: want the order %s", head.Type, order[c.at],
			strings.Join(order, ", "))
	}
	c.at = at
	var l line
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return fmt.Errorf("%s: %w", head.Type, err)
	}
	if head.Type == "version" {
		if l.Version != 1 {
			return fmt.Errorf("version %d: want 1", l.Version)
		}
		return nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw) != 2 || raw[head.Type] == nil {
		return fmt.Errorf("want the fields type and %s, and no other", head.Type)
	}
	value := reflect.ValueOf(l).FieldByNameFunc(func(name string) bool {
		f, _ := reflect.TypeFor[line]().FieldByName(name)
		return strings.HasPrefix(f.Tag.Get("json"), head.Type+",")
	})
	if err := required(raw[head.Type], value.Type().Elem()); err != nil {
		return fmt.Errorf("%s: %w", head.Type, err)
	}
	return c.object(l)
}

// required reports a field of t that the JSON object lacks. Those that may be left out are marked
// omitempty.
func required(b json.RawMessage, t reflect.Type) error {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(b, &have); err != nil {
		return err
	}
	for f := range fields(t) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		v, ok := have[name]
		if !ok {
			if option == "omitempty" {
				continue
			}
			return fmt.Errorf("the field %s is missing", name)
		}
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			var list []json.RawMessage
			if err := json.Unmarshal(v, &list); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for i, e := range list {
				if err := required(e, f.Type.Elem()); err != nil {
					return fmt.Errorf("%s[%d]: %w", name, i, err)
				}
			}
		}
	}
	return nil
}

// fields yields the fields of a struct and of those embedded in it.
func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if !f.Anonymous && !yield(f) {
				return
			}
		}
	}
}

func (c *checker) object(l line) error {
	switch {
	case l.Team != nil:
		c.n.Teams++
		return c.fresh("team", l.Team.Name, nameForm)
	case l.Channel != nil:
		c.n.Channels++
		x := l.Channel
		if !c.seen["team "+x.Team] {
			return fmt.Errorf("channel %s: there is no team %q before it", x.Name, x.Team)
		}
		if x.Type != "O" && x.Type != "P" {
			return fmt.Errorf("channel %s: type %q: want O or P", x.Name, x.Type)
		}
		if len(x.DisplayName) > 64 || len(x.Purpose) > 250 || len(x.Header) > 1024 ||
			x.DisplayName == "" {
			return fmt.Errorf(
				"channel %s: display name, purpose or header is too long, or missing",
				x.Name,
			)
		}
		if !nameForm.MatchString(x.Name) {
			return fmt.Errorf("channel %q: not a name", x.Name)
		}
		return c.fresh("channel", x.Team+" "+x.Name, nil)
	case l.User != nil:
		return c.user(l.User)
	case l.DirectChannel != nil:
		c.n.DirectChannels++
		if err := c.people(l.DirectChannel.Members); err != nil {
			return err
		}
		return c.fresh("direct channel", people(l.DirectChannel.Members), nil)
	case l.Post != nil:
		p := l.Post
		if !c.seen["channel "+p.Team+" "+p.Channel] && p.Channel != "town-square" &&
			p.Channel != "off-topic" ||
			!c.seen["team "+p.Team] {
			return fmt.Errorf(
				"post: there is no channel %s in team %s before it",
				p.Channel,
				p.Team,
			)
		}
		return c.thread(p.body, p.Replies,
			func(u string) bool { return c.seen["member "+p.Team+" "+p.Channel+" "+u] })
	default:
		p := l.DirectPost
		if !c.seen["direct channel "+people(p.ChannelMembers)] {
			return fmt.Errorf(
				"direct_post: there is no direct channel of %v before it",
				p.ChannelMembers,
			)
		}
		return c.thread(p.body, p.Replies,
			func(u string) bool { return slices.Contains(p.ChannelMembers, u) })
	}
}

// fresh notes a thing, which must be new and, with a form, have that form of name.
func (c *checker) fresh(what, name string, form *regexp.Regexp) error {
	if form != nil && !form.MatchString(name) {
		return fmt.Errorf("%s %q: not a name", what, name)
	}
	key := what + " " + name
	if c.seen[key] {
		return fmt.Errorf("%s is there twice", key)
	}
	c.seen[key] = true
	return nil
}

func (c *checker) user(u *user) error {
	c.n.Users++
	if err := c.fresh("user", u.Username, userForm); err != nil {
		return err
	}
	if !strings.Contains(u.Email, "@") || len(u.Password) < 5 {
		return fmt.Errorf("user %s: invalid email or password", u.Username)
	}
	for _, t := range u.Teams {
		if !c.seen["team "+t.Name] {
			return fmt.Errorf("user %s: there is no team %q before it", u.Username, t.Name)
		}
		for _, name := range []string{"town-square", "off-topic"} {
			c.seen["member "+t.Name+" "+name+" "+u.Username] = true
		}
		for _, ch := range t.Channels {
			if !c.seen["channel "+t.Name+" "+ch.Name] {
				return fmt.Errorf(
					"user %s: there is no channel %s in team %s before it",
					u.Username,
					ch.Name,
					t.Name,
				)
			}
			c.seen["member "+t.Name+" "+ch.Name+" "+u.Username] = true
		}
	}
	return nil
}

func people(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (c *checker) people(names []string) error {
	if n := len(names); n < 2 || n > 8 {
		return fmt.Errorf("%d members: want 2 to 8", n)
	}
	for i, u := range names {
		if !c.seen["user "+u] || slices.Contains(names[:i], u) {
			return fmt.Errorf("member %q is not known, or there twice", u)
		}
	}
	return nil
}

func (c *checker) thread(root body, replies []body, member func(string) bool) error {
	c.n.Replies += len(replies)
	last := int64(0)
	for i, b := range append([]body{root}, replies...) {
		c.n.Posts++
		switch {
		case !member(b.User):
			return fmt.Errorf("the author %q of post %d of the thread is no member", b.User, i)
		case b.Message == "" || utf8.RuneCountInString(b.Message) > 16383:
			return fmt.Errorf("post %d of the thread has no text, or more than 16383 characters", i)
		case b.CreateAt <= last:
			return fmt.Errorf("post %d of the thread is not after the one before it", i)
		}
		last = b.CreateAt
		for _, r := range b.Reactions {
			c.n.Reactions++
			if !c.seen["user "+r.User] || r.EmojiName == "" || len(r.EmojiName) > 64 ||
				r.CreateAt < b.CreateAt {
				return fmt.Errorf(
					"post %d of the thread: the reaction %+v is older than the post, or of an unknown user",
					i,
					r,
				)
			}
		}
		for _, a := range b.Attachments {
			c.n.Attachments++
			if a.Path == "" || strings.HasPrefix(a.Path, "/") || strings.Contains(a.Path, "..") {
				return fmt.Errorf(
					"post %d of the thread: the attachment %q leads out of the directory",
					i,
					a.Path,
				)
			}
		}
	}
	return nil
}
