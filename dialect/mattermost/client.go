package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/measure"
	"plimsoll/wire"
)

const api = "/api/v4"

// A Recorder takes finished ops; workload.User is one.
type Recorder interface {
	Done(n measure.Name, sent, done time.Time, class measure.Class, bytes int64)
}

// A Client is one user's side of the API. Each method makes one request and records one op; its error is an [*OpError], or the
// context's if the run ended (then nothing is recorded). It is not safe for concurrent use; a [Socket] obtained from it is separate.
type Client struct {
	http    *wire.Client
	wsURL   string
	agent   string
	timeout time.Duration
	token   string
	rec     Recorder
	table   *Table
	note    func(error) // hears of every failed op; may be nil
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)

	collapse   bool
	connection string // id of the client's WebSocket, see SetSocket
}

// A ClientConfig describes a [Client].
type ClientConfig struct {
	URL       string        // base URL of the server, http or https
	Token     string        // session, personal or bot token; see also SetToken
	Timeout   time.Duration // of one operation; 0 means wire.DefaultTimeout
	UserAgent string
	Recorder  Recorder // required
	Table     *Table   // required
	Note      func(error)
	// Collapse says that the client shows replies in their threads alone: lists of a channel's posts are of roots, and looking at a channel
	// leaves its threads unread. Only servers with collapsed threads know it.
	Collapse bool
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil means the usual way
}

// NewClient returns a client without a connection.
func NewClient(cfg ClientConfig) (*Client, error) {
	h, err := wire.NewClient(wire.Config{URL: cfg.URL, Timeout: cfg.Timeout, UserAgent: cfg.UserAgent, Dial: cfg.Dial})
	if err != nil {
		return nil, err
	}
	ws := "ws" + strings.TrimPrefix(strings.TrimRight(cfg.URL, "/"), "http") + api + "/websocket"
	return &Client{
		http: h, wsURL: ws, agent: cfg.UserAgent, timeout: cfg.Timeout, token: cfg.Token, rec: cfg.Recorder, table: cfg.Table, note: cfg.Note, dial: cfg.Dial, collapse: cfg.Collapse,
	}, nil
}

// ownEvents are the calls whose event the web app does not want to hear itself: it names its connection.
var ownEvents = map[op]bool{
	opUpsertDraft: true, opDeleteDraft: true, opSchedulePost: true, opUpdateScheduled: true, opDeleteScheduled: true,
	opAddBookmark: true, opUpdateBookmark: true, opSortBookmark: true, opDeleteBookmark: true,
}

// SetSocket says which WebSocket is this client's: it gets no events of what the client does itself, where the server can leave them
// out. nil means none.
func (c *Client) SetSocket(s *Socket) {
	c.connection = ""
	if s != nil {
		c.connection = s.born.String()
	}
}

// SetToken changes the token that later calls send.
func (c *Client) SetToken(token string) { c.token = token }

// SetTable changes the names under which later calls are recorded.
func (c *Client) SetTable(t *Table) { c.table = t }

// Close closes the connection.
func (c *Client) Close() { _ = c.http.Close() } // it has no errors worth a word

// bodies holds buffers for request bodies, so that an idle user holds none.
var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

// call makes a request and records it. ok lists the statuses that mean success; read, if not nil, takes what it needs from the
// answer and returns an error if the answer does not show the effect.
func (c *Client) call(ctx context.Context, o op, req *wire.Request, read func(*wire.Response) error, ok ...int) error {
	req.Token = c.token
	if c.connection != "" && ownEvents[o] {
		req.Header = append(req.Header, wire.Field{Name: "Connection-Id", Value: c.connection})
	}
	if req.Body != nil && req.ContentType == "" {
		req.ContentType = "application/json"
	}
	resp, err := c.http.Do(ctx, req)
	defer c.http.Release()
	if over(ctx, err) {
		return context.Cause(ctx)
	}
	var e *OpError
	if err != nil {
		e = &OpError{Op: opNames[o], Class: classOf(err), Status: resp.Status, Err: err}
	} else {
		good := false
		for _, s := range ok {
			good = good || s == resp.Status
		}
		switch {
		case !good:
			e = &OpError{Op: opNames[o], Class: classOfStatus(resp.Status), Status: resp.Status}
			refusal(e, resp)
		case read != nil:
			if err := read(resp); err != nil {
				e = &OpError{Op: opNames[o], Class: measure.Decode, Status: resp.Status, Err: err}
				if challenge(resp) {
					e.Proxy = "challenge page of a proxy (allow this host's address there)"
				}
			}
		}
	}
	class := measure.OK
	if e != nil {
		class = e.Class
	}
	c.rec.Done(c.table.names[o], resp.Sent, resp.Done, class, resp.BodyBytes)
	if e != nil {
		if c.note != nil {
			c.note(e)
		}
		return e
	}
	return nil
}

