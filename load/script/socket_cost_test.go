package script

import (
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
)

// BenchmarkMessages measures the cost of a message with a handler and a question that it does not
// answer: two calls of the script.
func BenchmarkMessages(b *testing.B) {
	for _, bb := range []struct{ name, handler string }{
		{"empty handler", `() => {}`},
		{"ledger", `(text) => { ledger.seen(text, "r"); }`},
		{"parse and ledger", `(text) => { const m = JSON.parse(text); if (m.on === "said") ledger.seen(m.id, m.room, m.ref); }`},
		{"no handler", `undefined`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			n := b.N
			text, _ := websocket.NewPreparedMessage(websocket.TextMessage,
				[]byte(`{"on":"said","room":"r12","id":"1-123456","from":"u12","text":"a line of the length of lines","ref":"r-17"}`))
			done := make(chan struct{})
			s := staged(b, func(w http.ResponseWriter, r *http.Request) {
				up := websocket.Upgrader{WriteBufferSize: 64 << 10}
				ws, err := up.Upgrade(w, r, nil)
				if err != nil {
					return
				}
				defer ws.Close()
				_, _, _ = ws.ReadMessage()
				for range n {
					_ = ws.WritePreparedMessage(text)
				}
				_ = ws.WriteMessage(websocket.TextMessage, []byte("last"))
				<-done
			}, `
const {user, ledger} = require("plimsoll");
exports.default = function () {
	const s = user.socket("/", {message: `+bb.handler+`});
	s.ask("all", "go", t => t === "last", "60s");
};`, nil)
			a := s.user(0)
			b.ReportAllocs()
			b.ResetTimer()
			if err := a.Act(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			close(done)
		})
	}
}
