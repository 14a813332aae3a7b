package refchat

import (
	"io"
	"strconv"

	"plimsoll/reference/dataset"
)

// A stream is a part of a table's rows, in the text form that COPY and LOAD DATA share: columns
// separated by tabs, rows ended by a newline. No text of a population has a character that would
// have to be escaped.
type stream struct {
	table   string
	columns string
	rows    int64 // about how many, for progress
	open    func() io.Reader
}

// reader calls next for more rows whenever its buffer is empty; next returns dst unchanged at the
// end.
type reader struct {
	next func(dst []byte) []byte
	buf  []byte
	at   int
}

const readAhead = 256 << 10 // bytes of rows made at a time

func (r *reader) Read(p []byte) (int, error) {
	if r.at == len(r.buf) {
		r.buf, r.at = r.buf[:0], 0
		for len(r.buf) < readAhead {
			before := len(r.buf)
			if r.buf = r.next(r.buf); len(r.buf) == before {
				break
			}
		}
		if len(r.buf) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.buf[r.at:])
	r.at += n
	return n, nil
}

// each makes the reader of a table with n things, of which row appends the rows.
func each(n int, row func(dst []byte, i int) []byte) func() io.Reader {
	return func() io.Reader {
		i := 0
		return &reader{next: func(dst []byte) []byte {
			for before := len(dst); i < n && len(dst) == before; i++ { // a thing may have no row
				dst = row(dst, i)
			}
			return dst
		}}
	}
}

// line builds one row.
type line []byte

// add appends cells.
func (l *line) add(cells ...any) {
	b := *l
	for _, c := range cells {
		switch c := c.(type) {
		case string:
			b = append(b, c...)
		case dataset.ID:
			b = append(b, c[:]...)
		case int64:
			b = strconv.AppendInt(b, c, 10)
		case int:
			b = strconv.AppendInt(b, int64(c), 10)
		case int32:
			b = strconv.AppendInt(b, int64(c), 10)
		case bool:
			if c {
				b = append(b, '1')
			} else {
				b = append(b, '0')
			}
		}
		b = append(b, '\t')
	}
	*l = b
}

// end appends the last cells and ends the row: a newline is in the place of the last tab.
func (l *line) end(cells ...any) {
	l.add(cells...)
	(*l)[len(*l)-1] = '\n'
}

// Values that the server writes for a new user and a new member; TestAsTheServer compares.
const (
	userNotify   = `{"channel":"true","comments":"never","desktop":"mention","desktop_sound":"true","email":"true","first_name":"false","mention_keys":"","push":"mention","push_status":"away"}`
	memberNotify = `{"desktop":"default","email":"default","ignore_channel_mentions":"default","mark_unread":"all","push":"default"}`
	timezone     = `{"automaticTimezone":"","manualTimezone":"","useAutomaticTimezone":"true"}`
)

// streams are all rows of a population. hash is the password of every user.
func streams(p *dataset.Population, t *dataset.Totals, hash string) []stream {
	s := base(p, t, hash)
	posts := int64(p.Spec().Posts) / int64(p.Chunks())
	per := func(all int) int64 { return int64(all) / int64(p.Chunks()) }
	for k := range p.Chunks() {
		s = append(s,
			stream{"posts",
				"id, createat, updateat, editat, deleteat, ispinned, userid, channelid, rootid, parentid, originalid, " +
					"message, type, props, hashtags, fileids, hasreactions", posts, inChunk(p, k, postRow(p))},
			stream{"threads", "postid, channelid, replycount, lastreplyat, participants",
				per(t.Counts.Threads), inChunk(p, k, threadRow(p))},
			stream{"threadmemberships", "postid, userid, following, lastviewed, lastupdated, unreadmentions",
				per(t.Counts.Participants), inChunk(p, k, followRow(p))},
			stream{"reactions", "userid, postid, emojiname, createat, updateat, deleteat",
				per(t.Counts.Reactions), inChunk(p, k, reactionRow(p))},
			stream{"fileinfo",
				"id, creatorid, postid, channelid, createat, updateat, deleteat, path, thumbnailpath, previewpath, name, " +
					"extension, size, mimetype, width, height, haspreviewimage, content", per(t.Counts.Files),
				inChunk(p, k, fileRow(p))},
		)
	}
	return s
}