// send posts a JSON body that build appends.
func (c *Client) send(ctx context.Context, o op, path string, build func([]byte) []byte, read func(*wire.Response) error, ok ...int) error {
	return c.sendAs(ctx, "POST", o, path, build, read, ok...)
}

// ask is send for a request that reads, or says what may be said twice: it is repeated if the server closed the idle connection at that
// moment, as those of browsers are.
func (c *Client) ask(ctx context.Context, o op, path string, build func([]byte) []byte, read func(*wire.Response) error) error {
	return c.sendReq(ctx, o, wire.Request{Method: "POST", Path: api + path, Repeatable: true}, build, read, 200)
}

// sendAs is send with another method.
func (c *Client) sendAs(ctx context.Context, method string, o op, path string, build func([]byte) []byte, read func(*wire.Response) error, ok ...int) error {
	return c.sendReq(ctx, o, wire.Request{Method: method, Path: api + path}, build, read, ok...)
}

func (c *Client) sendReq(ctx context.Context, o op, req wire.Request, build func([]byte) []byte, read func(*wire.Response) error, ok ...int) error {
	buf := bodies.Get().(*[]byte)
	*buf = build((*buf)[:0])
	req.Body = *buf
	err := c.call(ctx, o, &req, read, ok...)
	if cap(*buf) <= 64<<10 {
		bodies.Put(buf)
	}
	return err
}

func (c *Client) get(ctx context.Context, o op, path string, read func(*wire.Response) error) error {
	return c.call(ctx, o, &wire.Request{Path: api + path}, read, 200)
}

// The ops of this file. Those that only provisioning and logins make are no part of the steady state.
var (
	opLogin              = newSetupOp("login")
	opMe                 = newOp("me")
	opCreateUser         = newSetupOp("create_user")
	opUsersByName        = newOp("users_by_name")
	opUserIDs            = newOp("user_ids")
	opStatusIDs          = newOp("status_ids")
	opCreateBot          = newSetupOp("create_bot")
	opCreateToken        = newSetupOp("create_token")
	opTeamByName         = newSetupOp("team_by_name")
	opCreateTeam         = newSetupOp("create_team")
	opMyTeams            = newOp("my_teams")
	opTeamMembers        = newSetupOp("team_members")
	opAddTeamMembers     = newSetupOp("add_team_members")
	opChannelByName      = newSetupOp("channel_by_name")
	opCreateChannel      = newOp("create_channel")
	opChannel            = newOp("channel")
	opChannelMembers     = newOp("channel_members")
	opChannelMember      = newOp("channel_member")
	opJoinChannel        = newOp("join_channel")
	opTeamChannels       = newOp("team_channels")
	opTeamChannelMembers = newOp("team_channel_members")
	opChannelStats       = newOp("channel_stats")
	opViewChannel        = newOp("view_channel")
	opReact              = newOp("react")
	opReactions          = newSetupOp("reactions")
)

// remove deletes what the path names.
func (c *Client) remove(ctx context.Context, o op, path string, read func(*wire.Response) error, ok ...int) error {
	return c.call(ctx, o, &wire.Request{Method: "DELETE", Path: api + path}, read, ok...)
}

// errEffect is an answer that does not show what the call was for.
var errEffect = errors.New("the answer does not show the effect")

// idIn copies the member "id" (or another key) of an object into dst and requires it.
func idIn(key string, dst *string) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		*dst = ""
		if err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) == key {
				*dst = string(text(v))
			}
			return nil
		}); err != nil {
			return err
		}
		if *dst == "" {
			return fmt.Errorf("%w: no %s", errEffect, key)
		}
		return nil
	}
}

