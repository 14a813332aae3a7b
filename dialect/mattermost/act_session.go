package mattermost

import (
	"context"
	"slices"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// sessionActions end and open sessions and connections.
var sessionActions = []action{
	{"reconnect_websocket", 0.144, always, reconnectWebSocket, proveReconnect,
		"getWebappPlugins -getPreferences", 1},
	// Preferences are read when the page is loaded, which a login does, too; the list of plugins
	// also after a lost connection.
	{"full_reload", 0.0008, always, fullReload, proveFullReload,
		"getPreferences -login", 1},
	{"logout_login", 0.0006, always, logoutLogin, proveLogoutLogin, "logout", 1},
}

// reconnectWebSocket loses the WebSocket, resumes it, and makes the calls of a client after a gap.
func reconnectWebSocket(a *act) error {
	from := time.Now()
	if err := a.dropAndResume(); err != nil {
		return err
	}
	return a.resync(from)
}

// proveReconnect shows that the person has a new socket, and that an event sent afterwards arrives.
func proveReconnect(s *stage) {
	old := s.actor.socket()
	s.act()
	now := s.actor.socket()
	disproved(now == nil || now == old, "the WebSocket was not lost")
	s.hears()
}

// dropAndResume breaks the WebSocket like a network would and opens it again. If the reader is
// taking up a lost one, it waits for that first, and the wait is in the reader's op.
func (a *act) dropAndResume() error {
	if !a.turnToConnect(a, nil) {
		return context.Cause(a)
	}
	defer func() { <-a.turn }()
	a.u.Rejoin(a.tried)
	if sock := a.socket(); sock != nil {
		sock.Drop()
		select {
		case <-sock.Ended(): // the reader has seen it
		case <-a.Done():
			return context.Cause(a)
		}
	}
	_, err := a.resume(a, a.u, a.c.Table)
	return err
}

// resync requests what may have changed since a time: channels, memberships, posts of the current
// channel, presence, unread counts, and changed users in view.
func (a *act) resync(since time.Time) error {
	if err := a.readChannels(false); err != nil {
		return err
	}
	ids := []string{a.id}
	if ch := a.channel(); ch != nil {
		posts, err := a.c.PostsSince(a, ch.key, max(a.places[a.current].seen, 1))
		if err != nil {
			return err
		}
		a.learn(ch, posts)
		for _, p := range posts {
			if id := p.UserID.String(); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if err := a.getStatuses(ids); err != nil {
		return err
	}
	if _, err := a.c.TeamsUnread(a, a.id); err != nil {
		return err
	}
	if a.b.Config["PluginsEnabled"] == "true" {
		if _, err := a.c.Plugins(a); err != nil {
			return err
		}
	}
	_, err := a.c.UsersSince(a, ids, since.UnixMilli())
	return err
}

// fullReload presses the reload button: the person forgets everything, connects and loads again.
func fullReload(a *act) error {
	defer a.c.Under(a.login)()
	return a.arrive()
}

// proveFullReload shows that the person has a new WebSocket that receives events, and has its
// channels again.
func proveFullReload(s *stage) {
	inTeam := func() (n int) {
		for _, p := range s.actor.places {
			if s.actor.inTeam(p) {
				n++
			}
		}
		return n
	}
	old := s.actor.socket()
	before := inTeam()
	s.act()
	now := s.actor.socket()
	disproved(now == nil || now == old || inTeam() < before,
		"%d channels of the team instead of %d, or no new WebSocket", inTeam(), before)
	s.hears()
}

// logoutLogin ends the session and opens another with the password. It keeps a token of a file,
// which could not be obtained again.
func logoutLogin(a *act) error {
	if a.b.held(a.u.Rank, true) != "" {
		return errOnlyToken
	}
	a.leave()
	if err := a.c.Logout(a); err != nil {
		return err
	}
	a.b.remember(a.person, "")
	defer a.c.Under(a.login)()
	return a.comeAnew()
}

// proveLogoutLogin shows that the old session is refused, and that the new one receives events.
func proveLogoutLogin(s *stage) {
	old := s.actor.c.Token
	s.act()
	disproved(s.actor.c.Token == old, "the session is the same")
	c := must(s.client(old))
	defer c.Close()
	_, err := c.Me(s)
	disproved(err == nil, "the old session is still accepted")
	disproved(!unauthorized(err), "the old session is not refused with status 401: %w", err)
	s.hears()
}

// hears shows that a post of the witness reaches the actor by its WebSocket.
func (s *stage) hears() {
	check(s.gather())
	ch := s.actor.channel()
	p := s.say(ch.key, "can you hear me?")
	id := api.ParseID(p.ID)
	s.eventually("an event of the witness's post", func() bool {
		_, ok := ch.pick(func(int) int { return 0 }, func(p *post) bool { return p.id == id })
		return ok
	})
}
