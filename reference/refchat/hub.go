package refchat

import (
	"encoding/json"
	"hash/maphash"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// broadcast selects the receivers of an event: a channel's members, a team's, one user, or all
// users.
type broadcast struct {
	OmitUsers map[string]bool `json:"omit_users"`
	UserID    string          `json:"user_id"`
	ChannelID string          `json:"channel_id"`
	TeamID    string          `json:"team_id"`
	// OmitConn is the connection of the client that caused the event, where its request named it:
	// it knows already.
	OmitConn string `json:"omit_connection_id,omitempty"`
}

// event is one message for WebSockets, encoded once; each connection adds its own sequence number
// (see wsConn.writeEvent).
type event struct {
	name   string
	to     broadcast
	prefix []byte          // the JSON up to and including `"seq": `
	cut    int             // where the data ends in prefix
	ack    map[string]bool // users whose data has should_ack besides
}

// newEvent returns an event whose data has the members name, value, name, value, … in that order.
func newEvent(name string, to broadcast, members ...any) *event {
	b := make([]byte, 0, 512)
	b = append(b, `{"event": `...)
	b = appendJSON(b, name)
	b = append(b, `, "data": {`...)
	for i, v := range members {
		if i > 0 {
			b = append(b, ":,"[(i+1)%2])
		}
		b = appendJSON(b, v)
	}
	cut := len(b)
	b = append(b, `}, "broadcast": `...)
	b = appendJSON(b, to)
	b = append(b, `, "seq": `...)
	return &event{name: name, to: to, prefix: b, cut: cut}
}

// publish brings a new event to those whom it concerns.
func (s *Server) publish(name string, to broadcast, members ...any) {
	s.hub.publish(newEvent(name, to, members...))
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

// hub holds the connections of this server and brings events to them. It has one shard per
// processor; a user's connections live in one shard, whose goroutine alone touches its maps.
type hub struct {
	s      *Server
	seed   maphash.Seed
	shards []*hubShard
	wg     sync.WaitGroup
	quit   chan struct{}
	once   sync.Once
	closed atomic.Bool
}

type hubShard struct {
	inbox                   chan func(*hubShard)
	byUser, channels, teams wsConns
}

// wsConns are connections by the identifier of their user, of a channel or of a team.
type wsConns map[string]map[*wsConn]struct{}

const hubInbox = 4096

func newHub(s *Server) *hub {
	h := &hub{s: s, seed: maphash.MakeSeed(), quit: make(chan struct{})}
	for range max(1, runtime.GOMAXPROCS(0)) {
		h.shards = append(h.shards, &hubShard{
			inbox:    make(chan func(*hubShard), hubInbox),
			byUser:   wsConns{},
			channels: wsConns{},
			teams:    wsConns{},
		})
	}
	for i, sh := range h.shards {
		s.met.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "mattermost_websocket_broadcast_buffer_size",
			Help:        "Events that wait for the hub.",
			ConstLabels: prometheus.Labels{"hub": strconv.Itoa(i)},
		}, func() float64 { return float64(len(sh.inbox)) }))
	}
	return h
}