// texts copies the string members of an object with these keys, each to its destination. Those that are not there become "".
func texts(b []byte, keys []string, dst ...*string) error {
	for _, d := range dst {
		*d = ""
	}
	return eachField(b, func(k, v []byte) error {
		for i, key := range keys {
			if string(k) == key {
				*dst[i] = string(text(v))
			}
		}
		return nil
	})
}

// eachIn is eachElement for answers that may say null for an empty list.
func eachIn(b []byte, f func(v []byte) error) error {
	if string(b) == "null" || string(b) == "null\n" {
		return nil
	}
	return eachElement(b, f)
}

// done requires the answer {"status":"OK"}.
func done(resp *wire.Response) error {
	status := ""
	if err := texts(resp.Body, []string{"status"}, &status); err != nil {
		return err
	}
	if status != "OK" {
		return fmt.Errorf("%w: status %q", errEffect, status)
	}
	return nil
}

// A Profile is what is needed of a user.
type Profile struct {
	ID, Username, Roles string
	Bot                 bool
}

func profile(b []byte) (p Profile, err error) {
	err = eachField(b, func(k, v []byte) error {
		switch string(k) {
		case "id":
			p.ID = string(text(v))
		case "username":
			p.Username = string(text(v))
		case "roles":
			p.Roles = string(text(v))
		case "is_bot":
			p.Bot = string(v) == "true"
		}
		return nil
	})
	if err == nil && (p.ID == "" || p.Username == "") {
		err = fmt.Errorf("%w: no user", errEffect)
	}
	return p, err
}

func profiles(b []byte) (ps []Profile, err error) {
	err = eachElement(b, func(v []byte) error {
		p, err := profile(v)
		ps = append(ps, p)
		return err
	})
	return ps, err
}

// Login exchanges a password for a session token, which later calls send, and returns the user.
func (c *Client) Login(ctx context.Context, loginID, password string) (p Profile, err error) {
	c.token = ""
	token := ""
	err = c.send(ctx, opLogin, "/users/login", func(b []byte) []byte {
		return object(b, "login_id", loginID, "password", password)
	}, func(resp *wire.Response) (err error) {
		if token = resp.Header.Get("Token"); token == "" {
			return fmt.Errorf("%w: no token", errEffect)
		}
		p, err = profile(resp.Body)
		return err
	}, 200)
	if err == nil {
		c.token = token
	}
	return p, err
}

// Token returns the token that calls send.
func (c *Client) Token() string { return c.token }

// Me returns the user to whom the token belongs.
func (c *Client) Me(ctx context.Context) (p Profile, err error) {
	err = c.get(ctx, opMe, "/users/me", func(resp *wire.Response) (err error) {
		p, err = profile(resp.Body)
		return err
	})
	return p, err
}

// CreateUser creates an account. On a server without any it becomes the administrator.
func (c *Client) CreateUser(ctx context.Context, username, email, password string) (p Profile, err error) {
	err = c.send(ctx, opCreateUser, "/users", func(b []byte) []byte {
		return object(b, "username", username, "email", email, "password", password)
	}, func(resp *wire.Response) (err error) {
		p, err = profile(resp.Body)
		return err
	}, 201)
	return p, err
}

// UsersByName returns those of the named users that exist.
func (c *Client) UsersByName(ctx context.Context, names []string) (ps []Profile, err error) {
	err = c.ask(ctx, opUsersByName, "/users/usernames", func(b []byte) []byte { return list(b, names) },
		func(resp *wire.Response) (err error) {
			ps, err = profiles(resp.Body)
			return err
		})
	return ps, err
}

// ProfilesByID returns those of the users that exist.
func (c *Client) ProfilesByID(ctx context.Context, ids []string) (ps []Profile, err error) {
	err = c.ask(ctx, opUserIDs, "/users/ids", func(b []byte) []byte { return list(b, ids) }, func(resp *wire.Response) (err error) {
		ps, err = profiles(resp.Body)
		return err
	})
	return ps, err
}

// Statuses asks for the presence of users and returns how many answers came.
func (c *Client) Statuses(ctx context.Context, ids []string) (n int, err error) {
	err = c.ask(ctx, opStatusIDs, "/users/status/ids", func(b []byte) []byte { return list(b, ids) }, count(&n))
	return n, err
}

