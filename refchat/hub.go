package refchat

import (
	"encoding/json"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
)

// broadcast says who an event is for: a channel's members, a team's, one user, or everybody.
type broadcast struct {
	OmitUsers map[string]bool `json:"omit_users"`
	UserID    string          `json:"user_id"`
	ChannelID string          `json:"channel_id"`
	TeamID    string          `json:"team_id"`
}

// event is one message for WebSockets, encoded once; each connection adds its own sequence number (see wsConn.writeEvent).
type event struct {
	name   string
	to     broadcast
	prefix []byte // the JSON up to and including `"seq": `
}

// eventField is one member of an event's data, in the order of encoding.
type eventField struct {
	name  string
	value any
}

func newEvent(name string, to broadcast, fields ...eventField) *event {
	b := make([]byte, 0, 512)
	b = append(b, `{"event": `...)
	b = appendJSON(b, name)
	b = append(b, `, "data": {`...)
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, f.name)
		b = append(b, ':')
		b = appendJSON(b, f.value)
	}
	b = append(b, `}, "broadcast": `...)
	b = appendJSON(b, to)
	b = append(b, `, "seq": `...)
	return &event{name: name, to: to, prefix: b}
}

func appendJSON(b []byte, v any) []byte {
	j, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...) // only values that marshal are passed
	}
	return append(b, j...)
}

// unimportant events are skipped when a connection's queue is half full.
func (e *event) unimportant() bool {
	return e.name == "typing" || e.name == "status_change" || e.name == "channel_viewed"
}

// hub knows the connections of this server and brings events to them. It has one shard per processor; a user's
// connections live in one shard, whose goroutine alone touches its maps.
type hub struct {
	s      *Server
	seed   maphash.Seed
	shards []*hubShard
	wg     sync.WaitGroup
	quit   chan struct{}
	once   sync.Once
	conns  atomic.Int64
	closed atomic.Bool
}

type hubShard struct {
	inbox    chan func(*hubShard)
	byUser   map[string]map[*wsConn]struct{}
	channels map[string]map[*wsConn]struct{}
	teams    map[string]map[*wsConn]struct{}
}

const hubInbox = 4096

func newHub(s *Server) *hub {
	h := &hub{s: s, seed: maphash.MakeSeed(), quit: make(chan struct{})}
	for range max(1, runtime.GOMAXPROCS(0)) {
		h.shards = append(h.shards, &hubShard{
			inbox:    make(chan func(*hubShard), hubInbox),
			byUser:   map[string]map[*wsConn]struct{}{},
			channels: map[string]map[*wsConn]struct{}{},
			teams:    map[string]map[*wsConn]struct{}{},
		})
	}
	return h
}

func (h *hub) run() {
	for _, sh := range h.shards {
		h.wg.Go(func() {
			for {
				select {
				case fn := <-sh.inbox:
					fn(sh)
				case <-h.quit:
					return
				}
			}
		})
	}
}

func (h *hub) stop() {
	h.once.Do(func() { close(h.quit) })
	h.wg.Wait()
}

// do has a shard's goroutine run fn; it waits while the inbox is full.
func (h *hub) do(sh *hubShard, fn func(*hubShard)) {
	select {
	case sh.inbox <- fn:
	case <-h.quit:
	}
}

func (h *hub) shard(userID string) *hubShard {
	return h.shards[maphash.String(h.seed, userID)%uint64(len(h.shards))]
}

// publish sends an event to this server's connections and to the peers'.
func (h *hub) publish(e *event) {
	h.s.met.events.WithLabelValues(e.name).Inc()
	h.deliver(e)
	h.s.bus.send(busMessage{Event: e.name, To: &e.to, Prefix: string(e.prefix)})
}

// deliver sends an event to this server's connections.
func (h *hub) deliver(e *event) {
	if e.to.UserID != "" {
		h.do(h.shard(e.to.UserID), func(sh *hubShard) { sh.send(e, sh.byUser[e.to.UserID]) })
		return
	}
	for _, sh := range h.shards {
		h.do(sh, func(sh *hubShard) {
			switch {
			case e.to.ChannelID != "":
				sh.send(e, sh.channels[e.to.ChannelID])
			case e.to.TeamID != "":
				sh.send(e, sh.teams[e.to.TeamID])
			default:
				for _, conns := range sh.byUser {
					sh.send(e, conns)
				}
			}
		})
	}
}

func (sh *hubShard) send(e *event, conns map[*wsConn]struct{}) {
	for c := range conns {
		if !e.to.OmitUsers[c.userID] {
			c.offer(e)
		}
	}
}

// register makes a connection known; it gets the user's own events from now on, and those of channels and teams after place.
func (h *hub) register(c *wsConn) {
	h.conns.Add(1)
	h.s.met.websockets.Inc()
	h.do(h.shard(c.userID), func(sh *hubShard) { put(sh.byUser, c.userID, c) })
}

// place adds a connection to channels and teams. Joins that happened since register are there already.
func (h *hub) place(c *wsConn, channels, teams []string) {
	h.do(h.shard(c.userID), func(sh *hubShard) {
		if _, here := sh.byUser[c.userID][c]; !here {
			return
		}
		for _, id := range channels {
			c.enter(sh, id)
		}
		for _, id := range teams {
			c.teams = append(c.teams, id)
			put(sh.teams, id, c)
		}
		c.offer(newEvent("hello", broadcast{UserID: c.userID}, eventField{"connection_id", ""}, eventField{"server_version", h.s.client.versionID}))
	})
}

// unregister forgets a connection and reports through last whether it was its user's last one.
func (h *hub) unregister(c *wsConn, last func()) {
	h.conns.Add(-1)
	h.s.met.websockets.Dec()
	h.do(h.shard(c.userID), func(sh *hubShard) {
		drop(sh.byUser, c.userID, c)
		for id := range c.channels {
			drop(sh.channels, id, c)
		}
		for _, id := range c.teams {
			drop(sh.teams, id, c)
		}
		if len(sh.byUser[c.userID]) == 0 {
			last()
		}
	})
}

// joinChannel tells this server's and the peers' connections of a user where the user came to or left.
func (h *hub) joinChannel(userID, channelID string, joined bool) {
	h.applyJoin(userID, channelID, "", joined)
	h.s.bus.send(busMessage{User: userID, Channel: channelID, Left: !joined})
}

func (h *hub) joinTeam(userID, teamID string) {
	h.applyJoin(userID, "", teamID, true)
	h.s.bus.send(busMessage{User: userID, Team: teamID})
}

func (h *hub) applyJoin(userID, channelID, teamID string, joined bool) {
	h.do(h.shard(userID), func(sh *hubShard) {
		for c := range sh.byUser[userID] {
			switch {
			case teamID != "":
				c.teams = append(c.teams, teamID)
				put(sh.teams, teamID, c)
			case joined:
				c.enter(sh, channelID)
			default:
				delete(c.channels, channelID)
				drop(sh.channels, channelID, c)
			}
		}
	})
}

// closeAll ends every connection, and those that come later at once.
func (h *hub) closeAll() {
	h.closed.Store(true)
	for _, sh := range h.shards {
		h.do(sh, func(sh *hubShard) {
			for _, conns := range sh.byUser {
				for c := range conns {
					c.close()
				}
			}
		})
	}
}

func put(m map[string]map[*wsConn]struct{}, key string, c *wsConn) {
	if m[key] == nil {
		m[key] = map[*wsConn]struct{}{}
	}
	m[key][c] = struct{}{}
}

func drop(m map[string]map[*wsConn]struct{}, key string, c *wsConn) {
	delete(m[key], c)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