func (h *hub) run() {
	for _, sh := range h.shards {
		h.wg.Go(func() {
			reap := time.NewTicker(time.Minute)
			defer reap.Stop()
			for {
				select {
				case fn := <-sh.inbox:
					fn(sh)
				case now := <-reap.C:
					sh.reap(now)
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
	h.s.met.published.WithLabelValues(e.name).Inc()
	h.deliver(e)
	h.s.bus.send(busMessage{
		Event:  e.name,
		To:     &e.to,
		Prefix: string(e.prefix),
		Cut:    e.cut,
		Ack:    e.ack,
	})
}

// deliver sends an event to this server's connections.
func (h *hub) deliver(e *event) {
	if e.to.UserID != "" {
		h.do(h.shard(e.to.UserID), func(sh *hubShard) {
			h.dawdle(e)
			sh.send(e, sh.byUser[e.to.UserID])
		})
		return
	}
	for _, sh := range h.shards {
		h.do(sh, func(sh *hubShard) {
			h.dawdle(e)
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

// dawdle is the fault "hub".
func (h *hub) dawdle(e *event) {
	if d := h.s.faults.hub; d > 0 && e.name == "posted" {
		time.Sleep(d)
		h.s.met.faultTime.WithLabelValues("hub").Add(d.Seconds())
	}
}

func (sh *hubShard) send(e *event, conns map[*wsConn]struct{}) {
	for c := range conns {
		if !e.to.OmitUsers[c.userID] && (e.to.OmitConn == "" || e.to.OmitConn != c.id) {
			if c.placed {
				sh.offer(c, e)
			} else if len(c.early) < wsQueue { // hello comes first
				c.early = append(c.early, e)
			}
		}
	}
}

// offer queues an event, unless a full queue is in the way.
func (sh *hubShard) offer(c *wsConn, e *event) {
	met := c.s.met
	if e.unimportant() && len(c.queue) > wsQueue/2 {
		met.wsDropped.WithLabelValues("skipped").Inc()
		return
	}
	select {
	case c.queue <- wsItem{ev: e}:
	default: // too slow, or away too long: such a connection cannot be resumed
		reason := "overflow"
		if c.sock == nil { // its client may be gone for good: these are not waited for
			reason = "away"
		}
		met.wsDropped.WithLabelValues(reason).Add(float64(len(c.queue) + 1))
		sh.remove(c)
		if c.sock != nil {
			c.sock.close()
		}
	}
}

// remove drops a connection.
func (sh *hubShard) remove(c *wsConn) {
	sh.byUser.drop(c.userID, c)
	for id := range c.channels {
		sh.channels.drop(id, c)
	}
	for _, id := range c.teams {
		sh.teams.drop(id, c)
	}
}

// reap drops the connections whose clients did not come back in time.
func (sh *hubShard) reap(now time.Time) {
	for _, conns := range sh.byUser {
		for c := range conns {
			if c.sock == nil && now.Sub(c.away) > wsAway {
				sh.remove(c)
			}
		}
	}
}

// register makes a connection known. From now on it gets the user's own events, after hello; place
// adds the events of channels and teams.
func (h *hub) register(k *wsSocket) {
	h.count(1)
	h.do(h.shard(k.c.userID), func(sh *hubShard) {
		k.c.sock = k
		sh.byUser.put(k.c.userID, k.c)
	})
}

// place adds a connection to channels and teams. Joins that happened since register are there
// already.
func (h *hub) place(c *wsConn, channels, teams []string) {
	h.do(h.shard(c.userID), func(sh *hubShard) {
		if _, here := sh.byUser[c.userID][c]; !here {
			return
		}
		for _, id := range channels {
			c.enter(sh, id)
		}
		for _, id := range teams {
			c.enterTeam(sh, id)
		}
		sh.offer(c, c.hello())
		early := c.early
		c.placed, c.early = true, nil
		for _, e := range early {
			sh.offer(c, e)
		}
	})
}

// resume gives a socket to the user's connection of that id, if it waits for one here; see
// [wsConn.rejoin].
func (h *hub) resume(k *wsSocket, userID, id string, from int64) bool {
	found := make(chan bool, 1)
	h.do(h.shard(userID), func(sh *hubShard) {
		for c := range sh.byUser[userID] {
			if c.id == id && c.sock == nil {
				c.rejoin(k, from)
				h.count(1)
				found <- true
				return
			}
		}
		found <- false
	})
	select {
	case ok := <-found:
		return ok
	case <-h.quit:
		return false
	}
}

// leave takes a socket whose goroutines have ended from its connection, which waits for another. It
// reports through last whether it was its user's last one.
func (h *hub) leave(k *wsSocket, last func()) {
	h.do(h.shard(k.c.userID), func(sh *hubShard) {
		k.c.sock, k.c.away = nil, time.Now()
		h.count(-1) // who sees it can take the connection up again
		for c := range sh.byUser[k.c.userID] {
			if c.sock != nil {
				return
			}
		}
		last()
	})
}

func (h *hub) count(n int) { h.s.met.websockets.Add(float64(n)) }

func (c *wsConn) enter(sh *hubShard, channelID string) {
	c.channels[channelID] = struct{}{}
	sh.channels.put(channelID, c)
}

func (c *wsConn) enterTeam(sh *hubShard, teamID string) {
	c.teams = append(c.teams, teamID)
	sh.teams.put(teamID, c)
}

// join notifies this server's and the peers' connections of a user that the user joined a team, or
// joined or left a channel.
func (h *hub) join(m busMessage) {
	h.applyJoin(m)
	h.s.bus.send(m)
}

func (h *hub) applyJoin(m busMessage) {
	h.do(h.shard(m.User), func(sh *hubShard) {
		for c := range sh.byUser[m.User] {
			switch {
			case m.Team != "":
				c.enterTeam(sh, m.Team)
			case m.Left:
				delete(c.channels, m.Channel)
				sh.channels.drop(m.Channel, c)
			default:
				c.enter(sh, m.Channel)
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
					if c.sock != nil {
						c.sock.close()
					}
				}
			}
		})
	}
}

func (m wsConns) put(key string, c *wsConn) {
	if m[key] == nil {
		m[key] = map[*wsConn]struct{}{}
	}
	m[key][c] = struct{}{}
}

func (m wsConns) drop(key string, c *wsConn) {
	delete(m[key], c)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