// count counts the elements of an array.
func count(n *int) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		*n = 0
		return eachElement(resp.Body, func([]byte) error { *n++; return nil })
	}
}

// CreateBot creates a bot account and returns its user id.
func (c *Client) CreateBot(ctx context.Context, username string) (id string, err error) {
	err = c.send(ctx, opCreateBot, "/bots", func(b []byte) []byte {
		return object(b, "username", username, "display_name", username, "description", "posts for load tests")
	}, idIn("user_id", &id), 201)
	return id, err
}

// CreateToken creates a personal access token of a user or bot.
func (c *Client) CreateToken(ctx context.Context, userID string) (token string, err error) {
	err = c.send(ctx, opCreateToken, "/users/"+url.PathEscape(userID)+"/tokens", func(b []byte) []byte {
		return object(b, "description", "load test")
	}, idIn("token", &token), 200, 201)
	return token, err
}

// TeamByName returns a team's id.
func (c *Client) TeamByName(ctx context.Context, name string) (id string, err error) {
	err = c.get(ctx, opTeamByName, "/teams/name/"+url.PathEscape(name), idIn("id", &id))
	return id, err
}

// CreateTeam creates an open team and returns its id.
func (c *Client) CreateTeam(ctx context.Context, name string) (id string, err error) {
	err = c.send(ctx, opCreateTeam, "/teams", func(b []byte) []byte {
		b = object(b, "name", name, "display_name", name, "type", "O")
		return append(b[:len(b)-1], `,"allow_open_invite":true}`...) // without it nobody may join unasked
	}, idIn("id", &id), 201)
	return id, err
}

// MyTeams returns the ids of the user's teams.
func (c *Client) MyTeams(ctx context.Context, userID string) (ids []string, err error) {
	err = c.get(ctx, opMyTeams, "/users/"+url.PathEscape(userID)+"/teams", idsOf("id", &ids))
	return ids, err
}

// idsOf collects one member of each object of an array, and requires it.
func idsOf(key string, ids *[]string) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		return eachElement(resp.Body, func(v []byte) error {
			id := ""
			if err := eachField(v, func(k, v []byte) error {
				if string(k) == key {
					id = string(text(v))
				}
				return nil
			}); err != nil {
				return err
			}
			if id == "" {
				return fmt.Errorf("%w: no %s", errEffect, key)
			}
			*ids = append(*ids, id)
			return nil
		})
	}
}

// TeamMembers returns one page of the user ids of a team.
func (c *Client) TeamMembers(ctx context.Context, teamID string, page, perPage int) (ids []string, err error) {
	err = c.get(ctx, opTeamMembers, fmt.Sprintf("/teams/%s/members?page=%d&per_page=%d", url.PathEscape(teamID), page, perPage), idsOf("user_id", &ids))
	return ids, err
}

// AddTeamMembers makes users members of a team.
func (c *Client) AddTeamMembers(ctx context.Context, teamID string, userIDs []string) error {
	var added []string
	return c.send(ctx, opAddTeamMembers, "/teams/"+url.PathEscape(teamID)+"/members/batch", func(b []byte) []byte {
		b = append(b, '[')
		for i, id := range userIDs {
			if i > 0 {
				b = append(b, ',')
			}
			b = object(b, "team_id", teamID, "user_id", id)
		}
		return append(b, ']')
	}, func(resp *wire.Response) error {
		if err := idsOf("user_id", &added)(resp); err != nil {
			return err
		}
		if len(added) != len(userIDs) {
			return fmt.Errorf("%w: %d of %d users were added", errEffect, len(added), len(userIDs))
		}
		return nil
	}, 201)
}

// ChannelByName returns a channel's id.
func (c *Client) ChannelByName(ctx context.Context, teamID, name string) (id string, err error) {
	err = c.get(ctx, opChannelByName, "/teams/"+url.PathEscape(teamID)+"/channels/name/"+url.PathEscape(name), idIn("id", &id))
	return id, err
}

