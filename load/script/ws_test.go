package script

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"plimsoll/load/measure"
)

// echo sends back what it gets, pings once, and closes at "bye".
func echo(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	_ = ws.WriteMessage(websocket.PingMessage, []byte("p"))
	for {
		kind, data, err := ws.ReadMessage()
		switch {
		case err != nil:
			return
		case string(data) == "bye":
			_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
		case string(data) == "die":
			return
		default:
			_ = ws.WriteMessage(kind, append([]byte(r.Header.Get("X-Greeting")), data...))
		}
	}
}

const session101 = `
const ws = require("k6/ws");
const events = [];
exports.default = function () {
	const res = ws.connect(__ENV.BASE_URL.replace("http", "ws") + "/echo", {headers: {"X-Greeting": "hi-"}}, function (socket) {
		socket.on("open", () => { events.push("open"); socket.send("one"); socket.ping(); });
		socket.on("message", m => {
			events.push(m);
			if (m === "hi-one") { socket.sendBinary(new Uint8Array([1, 2]).buffer); }
		});
		socket.on("binaryMessage", b => { events.push("binary " + new Uint8Array(b).length); });
		socket.on("ping", () => events.push("ping"));
		socket.on("pong", () => events.push("pong"));
		socket.on("close", code => events.push("close " + code));
		socket.on("error", e => events.push("error"));
		let n = 0;
		socket.setInterval(() => { if (++n <= 3) { events.push("tick"); } if (n === 3) { socket.send(last()); } }, 20);
		socket.setTimeout(() => events.push("once"), 5);
		socket.setTimeout(() => { socket.close(); }, 20000);
	});
	check(res, {"status is 101": r => r && r.status === 101});
	check(events, {"%s": e => e.sort().join() === "%s" || console.log(e.sort().join())});
};`

func TestSession(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{
		"bye": "binary 5,close 1000,hi-one,once,open,ping,pong,tick,tick,tick",
		"die": "binary 5,close 1006,error,hi-one,once,open,ping,pong,tick,tick,tick",
	} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			code := strings.Replace(session101, "%s", "events", 1)
			code = strings.Replace(code, "%s", want, 1)
			s := staged(t, echo, code+`function last() { return "`+last+`"; }`, nil)
			s.act(s.user(0), 1)
			w := s.windows()
			for name, n := range map[string]uint64{
				"ws connect": 1, "check status is 101": 1, "check events": 1, "group ws session": 1, "iteration default": 1,
			} {
				if w[name] == nil || w[name].Classes[measure.OK] != n {
					t.Errorf("%s: %+v, want %d", name, w[name], n)
				}
			}
			if broke := w["websocket"] != nil; broke != (last == "die") {
				t.Errorf("the connection counts as broken: %t", broke)
			}
			if t.Failed() {
				t.Log(s.said())
			}
		})
	}
}

func TestSessionThatIsRefused(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }
	s := staged(t, refuse, `
const ws = require("k6/ws");
exports.default = function () {
	let heard = "";
	const res = ws.connect("/echo", s => { s.on("error", e => { heard = String(e); }); s.on("open", () => fail("open")); });
	check(res, {"refused": r => r.status === 403 && r.error !== "" && heard !== ""});
};`, nil)
	s.act(s.user(0), 1)
	w := s.windows()
	if w["check refused"].Classes[measure.OK] != 1 || w["ws connect"].Classes[measure.Status4xx] != 1 {
		t.Errorf("%+v %s", w, s.said())
	}
}

func TestSessionsEndWithAnException(t *testing.T) {
	t.Parallel()
	s := staged(t, echo, `
const ws = require("k6/ws");
exports.default = function () {
	ws.connect("/echo", s => {
		s.on("open", () => s.send("x"));
		s.on("message", () => { throw new Error("in a handler"); });
	});
};`, nil)
	a := s.user(0)
	s.act(a, 2)
	w := s.windows()
	if w["iteration default"].Classes[measure.Script] != 2 || w["group ws session"].Classes[measure.Script] != 2 {
		t.Errorf("%+v", w)
	}
	s.says("test.js:6: in a handler")
	a.Close()
	if a.talk.open != 0 {
		t.Error("a session is left open")
	}
}