// base are the tables whose size does not depend on the number of posts.
func base(p *dataset.Population, t *dataset.Totals, hash string) []stream {
	users, channels := p.Users(), p.Channels()
	return []stream{
		{"users", "id, createat, updateat, deleteat, username, password, authservice, email, emailverified, nickname, firstname, lastname, " +
			"position, roles, allowmarketing, props, notifyprops, lastpasswordupdate, lastpictureupdate, failedattempts, locale, timezone, lastlogin",
			int64(users), each(users, func(dst []byte, i int) []byte {
				u, l := p.User(i), line(dst)
				l.end(u.ID, u.CreateAt, u.CreateAt, 0, u.Name, hash, "", u.MailAddress, false, "",
					u.FirstName, u.LastName, u.Position, "system_user", false, "{}", userNotify, u.CreateAt,
					0, 0, "en", timezone, 0)
				return l
			})},
		{"status", "userid, status, manual, lastactivityat", int64(users), each(users, func(dst []byte, i int) []byte {
			u, l := p.User(i), line(dst)
			l.end(u.ID, "offline", false, u.LastActive)
			return l
		})},
		{"teams", "id, createat, updateat, deleteat, displayname, name, description, email, type, companyname, alloweddomains, inviteid, allowopeninvite",
			int64(p.Teams()), each(p.Teams(), func(dst []byte, i int) []byte {
				t, l := p.Team(i), line(dst)
				l.end(t.ID, t.CreateAt, t.CreateAt, 0, t.DisplayName, t.Name, "", "", "O", "", "",
					t.InviteID, true)
				return l
			})},
		{"teammembers", "teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest", int64(users), each(p.Teams(), func(dst []byte, i int) []byte {
			t, l := p.Team(i), line(dst)
			for k := range t.Members {
				l.end(t.ID, p.UserID(p.TeamMember(i, k)), "", 0, true, k == 0, false)
			}
			return l
		})},
		{"channels",
			"id, createat, updateat, deleteat, teamid, type, displayname, name, header, purpose, lastpostat, totalmsgcount, extraupdateat, " +
				"creatorid, totalmsgcountroot", int64(channels),
			each(channels, func(dst []byte, i int) []byte { return channelRow(p, t, dst, i) })},
		{"channelmembers",
			"channelid, userid, roles, lastviewedat, msgcount, mentioncount, notifyprops, lastupdateat, schemeuser, schemeadmin, " +
				"schemeguest, mentioncountroot, msgcountroot", int64(4 * channels),
			each(channels, func(dst []byte, i int) []byte { return memberRows(p, t, dst, i) })},
		{"preferences", "userid, category, name, value", int64(2 * channels),
			each(channels, func(dst []byte, i int) []byte { return preferenceRows(p, dst, i) })},
		{"sidebarcategories", "id, userid, teamid, sortorder, sorting, type, displayname, muted, collapsed", int64(3 * users), each(p.Teams(), func(dst []byte, i int) []byte {
			l, t := line(dst), p.Team(i)
			for k := range t.Members {
				u := p.TeamMember(i, k)
				for n, c := range [3][3]string{{"favorites", "", "Favorites"}, {"channels", "", "Channels"}, {"direct_messages", "recent", "Direct Messages"}} {
					l.end(p.Category(c[0], u, i), p.UserID(u), t.ID, int64(10*n), c[1], c[0], c[2], false,
						false)
				}
			}
			return l
		})},
	}
}

func channelRow(p *dataset.Population, t *dataset.Totals, dst []byte, i int) []byte {
	c, l := p.Channel(i), line(dst)
	posts, roots, last := t.Channel(i)
	name, display, creator := c.Name, c.DisplayName, ""
	if c.Made() {
		creator = p.UserID(c.Creator).String()
	} else if c.Team < 0 {
		name, display = personal(p, i, c)
		creator = p.UserID(c.Creator).String()
	}
	l.add(c.ID, c.CreateAt, c.CreateAt, 0)
	if c.Team >= 0 {
		l.add(p.TeamID(c.Team))
	} else {
		l.add("")
	}
	l.end(c.Type.Letter(), display, name, c.Header, c.Purpose, last, posts, 0, creator, roots)
	return l
}

func memberRows(p *dataset.Population, t *dataset.Totals, dst []byte, i int) []byte {
	c, l := p.Channel(i), line(dst)
	for k := range c.Members {
		s := t.Seat(i, k)
		l.end(c.ID, p.UserID(p.Member(i, k)), "", s.ViewedAt, s.Posts, s.UnreadMentions, memberNotify,
			s.ViewedAt, true, c.Made() && k == 0, false, s.UnreadInRoot, s.Roots)
	}
	return l
}

// preferenceRows appends the preferences by which clients show a direct or group channel to its
// members.
func preferenceRows(p *dataset.Population, dst []byte, i int) []byte {
	c, l := p.Channel(i), line(dst)
	if c.Team >= 0 {
		return dst
	}
	for k := range c.Members {
		l.add(p.UserID(p.Member(i, k)))
		if c.Type == dataset.Direct {
			l.add("direct_channel_show", p.UserID(p.Member(i, 1-k)))
		} else {
			l.add("group_channel_show", c.ID)
		}
		l.end("true")
	}
	return l
}