// MakeChannel creates a channel of type O or P.
func (c *Client) MakeChannel(ctx context.Context, teamID, name, kind string) (ch Channel, err error) {
	err = c.send(ctx, opCreateChannel, "/channels", func(b []byte) []byte {
		return object(b, "team_id", teamID, "name", name, "display_name", name, "type", kind)
	}, one(&ch), 201)
	return ch, err
}

// byName orders channels by name and, where that is the same, by identifier.
func byName(x, y Channel) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) }

// ChannelMembers returns one page of the user ids of a channel.
func (c *Client) ChannelMembers(ctx context.Context, channelID string, page, perPage int) (ids []string, err error) {
	err = c.get(ctx, opChannelMembers, fmt.Sprintf("/channels/%s/members?page=%d&per_page=%d", url.PathEscape(channelID), page, perPage), idsOf("user_id", &ids))
	return ids, err
}

// JoinChannel makes a user a member of a channel.
func (c *Client) JoinChannel(ctx context.Context, channelID, userID string) error {
	got := ""
	return c.send(ctx, opJoinChannel, "/channels/"+url.PathEscape(channelID)+"/members", func(b []byte) []byte {
		return object(b, "user_id", userID)
	}, idIn("channel_id", &got), 201)
}

// A Channel is what is needed of one.
type Channel struct {
	ID, Name string
	Type     string // O open, P private, D direct, G group
	TeamID   string // "" for D and G
	Archived bool
	Messages int64 // posts so far
}

// TeamChannels returns the channels of a user in a team, direct and group channels included;
// archived says whether those that were archived are among them.
func (c *Client) TeamChannels(ctx context.Context, userID, teamID string, archived bool) (chs []Channel, err error) {
	path := "/users/" + url.PathEscape(userID) + "/teams/" + url.PathEscape(teamID) + "/channels?include_deleted=" + strconv.FormatBool(archived)
	err = c.get(ctx, opTeamChannels, path, func(resp *wire.Response) error {
		chs, err = channels(resp.Body)
		return err
	})
	return chs, err
}

func channels(b []byte) (chs []Channel, err error) {
	err = eachElement(b, func(v []byte) error {
		ch, err := readChannel(v)
		chs = append(chs, ch)
		return err
	})
	return chs, err
}

func readChannel(b []byte) (ch Channel, err error) {
	err = eachField(b, func(k, v []byte) error {
		switch string(k) {
		case "id":
			ch.ID = string(text(v))
		case "name":
			ch.Name = string(text(v))
		case "type":
			ch.Type = string(text(v))
		case "team_id":
			ch.TeamID = string(text(v))
		case "delete_at":
			ch.Archived = number(v) > 0
		case "total_msg_count":
			ch.Messages = number(v)
		}
		return nil
	})
	if err == nil && ch.ID == "" {
		err = fmt.Errorf("%w: a channel without id", errEffect)
	}
	return ch, err
}

// TeamChannelMembers reads the user's memberships in a team's channels, with their unread counts, and returns how many there are.
func (c *Client) TeamChannelMembers(ctx context.Context, userID, teamID string) (n int, err error) {
	err = c.get(ctx, opTeamChannelMembers, "/users/"+url.PathEscape(userID)+"/teams/"+url.PathEscape(teamID)+"/channels/members", count(&n))
	return n, err
}

// JoinChannelAll makes users members of a channel, as somebody who may, and returns how many of the first ones it added: all, or one on a
// server that adds one at a time.
func (c *Client) JoinChannelAll(ctx context.Context, channelID string, userIDs []string) (n int, err error) {
	err = c.send(ctx, opJoinChannel, "/channels/"+url.PathEscape(channelID)+"/members", func(b []byte) []byte {
		b = append(b, `{"user_id":`...)
		b = appendString(b, userIDs[0])
		b = append(b, `,"user_ids":`...)
		return append(list(b, userIDs), '}')
	}, func(resp *wire.Response) error {
		if len(resp.Body) > 0 && resp.Body[0] == '{' {
			n = 1
			got := ""
			return idIn("user_id", &got)(resp)
		}
		var added []string
		err := idsOf("user_id", &added)(resp)
		if n = len(added); err == nil && n != len(userIDs) {
			err = fmt.Errorf("%w: %d of %d users were added", errEffect, n, len(userIDs))
		}
		return err
	}, 201)
	return n, err
}

