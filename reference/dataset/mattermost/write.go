package mattermost

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"plimsoll/reference/dataset"
)

// Options of [Write].
type Options struct {
	Password    string // of all users; default DefaultPassword
	Attachments bool   // posts refer to the files that WriteAttachments makes
	// called after each chunk of posts with the number written so far; may be nil
	Progress func(posts int)
}

// DefaultPassword is not a secret: it opens only accounts that were made for tests. Servers'
// default rules accept it.
const DefaultPassword = "Password-1"

const attachmentsDir = "attachments"

// WriteAttachments writes the attachments of every population into a directory "attachments" in
// dir: 1 MB.
func WriteAttachments(dir string) error {
	dir = filepath.Join(dir, attachmentsDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the attachments: %w", err)
	}
	for _, k := range dataset.FileKinds {
		if err := os.WriteFile(filepath.Join(dir, fileName(k)), k.Content(), 0o644); err != nil {
			return fmt.Errorf("writing the attachments: %w", err)
		}
	}
	return nil
}

func fileName(k dataset.FileKind) string { return "file." + string(k) }

// writer writes lines until the first error.
type writer struct {
	p   *dataset.Population
	opt Options
	enc *json.Encoder
	err error
}

func (w *writer) line(l line) {
	if w.err == nil {
		w.err = w.enc.Encode(l)
	}
}

// Write writes the whole population.
func Write(ctx context.Context, to io.Writer, p *dataset.Population, opt Options) error {
	if opt.Password == "" {
		opt.Password = DefaultPassword
	}
	buf := bufio.NewWriterSize(to, 1<<20)
	w := &writer{p: p, opt: opt, enc: json.NewEncoder(buf)}
	w.enc.SetEscapeHTML(false)
	w.line(line{Type: "version", Version: 1})
	for t := range p.Teams() {
		x := p.Team(t)
		w.line(line{Type: "team", Team: &team{x.Name, x.DisplayName, "O", true}})
	}
	for c := range p.Channels() {
		if x := p.Channel(c); x.Made() {
			w.line(line{
				Type: "channel",
				Channel: &channel{
					p.TeamName(x.Team),
					x.Name,
					x.DisplayName,
					x.Type.Letter(),
					x.Header,
					x.Purpose,
				},
			})
		}
	}
	w.users(ctx)
	done := 0
	w.posts(ctx, true, &done)
	for c := range p.Channels() {
		if !shared(p.Channel(c)) {
			w.line(line{Type: "direct_channel", DirectChannel: &directChannel{w.members(c)}})
		}
	}
	w.posts(ctx, false, &done)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if w.err == nil {
		w.err = buf.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("writing the data: %w", w.err)
	}
	return nil
}

// shared reports whether a channel belongs to a team.
func shared(c dataset.Channel) bool { return c.Team >= 0 }

func (w *writer) members(c int) []string {
	var names []string
	for k := range w.p.Channel(c).Members {
		names = append(names, w.p.UserName(w.p.Member(c, k)))
	}
	return names
}

func (w *writer) users(ctx context.Context) {
	p := w.p
	in := make([][]int32, p.Users()) // channels of each user
	for c := range p.Channels() {
		if x := p.Channel(c); x.Made() {
			for k := range x.Members {
				u := p.Member(c, k)
				in[u] = append(in[u], int32(c))
			}
		}
	}
	for i := range p.Users() {
		if ctx.Err() != nil {
			return
		}
		x := p.User(i)
		u := user{
			Username:  x.Name,
			Email:     x.MailAddress,
			Password:  w.opt.Password,
			FirstName: x.FirstName,
			LastName:  x.LastName,
			Position:  x.Position,
			Roles:     "system_user",
			Locale:    "en",
		}
		for t := range p.Teams() {
			if i >= p.Team(t).Members { // members of a team are those with the smallest numbers
				break
			}
			ut := userTeam{
				Name:     p.TeamName(t),
				Roles:    roles("team", i == 0),
				Channels: []userChannel{},
			}
			for _, c := range in[i] {
				if ch := p.Channel(int(c)); ch.Team == t {
					ut.Channels = append(
						ut.Channels,
						userChannel{ch.Name, roles("channel", ch.Creator == i)},
					)
				}
			}
			u.Teams = append(u.Teams, ut)
		}
		w.line(line{Type: "user", User: &u})
	}
}

func roles(of string, admin bool) string {
	if admin {
		return of + "_user " + of + "_admin"
	}
	return of + "_user"
}

// posts writes the roots in teams' channels, or the others, each with its replies.
func (w *writer) posts(ctx context.Context, inTeams bool, done *int) {
	var c dataset.Chunk
	for k := range w.p.Chunks() {
		w.p.Chunk(k, &c)
		for i := range c.Posts {
			if c.Posts[i].Root >= 0 {
				continue
			}
			if w.err != nil || ctx.Err() != nil {
				return
			}
			n := int(c.Posts[i].Channel)
			ch := w.p.Channel(n)
			if shared(ch) != inTeams {
				continue
			}
			var replies []body
			c.Thread(i, func(r int) { replies = append(replies, w.body(&c, r)) })
			if inTeams {
				w.line(line{
					Type: "post",
					Post: &post{w.p.TeamName(ch.Team), ch.Name, w.body(&c, i), replies},
				})
			} else {
				w.line(line{
					Type:       "direct_post",
					DirectPost: &directPost{w.members(n), w.body(&c, i), replies},
				})
			}
			*done += 1 + len(replies)
		}
		if w.opt.Progress != nil {
			w.opt.Progress(*done)
		}
	}
}

func (w *writer) body(c *dataset.Chunk, i int) body {
	post := &c.Posts[i]
	b := body{
		User:     w.p.UserName(int(post.Author)),
		Message:  string(c.AppendText(nil, i)),
		CreateAt: post.At,
	}
	for _, r := range c.AppendReactions(nil, i) {
		b.Reactions = append(b.Reactions, reaction{w.p.UserName(r.User), r.Emoji, r.At})
	}
	if w.opt.Attachments {
		for _, f := range c.AppendFiles(nil, i) {
			b.Attachments = append(
				b.Attachments,
				attachment{attachmentsDir + "/" + fileName(f.Kind)},
			)
		}
	}
	return b
}
