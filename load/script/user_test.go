package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	expect "plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// chat is a server of rooms like that of examples/rooms, which can be told to fail.
type chat struct {
	mu      sync.Mutex
	n       int
	members map[*websocket.Conn]map[string]bool
	lose    func(id, to string) bool
	twice   func(id, to string) bool
	swap    bool // two messages for others than their author come in the wrong order
	kept    []string
	names   map[*websocket.Conn]string
	ids     map[string][]string // of rooms
	joined  int
	mute    bool // nothing is answered
	refuse  bool // to connect
}

func newChat() *chat {
	return &chat{members: map[*websocket.Conn]map[string]bool{}, names: map[*websocket.Conn]string{},
		ids: map[string][]string{}}
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	refuse := c.refuse
	c.mu.Unlock()
	if r.URL.Path != "/rooms" {
		return
	}
	if refuse {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	c.mu.Lock()
	c.members[ws], c.names[ws] = map[string]bool{}, r.URL.Query().Get("name")
	c.mu.Unlock()
	for {
		var q struct{ Do, Room, Text, Ref string }
		if ws.ReadJSON(&q) != nil {
			break
		}
		c.mu.Lock()
		c.serve(ws, q.Do, q.Room, q.Text, q.Ref)
		c.mu.Unlock()
	}
	c.mu.Lock()
	delete(c.members, ws)
	c.mu.Unlock()
}

func (c *chat) serve(ws *websocket.Conn, do, room, text, ref string) {
	send := func(ws *websocket.Conn, format string, args ...any) {
		_ = ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...))
	}
	if c.mute {
		return
	}
	switch do {
	case "join":
		c.members[ws][room] = true
		c.joined++
		send(ws, `{"on":"joined","room":%q}`, room)
	case "leave":
		delete(c.members[ws], room)
		send(ws, `{"on":"left","room":%q}`, room)
	case "history":
		ids, _ := json.Marshal(c.ids[room])
		send(ws, `{"on":"history","room":%q,"ids":%s}`, room, ids)
	case "say":
		c.n++
		id := fmt.Sprint("m", c.n)
		c.ids[room] = append(c.ids[room], id)
		event := fmt.Sprintf(`{"on":"said","room":%q,"id":%q,"from":%q,"text":%q,"ref":%q}`,
			room, id, c.names[ws], text, ref)
		now := []string{event}
		if c.swap {
			if c.kept = append(c.kept, event); len(c.kept) < 2 {
				now = nil
			} else {
				now, c.kept = []string{c.kept[1], c.kept[0]}, nil
			}
		}
		for to, rooms := range c.members {
			switch {
			case !rooms[room]:
			case to == ws:
				send(to, "%s", event)
			case c.lose != nil && c.lose(id, c.names[to]):
			default:
				for _, e := range now {
					send(to, "%s", e)
				}
				if c.twice != nil && c.twice(id, c.names[to]) {
					send(to, "%s", event)
				}
			}
		}
	}
}

// cut breaks the connections of a user.
func (c *chat) cut(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ws := range c.members {
		if c.names[ws] == name {
			ws.UnderlyingConn().Close()
		}
	}
}

func (c *chat) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// talker is a script whose action says something in room r and awaits the server's word.
const talker = `
const {user, ledger} = require("plimsoll");
Object.assign(globalThis, {socket: undefined, n: 0, opened: 0, closed: []}); // as eval sees global names only
function start() {
	socket = user.socket("/rooms?name=u" + user.id, {
		open(s) { opened++; s.send(JSON.stringify({do: "join", room: "r"})); },
		message(text) {
			const m = JSON.parse(text);
			if (m.on === "joined") { ledger.join(m.room); }
			if (m.on === "said") {
				ledger.seen(m.id, m.room, m.ref);
			}
		},
		close(code) { closed.push(code); },
	});
}
function say() {
	const ref = "ref-" + user.id + "-" + n++;
	ledger.sending(ref, "r");
	const m = socket.ask("say", JSON.stringify({do: "say", room: "r", text: "hi", ref}), text => {
		const m = JSON.parse(text);
		return m.ref === ref && m;
	}, "10s");
	if (m) { ledger.sent(m.id, "r"); }
	return m;
}
`