// A Membership is what is needed of a user's place in a channel.
type Membership struct {
	Seen     int64 // server time of the last look, Unix ms
	Messages int64 // how many of the channel's posts it has seen
	Mentions int64 // unread
}

// ChannelMember reads a user's membership of a channel.
func (c *Client) ChannelMember(ctx context.Context, channelID, userID string) (m Membership, err error) {
	err = c.get(ctx, opChannelMember, "/channels/"+url.PathEscape(channelID)+"/members/"+url.PathEscape(userID), func(resp *wire.Response) error {
		got := ""
		if err := eachField(resp.Body, func(k, v []byte) error {
			switch string(k) {
			case "user_id":
				got = string(text(v))
			case "last_viewed_at":
				m.Seen = number(v)
			case "msg_count":
				m.Messages = number(v)
			case "mention_count":
				m.Mentions = number(v)
			}
			return nil
		}); err != nil {
			return err
		}
		if got != userID {
			return fmt.Errorf("%w: no member", errEffect)
		}
		return nil
	})
	return m, err
}

// Reactions reads who reacted to a post: user id and emoji's name of each.
func (c *Client) Reactions(ctx context.Context, postID string) (users, emojis []string, err error) {
	err = c.get(ctx, opReactions, "/posts/"+url.PathEscape(postID)+"/reactions", func(resp *wire.Response) error {
		if string(resp.Body) == "null" {
			return nil
		}
		return eachElement(resp.Body, func(v []byte) error {
			var user, emoji string
			err := eachField(v, func(k, v []byte) error {
				switch string(k) {
				case "user_id":
					user = string(text(v))
				case "emoji_name":
					emoji = string(text(v))
				}
				return nil
			})
			users, emojis = append(users, user), append(emojis, emoji)
			return err
		})
	})
	return users, emojis, err
}

// ChannelStats reads a channel's counts, with that of its files or without, and returns that of its members.
func (c *Client) ChannelStats(ctx context.Context, channelID string, files bool) (members int64, err error) {
	path := "/channels/" + url.PathEscape(channelID) + "/stats?exclude_files_count=" + strconv.FormatBool(!files)
	err = c.get(ctx, opChannelStats, path, func(resp *wire.Response) error {
		members = -1
		if err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) == "member_count" {
				members = number(v)
			}
			return nil
		}); err != nil {
			return err
		}
		if members < 0 {
			return fmt.Errorf("%w: no member_count", errEffect)
		}
		return nil
	})
	return members, err
}

// ViewChannel says that the user looks at a channel now, and at prev no longer ("" if there was none). It returns the moment, by
// the server's clock in Unix milliseconds, up to which the channel counts as seen.
func (c *Client) ViewChannel(ctx context.Context, userID, channelID, prev string) (seen int64, err error) {
	err = c.ask(ctx, opViewChannel, "/channels/members/"+url.PathEscape(userID)+"/view", func(b []byte) []byte {
		b = object(b, "channel_id", channelID, "prev_channel_id", prev)
		if c.collapse {
			b = append(b[:len(b)-1], `,"collapsed_threads_supported":true}`...)
		}
		return b
	}, func(resp *wire.Response) error {
		seen = -1
		if err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "last_viewed_at_times" || v[0] != '{' {
				return nil
			}
			return eachField(v, func(k, v []byte) error {
				if string(k) == channelID {
					seen = number(v)
				}
				return nil
			})
		}); err != nil {
			return err
		}
		if seen < 0 {
			return fmt.Errorf("%w: no time for the channel", errEffect)
		}
		return nil
	})
	return seen, err
}

// React adds the user's reaction, an emoji's name without colons, to a post.
func (c *Client) React(ctx context.Context, userID, postID, emoji string) error {
	got := ""
	return c.send(ctx, opReact, "/reactions", func(b []byte) []byte {
		return object(b, "user_id", userID, "post_id", postID, "emoji_name", emoji)
	}, func(resp *wire.Response) error {
		if err := idIn("post_id", &got)(resp); err != nil {
			return err
		}
		if got != postID {
			return fmt.Errorf("%w: reaction to another post", errEffect)
		}
		return nil
	}, 200, 201)
}

// millis formats a server time for a query.
func millis(t int64) string { return strconv.FormatInt(t, 10) }
