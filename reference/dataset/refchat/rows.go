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

// reader calls next for more rows whenever its buffer is empty; next appends nothing at the end.
type reader struct {
	next func(l *line)
	buf  line
	at   int
}

const readAhead = 256 << 10 // bytes of rows made at a time

func (r *reader) Read(p []byte) (int, error) {
	if r.at == len(r.buf) {
		r.buf = r.buf[:0]
		r.at = 0
		for more := true; more && len(r.buf) < readAhead; {
			before := len(r.buf)
			r.next(&r.buf)
			more = len(r.buf) > before
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
func each(n int, row func(l *line, i int)) func() io.Reader {
	return func() io.Reader {
		i := 0
		return &reader{next: func(l *line) {
			for before := len(*l); i < n && len(*l) == before; i++ { // a thing may have no row
				row(l, i)
			}
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

// list appends a cell with a list of identifiers.
func (l *line) list(ids []dataset.ID) {
	b := append(*l, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), id[:]...), '"')
	}
	*l = append(b, "]\t"...)
}

// Values that the server writes for a new user and a new member; TestAsTheServer compares.
const (
	userNotify   = `{"channel":"true","comments":"never","desktop":"mention","desktop_sound":"true","email":"true","first_name":"false","mention_keys":"","push":"mention","push_status":"away"}`
	memberNotify = `{"desktop":"default","email":"default","ignore_channel_mentions":"default","mark_unread":"all","push":"default"}`
	timezone     = `{"automaticTimezone":"","manualTimezone":"","useAutomaticTimezone":"true"}`
)

// rows are the rows of a population. hash is the password of every user.
type rows struct {
	*dataset.Population
	totals *dataset.Totals
	hash   string
}

func (r *rows) streams() []stream {
	s := r.base()
	n := r.totals.Counts
	per := func(all int) int64 { return int64(all) / int64(r.Chunks()) }
	for k := range r.Chunks() {
		s = append(
			s,
			stream{
				"posts",
				"id, createat, updateat, editat, deleteat, ispinned, userid, channelid, rootid, parentid, originalid, " +
					"message, type, props, hashtags, fileids, hasreactions",
				per(n.Posts),
				r.inChunk(k, r.post),
			},
			stream{
				"threads",
				"postid, channelid, replycount, lastreplyat, participants",
				per(n.Threads),
				r.inChunk(k, r.thread),
			},
			stream{
				"threadmemberships",
				"postid, userid, following, lastviewed, lastupdated, unreadmentions",
				per(n.Participants),
				r.inChunk(k, r.followers),
			},
			stream{
				"reactions",
				"userid, postid, emojiname, createat, updateat, deleteat",
				per(n.Reactions),
				r.inChunk(k, r.reactions),
			},
			stream{
				"fileinfo",
				"id, creatorid, postid, channelid, createat, updateat, deleteat, path, thumbnailpath, previewpath, name, " +
					"extension, size, mimetype, width, height, haspreviewimage, content",
				per(n.Files),
				r.inChunk(k, r.files),
			},
		)
	}
	return s
}

// base are the tables whose size does not depend on the number of posts.
func (r *rows) base() []stream {
	users := r.Users()
	channels := r.Channels()
	teams := r.Teams()
	return []stream{
		{
			"users",
			"id, createat, updateat, deleteat, username, password, authservice, email, emailverified, nickname, firstname, lastname, " +
				"position, roles, allowmarketing, props, notifyprops, lastpasswordupdate, lastpictureupdate, failedattempts, locale, timezone, lastlogin",
			int64(users),
			each(users, r.user),
		},
		{"status", "userid, status, manual, lastactivityat", int64(users), each(users, r.status)},
		{
			"teams",
			"id, createat, updateat, deleteat, displayname, name, description, email, type, companyname, alloweddomains, inviteid, allowopeninvite",
			int64(teams),
			each(teams, r.team),
		},
		{
			"teammembers",
			"teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest",
			int64(users),
			each(teams, r.teamMembers),
		},
		{
			"channels",
			"id, createat, updateat, deleteat, teamid, type, displayname, name, header, purpose, lastpostat, totalmsgcount, extraupdateat, " +
				"creatorid, totalmsgcountroot",
			int64(channels),
			each(channels, r.channel),
		},
		{
			"channelmembers",
			"channelid, userid, roles, lastviewedat, msgcount, mentioncount, notifyprops, lastupdateat, schemeuser, schemeadmin, " +
				"schemeguest, mentioncountroot, msgcountroot",
			int64(4 * channels),
			each(channels, r.members),
		},
		{
			"preferences",
			"userid, category, name, value",
			int64(2 * channels),
			each(channels, r.preferences),
		},
		{
			"sidebarcategories",
			"id, userid, teamid, sortorder, sorting, type, displayname, muted, collapsed",
			int64(3 * users),
			each(teams, r.sidebars),
		},
	}
}

func (r *rows) user(l *line, i int) {
	u := r.User(i)
	l.end(
		u.ID,
		u.CreateAt,
		u.CreateAt,
		0,
		u.Name,
		r.hash,
		"",
		u.MailAddress,
		false,
		"",
		u.FirstName,
		u.LastName,
		u.Position,
		"system_user",
		false,
		"{}",
		userNotify,
		u.CreateAt,
		0,
		0,
		"en",
		timezone,
		0,
	)
}

func (r *rows) status(l *line, i int) {
	u := r.User(i)
	l.end(u.ID, "offline", false, u.LastActive)
}

func (r *rows) team(l *line, i int) {
	t := r.Team(i)
	l.end(
		t.ID,
		t.CreateAt,
		t.CreateAt,
		0,
		t.DisplayName,
		t.Name,
		"",
		"",
		"O",
		"",
		"",
		t.InviteID,
		true,
	)
}

func (r *rows) teamMembers(l *line, i int) {
	t := r.Team(i)
	for k := range t.Members {
		l.end(t.ID, r.UserID(k), "", 0, true, k == 0, false)
	}
}

func (r *rows) sidebars(l *line, i int) {
	t := r.Team(i)
	for u := range t.Members {
		id := r.UserID(u)
		for n, s := range []struct{ kind, sorting, name string }{
			{"favorites", "", "Favorites"},
			{"channels", "", "Channels"},
			{"direct_messages", "recent", "Direct Messages"},
		} {
			l.end(r.Category(s.kind, u, i), id, t.ID, 10*n, s.sorting, s.kind, s.name, false, false)
		}
	}
}

func (r *rows) channel(l *line, i int) {
	c := r.Channel(i)
	posts, roots, last := r.totals.Channel(i)
	name := c.Name
	display := c.DisplayName
	creator := ""
	if c.Team < 0 {
		name, display = personal(r.Population, i, c)
	}
	if c.Made() || c.Team < 0 {
		creator = r.UserID(c.Creator).String()
	}
	l.add(c.ID, c.CreateAt, c.CreateAt, 0)
	if c.Team >= 0 {
		l.add(r.TeamID(c.Team))
	} else {
		l.add("")
	}
	l.end(c.Type.Letter(), display, name, c.Header, c.Purpose, last, posts, 0, creator, roots)
}

func (r *rows) members(l *line, i int) {
	c := r.Channel(i)
	for k := range c.Members {
		s := r.totals.Seat(i, k)
		l.end(
			c.ID,
			r.UserID(r.Member(i, k)),
			"",
			s.ViewedAt,
			s.Posts,
			s.UnreadMentions,
			memberNotify,
			s.ViewedAt,
			true,
			c.Made() && k == 0,
			false,
			s.UnreadInRoot,
			s.Roots,
		)
	}
}

// preferences appends the preferences by which clients show a direct or group channel to its
// members.
func (r *rows) preferences(l *line, i int) {
	c := r.Channel(i)
	for k := range c.Members {
		switch id := r.UserID(r.Member(i, k)); c.Type {
		case dataset.Direct:
			l.end(id, "direct_channel_show", r.UserID(r.Member(i, 1-k)), "true")
		case dataset.Group:
			l.end(id, "group_channel_show", c.ID, "true")
		default:
			return
		}
	}
}

// inChunk makes the reader of a chunk's rows. The chunk is computed when it is first read from.
func (r *rows) inChunk(k int, row func(l *line, c *dataset.Chunk, i int)) func() io.Reader {
	return func() io.Reader {
		var c *dataset.Chunk
		i := 0
		return &reader{next: func(l *line) {
			if c == nil {
				c = &dataset.Chunk{}
				r.Chunk(k, c)
			}
			for before := len(*l); i < len(c.Posts) && len(*l) == before; i++ {
				row(l, c, i)
			}
		}}
	}
}

func (r *rows) post(l *line, c *dataset.Chunk, i int) {
	post := &c.Posts[i]
	reactions := c.AppendReactions(nil, i)
	l.add(c.ID(i), post.At, c.UpdateAt(i, reactions), 0, 0, false, r.UserID(int(post.Author)),
		r.ChannelID(int(post.Channel)))
	if post.Root >= 0 {
		root := c.ID(int(post.Root))
		l.add(root, root)
	} else {
		l.add("", "")
	}
	l.add("")
	*l = append(c.AppendText(*l, i), '\t')
	l.add("", "{}", "")
	var files []dataset.ID
	for _, f := range c.AppendFiles(nil, i) {
		files = append(files, f.ID)
	}
	l.list(files)
	l.end(post.Reacted)
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

func (r *rows) thread(l *line, c *dataset.Chunk, i int) {
	post := &c.Posts[i]
	if post.Replies == 0 {
		return
	}
	l.add(c.ID(i), r.ChannelID(int(post.Channel)), post.Replies, c.Posts[c.LastReply(i)].At)
	var users []dataset.ID
	for _, u := range participants(c, i) {
		users = append(users, r.UserID(int(u)))
	}
	l.list(users)
	l.end()
}

func (r *rows) followers(l *line, c *dataset.Chunk, i int) {
	if c.Posts[i].Replies == 0 {
		return
	}
	id, last := c.ID(i), c.Posts[c.LastReply(i)].At
	for _, u := range participants(c, i) {
		l.end(id, r.UserID(int(u)), true, last, last, 0)
	}
}

func (r *rows) reactions(l *line, c *dataset.Chunk, i int) {
	id := c.ID(i)
	for _, x := range c.AppendReactions(nil, i) {
		l.end(r.UserID(x.User), id, x.Emoji, x.At, x.At, 0)
	}
}

func (r *rows) files(l *line, c *dataset.Chunk, i int) {
	post := &c.Posts[i]
	for _, f := range c.AppendFiles(nil, i) {
		l.add(f.ID, r.UserID(int(post.Author)), c.ID(i), r.ChannelID(int(post.Channel)), post.At,
			post.At, 0, filePath(f.Kind))
		side := f.Kind.Pixels()
		if side > 0 {
			l.add(thumbPath(f.Kind), previewPath(f.Kind))
		} else {
			l.add("", "")
		}
		l.end(f.Name, string(f.Kind), int64(f.Kind.Size()), f.Kind.MIME(), side, side, side > 0, "")
	}
}