// spoken returns a stage with the talker's script before a chat, and a ledger.
func spoken(t *testing.T, c *chat, code string) *stage {
	t.Helper()
	s := staged(t, c.ServeHTTP, talker+code, nil)
	s.env.Ledger = workload.NewLedger(0, 1)
	s.env.Ledger.UseClock(s.env.Clock)
	return s
}

// until waits for something that another goroutine does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within 20 s", what)
		}
	}
}

// has reports whether an expression of a user's script is true.
func (a *actor) has(t *testing.T, expression string) bool {
	t.Helper()
	ok := false
	err := a.run(frame{ctx: t.Context()}, func() error {
		v, err := a.exports.actions[0](nil, a.rt.ToValue(expression))
		ok = err == nil && v.ToBoolean()
		return err
	})
	expect.None(t, err)
	return ok
}

// inspect makes the default function answer [actor.has].
const inspect = `
exports.default = function (expression) {
	if (typeof expression === "string") { return eval(expression); }
	act();
};`

func TestDeliveriesOfASocketThatLives(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `function act() { if (!socket) { start(); } else { say(); } }`+inspect)
	users := []*actor{s.user(0), s.user(1), s.user(2)}
	for _, a := range users {
		s.act(a, 1)
	}
	until(t, "members", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.joined == 3
	})
	for range 5 {
		for _, a := range users {
			s.act(a, 1)
		}
	}
	until(t, "deliveries", func() bool { return s.env.Ledger.Count().Seen == 30 })
	got := s.env.Ledger.Count()
	if got.Acked != 15 || got.Duplicated != 0 || got.Misordered != 0 || got.Foreign != 0 {
		t.Errorf("%+v, want 15 messages of which each comes to two others", got)
	}
	w := s.windows()
	for name, want := range map[string]uint64{"ws connect": 3, "say": 15, "delivery": 30} {
		if w[name] == nil || w[name].Classes[measure.OK] != want {
			t.Errorf("%s: %+v, want %d", name, w[name], want)
		}
	}
	if a := users[0]; !a.has(t, "opened === 1 && closed.length === 0") {
		t.Error("the socket was opened more than once")
	}
}

func TestFaultsOfDeliveryAreFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault func(c *chat)
		want  workload.LedgerCount
	}{
		"lost": {func(c *chat) { c.lose = func(id, _ string) bool { return id == "m3" } },
			workload.LedgerCount{Acked: 8, Judged: 8, Seen: 7, Lost: 1}},
		"duplicated": {func(c *chat) { c.twice = func(id, _ string) bool { return id == "m3" } },
			workload.LedgerCount{Acked: 8, Judged: 8, Seen: 8, Duplicated: 1}},
		"misordered": {func(c *chat) { c.swap = true },
			workload.LedgerCount{Acked: 8, Judged: 8, Seen: 8, Misordered: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat()
			tt.fault(c)
			s := spoken(t, c, `function act() { if (!socket) { start(); } else { say(); } }`+inspect)
			author, other := s.user(0), s.user(1)
			s.act(author, 1)
			s.act(other, 1)
			until(t, "members", func() bool {
				return author.has(t, "socket.ask('history', '{\"do\":\"history\",\"room\":\"r\"}', t => t.includes('history'))") &&
					other.has(t, "socket.ask('history', '{\"do\":\"history\",\"room\":\"r\"}', t => t.includes('history'))")
			})
			s.act(author, 8)
			if !other.has(t, "socket.ask('history', '{\"do\":\"history\",\"room\":\"r\"}', t => t.includes('history'))") {
				t.Error("no answer")
			}
			s.env.Ledger.Settle(time.Now().Add(11 * time.Second))
			if got := s.env.Ledger.Count(); got != tt.want {
				t.Errorf("%+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestWhoLeavesIsOwedNothing(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `
const answer = (name, q) => socket.ask(name, JSON.stringify({do: name, room: "r", ...q}), t => t.includes("on"), "10s");
globalThis.step = 0;
function act() {
	switch (step++) {
	case 0: start(); return answer("history");
	case 1: ledger.leave("r"); return answer("leave");
	case 2: return answer("join");
	}
}`+strings.Replace(inspect, "act();", `if (user.id === 1) { act(); } else if (!socket) { start(); } else { say(); }`, 1))
	author, other := s.user(0), s.user(1)
	s.act(author, 1)
	s.act(other, 1)
	s.act(author, 2)
	until(t, "deliveries", func() bool { return s.env.Ledger.Count().Seen == 2 })
	s.act(other, 1)
	s.act(author, 3)
	s.act(other, 1)
	until(t, "membership", func() bool { // the answer to ask came before its handler ran
		return other.has(t, "socket.ask('history', '{\"do\":\"history\",\"room\":\"r\"}', t => t.includes('history'))")
	})
	s.act(author, 4)
	until(t, "deliveries", func() bool { return s.env.Ledger.Count().Seen == 6 })
	s.env.Ledger.Settle(time.Now().Add(11 * time.Second))
	if got, want := s.env.Ledger.Count(), (workload.LedgerCount{Acked: 9, Judged: 9, Seen: 6}); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestAskTimesOut(t *testing.T) {
	t.Parallel()
	c := newChat()
	c.mute = true
	s := spoken(t, c, `
globalThis.got = 1;
function act() { if (!socket) { start(); } got = socket.ask("say", "{}", () => true, "20ms"); }`+inspect)
	a := s.user(0)
	s.act(a, 2)
	if w := s.windows()["say"]; w.Classes[measure.Timeout] != 2 {
		t.Errorf("%v, want two timeouts", w.Classes)
	}
	if !a.has(t, "got === undefined") {
		t.Error("a timeout has a result")
	}
}

func TestHandlersThatThrow(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `
globalThis.seen = 0;
function act() {
	if (socket) { return say(); }
	socket = user.socket("/rooms?name=x", {
		open(s) { s.send('{"do":"join","room":"r"}'); },
		message(text) {
			seen++;
			if (text.includes("joined")) { throw new Error("bad " + text.length); }
			if (seen === 2) { sleep(1); }
		},
	});
}`+inspect)
	a := s.user(0)
	s.act(a, 2)
	if !a.has(t, "seen === 2") {
		t.Error("the second message was not handled, or came before the first")
	}
	w := s.windows()
	if got := w["iteration socket.message"]; got == nil || got.Classes[measure.Script] != 2 {
		t.Errorf("exceptions of handlers: %+v, want 2", got)
	}
	if w["iteration default"].Classes[measure.OK] != 2 {
		t.Error("a handler's exception ended an iteration")
	}
	s.says("test.js:35: bad 26", "test.js:36: TypeError: sleep() in a handler")
}

func TestSocketsThatBreakAreOpenedAgain(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `function act() { if (!socket) { start(); } else { say(); } }`+inspect)
	s.env.Pace = 0.01
	author, other := s.user(0), s.user(1)
	s.act(author, 1)
	s.act(other, 1)
	until(t, "members", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.joined == 2
	})
	c.set(func() { c.refuse = true })
	c.cut("u1")
	until(t, "refusal", func() bool { return strings.Contains(s.said(), "ws connect: ") })
	s.act(author, 1) // which other is owed nothing of
	c.set(func() { c.refuse = false })
	s.act(other, 1) // it awaits the connection
	until(t, "other's connection", func() bool { return other.has(t, "opened === 2 && closed.join() === '1006'") })
	s.act(author, 1)
	until(t, "deliveries", func() bool { return s.env.Ledger.Count().Seen == 2 })
	s.env.Ledger.Settle(time.Now().Add(11 * time.Second))
	if got := s.env.Ledger.Count(); got.Lost != 0 || got.Acked != 3 {
		t.Errorf("%+v: nothing is lost to who is not connected", got)
	}
	w := s.windows()
	if got := w["websocket"]; got == nil || got.Classes[measure.WS]+got.Classes[measure.Header] != 1 {
		t.Errorf("connections that broke: %+v, want 1", got)
	}
	if got := w["ws connect"]; got.Classes[measure.OK] != 3 || got.Classes[measure.Status5xx] == 0 {
		t.Errorf("connections opened: %v, want 3, and refused ones", got.Classes)
	}
}

func TestSocketsThatTheScriptClosesStayClosed(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `
globalThis.why = undefined;
function act() {
	if (!socket) { start(); return; }
	socket.close(4001);
	try { socket.send("x"); } catch (e) { why = e.message; }
}`+inspect)
	s.env.Pace = 0.001
	a := s.user(0)
	s.act(a, 2)
	until(t, "close", func() bool { return a.has(t, "closed.join() === '4001'") })
	a.Close() // no goroutine is left: it returns
	if got := a.talk.open; got != 0 {
		t.Errorf("%d sockets are open", got)
	}
	if !a.has(t, `why === "socket.send(): the socket is closed" && opened === 1`) {
		t.Error("it can be used, or was opened again")
	}
	if w := s.windows(); w["websocket"] != nil || w["ws connect"].Count() != 1 {
		t.Errorf("it counts as broken, or was opened again: %+v", w)
	}
}

func TestTheEndClosesEverything(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `function act() { for (let i = 0; i < 5; i++) { start(); } }`+inspect)
	s.env.Pace = 100
	var users []*actor
	for i := range 4 {
		users = append(users, s.user(i))
		s.act(users[i], 1)
	}
	c.cut("u2") // whose readers wait before they try again
	until(t, "breaks", func() bool { return strings.Contains(s.said(), "websocket: lost") })
	for _, a := range users {
		a.Close()
	}
	until(t, "end of connections", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.members) == 0
	})
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, a := range users {
		if strings.Contains(string(stacks), fmt.Sprintf("(*line).live(%p", a)) || len(a.talk.lines) == 0 {
			t.Errorf("a goroutine is left")
		}
	}
}

func TestAuditReadsBack(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `
exports.audit = function (channel, ids) {
	if (channel === "closed") { throw new Error("not allowed"); }
	if (!socket) { start(); }
	const text = socket.ask("history", JSON.stringify({do: "history", room: channel}), t => t.includes("history") && t);
	return JSON.parse(text).ids;
};
function act() { }`+inspect)
	c.ids["r"] = []string{"a", "b", "x"}
	got, err := s.b.Audit(t.Context(), s.env, []workload.AckedMessages{
		{Channel: "r", IDs: []string{"a", "b", "c"}},
		{Channel: "closed", IDs: []string{"d"}},
	})
	expect.None(t, err)
	if got.Expected != 4 || got.Readable != 2 || got.Missing != 1 || got.NotAudited != 1 ||
		got.MissingIDs[0] != "c" || !strings.Contains(got.Refusals[0], "test.js:29: not allowed") {
		t.Errorf("%+v", got)
	}
	for name := range s.windows() {
		if !strings.HasPrefix(name, workload.Setup) {
			t.Errorf("the audit is recorded as %q", name)
		}
	}
}

// TestArrivalIsNotTheHandlersTime: a message whose handler waits for the user's code was delivered
// when it arrived.
func TestArrivalIsNotTheHandlersTime(t *testing.T) {
	t.Parallel()
	c := newChat()
	s := spoken(t, c, `
function act() {
	if (!socket) { start(); return; }
	if (user.id === 0) { say(); return; }
	const end = Date.now() + 300;
	while (Date.now() < end) {}
}`+inspect)
	author, busy := s.user(0), s.user(1)
	s.act(author, 1)
	s.act(busy, 1)
	if !busy.has(t, "socket.ask('history', '{\"do\":\"history\",\"room\":\"r\"}', t => t.includes('history'))") {
		t.Fatal("no answer")
	}
	s.windows()
	var wg sync.WaitGroup
	wg.Go(func() { s.act(busy, 1) })
	until(t, "the busy user's lock", func() bool {
		if busy.mu.TryLock() {
			busy.mu.Unlock()
			return false
		}
		return true
	})
	s.act(author, 1)
	wg.Wait()
	until(t, "delivery", func() bool { return s.env.Ledger.Count().Seen == 1 })
	w := s.windows()["delivery"]
	if w == nil || w.Service.Max() > 250*time.Millisecond {
		t.Errorf("the delivery took %+v: it was charged with the script's computing", w)
	}
}
