package refchat

import (
	"io"
	"strconv"

	"plimsoll/reference/dataset"
)

// A stream is a part of a table's rows, in the text form that COPY and LOAD DATA share: columns separated by tabs, rows
// ended by a newline. No text of a population has a character that would have to be escaped.
type stream struct {
	table   string
	columns string
	rows    int64 // about how many, for progress
	open    func() io.Reader
}

// reader calls next for more rows whenever its buffer is empty; next returns dst unchanged at the end.
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

func (l *line) text(s string) {
	*l = append(append(*l, s...), '\t')
}

func (l *line) id(id dataset.ID) {
	*l = append(append(*l, id[:]...), '\t')
}

func (l *line) num(n int64) {
	*l = append(strconv.AppendInt(*l, n, 10), '\t')
}

func (l *line) flag(b bool) {
	if b {
		*l = append(*l, '1', '\t')
		return
	}
	*l = append(*l, '0', '\t')
}

// end replaces the last tab by a newline.
func (l *line) end() { (*l)[len(*l)-1] = '\n' }

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
			stream{"posts", "id, createat, updateat, editat, deleteat, ispinned, userid, channelid, rootid, parentid, originalid, " +
				"message, type, props, hashtags, fileids, hasreactions", posts, inChunk(p, k, postRow(p))},
			stream{"threads", "postid, channelid, replycount, lastreplyat, participants", per(t.Counts.Threads), inChunk(p, k, threadRow(p))},
			stream{"threadmemberships", "postid, userid, following, lastviewed, lastupdated, unreadmentions", per(t.Counts.Participants), inChunk(p, k, followRow(p))},
			stream{"reactions", "userid, postid, emojiname, createat, updateat, deleteat", per(t.Counts.Reactions), inChunk(p, k, reactionRow(p))},
			stream{"fileinfo", "id, creatorid, postid, channelid, createat, updateat, deleteat, path, thumbnailpath, previewpath, name, " +
				"extension, size, mimetype, width, height, haspreviewimage, content", per(t.Counts.Files), inChunk(p, k, fileRow(p))},
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
				l.id(u.ID)
				l.num(u.CreateAt)
				l.num(u.CreateAt)
				l.num(0)
				l.text(u.Name)
				l.text(hash)
				l.text("")
				l.text(u.MailAddress)
				l.flag(false)
				l.text("")
				l.text(u.FirstName)
				l.text(u.LastName)
				l.text(u.Position)
				l.text("system_user")
				l.flag(false)
				l.text("{}")
				l.text(userNotify)
				l.num(u.CreateAt)
				l.num(0)
				l.num(0)
				l.text("en")
				l.text(timezone)
				l.num(0)
				l.end()
				return l
			})},
		{"status", "userid, status, manual, lastactivityat", int64(users), each(users, func(dst []byte, i int) []byte {
			u, l := p.User(i), line(dst)
			l.id(u.ID)
			l.text("offline")
			l.flag(false)
			l.num(u.LastActive)
			l.end()
			return l
		})},
		{"teams", "id, createat, updateat, deleteat, displayname, name, description, email, type, companyname, alloweddomains, inviteid, allowopeninvite",
			int64(p.Teams()), each(p.Teams(), func(dst []byte, i int) []byte {
				t, l := p.Team(i), line(dst)
				l.id(t.ID)
				l.num(t.CreateAt)
				l.num(t.CreateAt)
				l.num(0)
				l.text(t.DisplayName)
				l.text(t.Name)
				l.text("")
				l.text("")
				l.text("O")
				l.text("")
				l.text("")
				l.id(t.InviteID)
				l.flag(true)
				l.end()
				return l
			})},
		{"teammembers", "teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest", int64(users), each(p.Teams(), func(dst []byte, i int) []byte {
			t, l := p.Team(i), line(dst)
			for k := range t.Members {
				l.id(t.ID)
				l.id(p.UserID(p.TeamMember(i, k)))
				l.text("")
				l.num(0)
				l.flag(true)
				l.flag(k == 0)
				l.flag(false)
				l.end()
			}
			return l
		})},
		{"channels", "id, createat, updateat, deleteat, teamid, type, displayname, name, header, purpose, lastpostat, totalmsgcount, extraupdateat, " +
			"creatorid, totalmsgcountroot", int64(channels), each(channels, func(dst []byte, i int) []byte { return channelRow(p, t, dst, i) })},
		{"channelmembers", "channelid, userid, roles, lastviewedat, msgcount, mentioncount, notifyprops, lastupdateat, schemeuser, schemeadmin, " +
			"schemeguest, mentioncountroot, msgcountroot", int64(4 * channels), each(channels, func(dst []byte, i int) []byte { return memberRows(p, t, dst, i) })},
		{"preferences", "userid, category, name, value", int64(2 * channels), each(channels, func(dst []byte, i int) []byte { return preferenceRows(p, dst, i) })},
		{"sidebarcategories", "id, userid, teamid, sortorder, sorting, type, displayname, muted, collapsed", int64(3 * users), each(p.Teams(), func(dst []byte, i int) []byte {
			l, t := line(dst), p.Team(i)
			for k := range t.Members {
				u := p.TeamMember(i, k)
				for n, c := range [3][3]string{{"favorites", "", "Favorites"}, {"channels", "", "Channels"}, {"direct_messages", "recent", "Direct Messages"}} {
					l.text(p.Category(c[0], u, i))
					l.id(p.UserID(u))
					l.id(t.ID)
					l.num(int64(10 * n))
					l.text(c[1])
					l.text(c[0])
					l.text(c[2])
					l.flag(false)
					l.flag(false)
					l.end()
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
	if c.Team >= 0 && name != dataset.DefaultChannels[0] && name != dataset.DefaultChannels[1] {
		creator = p.UserID(c.Creator).String()
	} else if c.Team < 0 {
		name, display = personal(p, i, c)
		creator = p.UserID(c.Creator).String()
	}
	l.id(c.ID)
	l.num(c.CreateAt)
	l.num(c.CreateAt)
	l.num(0)
	if c.Team >= 0 {
		l.id(p.TeamID(c.Team))
	} else {
		l.text("")
	}
	l.text(typeLetter[c.Type])
	l.text(display)
	l.text(name)
	l.text(c.Header)
	l.text(c.Purpose)
	l.num(last)
	l.num(int64(posts))
	l.num(0)
	l.text(creator)
	l.num(int64(roots))
	l.end()
	return l
}

var typeLetter = map[dataset.Type]string{dataset.Public: "O", dataset.Private: "P", dataset.Group: "G", dataset.Direct: "D"}

func memberRows(p *dataset.Population, t *dataset.Totals, dst []byte, i int) []byte {
	c, l := p.Channel(i), line(dst)
	owned := c.Team >= 0 && c.Name != dataset.DefaultChannels[0] && c.Name != dataset.DefaultChannels[1]
	for k := range c.Members {
		s := t.Seat(i, k)
		l.id(c.ID)
		l.id(p.UserID(p.Member(i, k)))
		l.text("")
		l.num(s.ViewedAt)
		l.num(int64(s.Posts))
		l.num(int64(s.UnreadMentions))
		l.text(memberNotify)
		l.num(s.ViewedAt)
		l.flag(true)
		l.flag(owned && k == 0)
		l.flag(false)
		l.num(int64(s.UnreadInRoot))
		l.num(int64(s.Roots))
		l.end()
	}
	return l
}

// preferenceRows are those by which clients show a direct or group channel to its members.
func preferenceRows(p *dataset.Population, dst []byte, i int) []byte {
	c, l := p.Channel(i), line(dst)
	if c.Team >= 0 {
		return dst
	}
	for k := range c.Members {
		l.id(p.UserID(p.Member(i, k)))
		if c.Type == dataset.Direct {
			l.text("direct_channel_show")
			l.id(p.UserID(p.Member(i, 1-k)))
		} else {
			l.text("group_channel_show")
			l.id(c.ID)
		}
		l.text("true")
		l.end()
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
		l.id(c.ID(i))
		l.num(post.At)
		l.num(c.UpdateAt(i, reactions))
		l.num(0)
		l.num(0)
		l.flag(false)
		l.id(p.UserID(int(post.Author)))
		l.id(p.ChannelID(int(post.Channel)))
		if post.Root >= 0 {
			root := c.ID(int(post.Root))
			l.id(root)
			l.id(root)
		} else {
			l.text("")
			l.text("")
		}
		l.text("")
		l = append(c.AppendText(l, i), '\t')
		l.text("")
		l.text("{}")
		l.text("")
		if post.Files == 0 {
			l.text("[]")
		} else {
			l = append(l, '[')
			for n, f := range c.AppendFiles(nil, i) {
				if n > 0 {
					l = append(l, ',')
				}
				l = append(append(append(l, '"'), f.ID[:]...), '"')
			}
			l.text("]")
		}
		l.flag(post.Reacted)
		l.end()
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
		l.id(c.ID(i))
		l.id(p.ChannelID(int(post.Channel)))
		l.num(int64(post.Replies))
		l.num(c.Posts[c.LastReply(i)].At)
		l = append(l, '[')
		for n, u := range participants(c, i) {
			if n > 0 {
				l = append(l, ',')
			}
			id := p.UserID(int(u))
			l = append(append(append(l, '"'), id[:]...), '"')
		}
		l.text("]")
		l.end()
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
			l.id(id)
			l.id(p.UserID(int(u)))
			l.flag(true)
			l.num(last)
			l.num(last)
			l.num(0)
			l.end()
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
			l.id(p.UserID(r.User))
			l.id(id)
			l.text(r.Emoji)
			l.num(r.At)
			l.num(r.At)
			l.num(0)
			l.end()
		}
		return l
	}
}

func fileRow(p *dataset.Population) func(dst []byte, c *dataset.Chunk, i int) []byte {
	return func(dst []byte, c *dataset.Chunk, i int) []byte {
		post, l := &c.Posts[i], line(dst)
		for _, f := range c.AppendFiles(nil, i) {
			l.id(f.ID)
			l.id(p.UserID(int(post.Author)))
			l.id(c.ID(i))
			l.id(p.ChannelID(int(post.Channel)))
			l.num(post.At)
			l.num(post.At)
			l.num(0)
			l.text(filePath(f.Kind))
			side := f.Kind.Pixels()
			if side > 0 {
				l.text(thumbPath(f.Kind))
				l.text(previewPath(f.Kind))
			} else {
				l.text("")
				l.text("")
			}
			l.text(f.Name)
			l.text(string(f.Kind))
			l.num(int64(f.Kind.Size()))
			l.text(f.Kind.MIME())
			l.num(int64(side))
			l.num(int64(side))
			l.flag(side > 0)
			l.text("")
			l.end()
		}
		return l
	}
}