// inChunk makes the reader of a chunk's rows. The chunk is computed when it is first read from.
func inChunk(p *dataset.Population, k int, row func(dst []byte, c *dataset.Chunk, i int) []byte) func() io.Reader {
	return func() io.Reader {
		var c *dataset.Chunk
		i := 0
		return &reader{next: func(dst []byte) []byte {
			if c == nil {
				c = &dataset.Chunk{}
				p.Chunk(k, c)
			}
			for before := len(dst); i < len(c.Posts) && len(dst) == before; i++ {
				dst = row(dst, c, i)
			}
			return dst
		}}
	}
}

func postRow(p *dataset.Population) func(dst []byte, c *dataset.Chunk, i int) []byte {
	return func(dst []byte, c *dataset.Chunk, i int) []byte {
		post, l := &c.Posts[i], line(dst)
		var reactions []dataset.Reaction
		if post.Reacted {
			reactions = c.AppendReactions(nil, i)
		}
		l.add(c.ID(i), post.At, c.UpdateAt(i, reactions), 0, 0, false, p.UserID(int(post.Author)),
			p.ChannelID(int(post.Channel)))
		if post.Root >= 0 {
			root := c.ID(int(post.Root))
			l.add(root, root)
		} else {
			l.add("", "")
		}
		l.add("")
		l = append(c.AppendText(l, i), '\t')
		l.add("", "{}", "")
		if post.Files == 0 {
			l.add("[]")
		} else {
			l = append(l, '[')
			for n, f := range c.AppendFiles(nil, i) {
				if n > 0 {
					l = append(l, ',')
				}
				l = append(append(append(l, '"'), f.ID[:]...), '"')
			}
			l.add("]")
		}
		l.end(post.Reacted)
		return l
	}
}

// participants returns who wrote in a thread, in the order of their first posts.
func participants(c *dataset.Chunk, root int) []int32 {
	list := []int32{c.Posts[root].Author}
	seen := map[int32]bool{list[0]: true}
	c.Thread(root, func(k int) {
		if a := c.Posts[k].Author; !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	})
	return list
}

func threadRow(p *dataset.Population) func(dst []byte, c *dataset.Chunk, i int) []byte {
	return func(dst []byte, c *dataset.Chunk, i int) []byte {
		post, l := &c.Posts[i], line(dst)
		if post.Replies == 0 {
			return dst
		}
		l.add(c.ID(i), p.ChannelID(int(post.Channel)), post.Replies, c.Posts[c.LastReply(i)].At)
		l = append(l, '[')
		for n, u := range participants(c, i) {
			if n > 0 {
				l = append(l, ',')
			}
			id := p.UserID(int(u))
			l = append(append(append(l, '"'), id[:]...), '"')
		}
		l.end("]")
		return l
	}
}

func followRow(p *dataset.Population) func(dst []byte, c *dataset.Chunk, i int) []byte {
	return func(dst []byte, c *dataset.Chunk, i int) []byte {
		post, l := &c.Posts[i], line(dst)
		if post.Replies == 0 {
			return dst
		}
		id, last := c.ID(i), c.Posts[c.LastReply(i)].At
		for _, u := range participants(c, i) {
			l.end(id, p.UserID(int(u)), true, last, last, 0)
		}
		return l
	}
}

func reactionRow(p *dataset.Population) func(dst []byte, c *dataset.Chunk, i int) []byte {
	return func(dst []byte, c *dataset.Chunk, i int) []byte {
		if !c.Posts[i].Reacted {
			return dst
		}
		l, id := line(dst), c.ID(i)
		for _, r := range c.AppendReactions(nil, i) {
			l.end(p.UserID(r.User), id, r.Emoji, r.At, r.At, 0)
		}
		return l
	}
}

func fileRow(p *dataset.Population) func(dst []byte, c *dataset.Chunk, i int) []byte {
	return func(dst []byte, c *dataset.Chunk, i int) []byte {
		post, l := &c.Posts[i], line(dst)
		for _, f := range c.AppendFiles(nil, i) {
			l.add(f.ID, p.UserID(int(post.Author)), c.ID(i), p.ChannelID(int(post.Channel)), post.At,
				post.At, 0, filePath(f.Kind))
			side := f.Kind.Pixels()
			if side > 0 {
				l.add(thumbPath(f.Kind), previewPath(f.Kind))
			} else {
				l.add("", "")
			}
			l.end(f.Name, string(f.Kind), int64(f.Kind.Size()), f.Kind.MIME(), side, side, side > 0, "")
		}
		return l
	}
}
