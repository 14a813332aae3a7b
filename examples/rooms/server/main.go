// Command server is a small chat of rooms over one WebSocket: a protocol of its own, which nothing
// else of this repository speaks. It is there to be measured by a behavior that is written for it.
//
// GET /rooms?name=NAME opens the WebSocket. Both sides send objects of JSON, one in a text frame:
//
//	{"do":"join","room":"r1"}                        {"on":"joined","room":"r1","members":3}
//	{"do":"leave","room":"r1"}                       {"on":"left","room":"r1"}
//	{"do":"say","room":"r1","text":"T","ref":"R"}    {"on":"said","room":"r1","id":"1-17","from":"NAME","text":"T","ref":"R"}
//	{"do":"history","room":"r1","after":"1-3"}       {"on":"history","room":"r1","ids":["1-4","1-5"]}
//
// A message goes to all members of its room, its author among them, in the same order to each. A
// history has at most 1,000 ids, the oldest first. A request that is refused is answered with
// {"on":"error","text":"..."}. GET /health answers 200, and GET /metrics has the process's metrics.
//
// Everything is in memory: a server that starts again knows no room. A client that does not read is
// cut off when 256 frames wait for it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sys/unix"
)

func main() {
	addr := "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "8090")
	listen := flag.String("listen", addr, "`address`; by default the port PORT of the environment")
	work := flag.Int64("work", 0, "`microseconds` of CPU time that each message costs in addition")
	lose := flag.Int64("lose", 0, "every `N`-th delivery to another than the author is lost; 0 loses none")
	flag.Parse()
	if flag.NArg() > 0 || *work < 0 || *lose < 0 {
		fmt.Fprintln(os.Stderr, "server takes no arguments, and -work and -lose are 0 or more")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, newRooms(*work, *lose)); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// serve serves a chat until ctx ends; its error is [http.ErrServerClosed] then.
func serve(ctx context.Context, addr string, c *rooms) error {
	s := &http.Server{Addr: addr, Handler: c.handler(), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	return s.ListenAndServe()
}

// handler returns the pages of a chat.
func (c *rooms) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rooms", c.connect)
	mux.Handle("GET /metrics", promhttp.Handler())
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	return mux
}

const (
	mostWaiting = 256   // frames for a client
	mostHistory = 1_000 // ids of an answer
	mostName    = 64    // bytes of the name of a user or a room
	writeWait   = 10 * time.Second
)

var upgrader = websocket.Upgrader{WriteBufferPool: new(sync.Pool)}

// rooms is a chat.
type rooms struct {
	work       time.Duration // for each message
	lose       int64         // every so many deliveries; 0 for none
	deliveries atomic.Int64  // to others than the author

	mu     sync.Mutex
	byName map[string]*room
}

// room is one room. Who holds mu sends to all members: so each gets all messages in one order.
type room struct {
	name string
	no   int // from 1, the first part of an id

	mu      sync.Mutex
	members map[*client]struct{}
	said    []string // texts, of the ids no-1, no-2, ...
}

// client is one connection.
type client struct {
	c     *rooms
	name  string
	ws    *websocket.Conn
	queue chan *websocket.PreparedMessage
	in    map[string]*room // of the reading goroutine
}

// request is what a client sends.
type request struct{ Do, Room, Text, Ref, After string }

// event is an answer, or a message.
type event struct {
	On      string   `json:"on"`
	Room    string   `json:"room,omitempty"`
	Members int      `json:"members,omitempty"`
	ID      string   `json:"id,omitempty"`
	From    string   `json:"from,omitempty"`
	Text    string   `json:"text,omitempty"`
	Ref     string   `json:"ref,omitempty"`
	IDs     []string `json:"ids,omitzero"`
}

// newRooms returns a chat without rooms, whose messages cost so many microseconds and which loses
// every lose-th delivery.
func newRooms(work, lose int64) *rooms {
	return &rooms{work: time.Duration(work) * time.Microsecond, lose: lose, byName: map[string]*room{}}
}

// connect serves one client until its connection ends.
func (c *rooms) connect(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	if name == "" || len(name) > mostName {
		http.Error(w, "name is needed, of at most 64 bytes", http.StatusBadRequest)
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	ws.SetReadLimit(8 << 10)
	k := &client{c, name, ws, make(chan *websocket.PreparedMessage, mostWaiting), map[string]*room{}}
	var writer sync.WaitGroup
	writer.Go(k.write)
	k.read()
	for _, m := range k.in {
		m.leave(k)
	}
	ws.Close()
	close(k.queue) // nobody knows this client any more
	writer.Wait()
}

// write sends the frames that wait, until the reader has ended, which an error makes it do.
func (k *client) write() {
	for m := range k.queue {
		_ = k.ws.SetWriteDeadline(time.Now().Add(writeWait)) // never fails
		if k.ws.WritePreparedMessage(m) != nil {
			k.ws.Close()
		}
	}
}

// read carries out requests until the connection ends.
func (k *client) read() {
	for {
		_, data, err := k.ws.ReadMessage()
		if err != nil {
			return
		}
		var q request
		if err := json.Unmarshal(data, &q); err != nil {
			k.fail("not an object of JSON: " + err.Error())
		} else if q.Room == "" || len(q.Room) > mostName {
			k.fail("room is needed, of at most 64 bytes")
		} else {
			k.serve(&q)
		}
	}
}

// serve carries out one request.
func (k *client) serve(q *request) {
	m := k.in[q.Room]
	switch {
	case q.Do == "join":
		m = k.c.room(q.Room)
		k.in[q.Room] = m
		m.join(k)
	case m == nil:
		k.fail(fmt.Sprintf("%s: not a member of %s", q.Do, q.Room))
	case q.Do == "leave":
		delete(k.in, q.Room)
		m.leave(k)
		k.send(frame(event{On: "left", Room: m.name}))
	case q.Do == "say":
		m.say(k, q)
	case q.Do == "history":
		m.history(k, q.After)
	default:
		k.fail(fmt.Sprintf("do is %q; want join, leave, say or history", q.Do))
	}
}

func (k *client) fail(text string) { k.send(frame(event{On: "error", Text: text})) }

// send queues a frame, or cuts off a client that does not read.
func (k *client) send(m *websocket.PreparedMessage) {
	select {
	case k.queue <- m:
	default:
		k.ws.Close()
	}
}

// frame returns an event as a frame, which any number of clients may be sent.
func frame(e event) *websocket.PreparedMessage {
	data, _ := json.Marshal(e)                                        // strings and numbers: it never fails
	m, _ := websocket.NewPreparedMessage(websocket.TextMessage, data) // nor does this
	return m
}

// room returns a room, which its first member makes.
func (c *rooms) room(name string) *room {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.byName[name]
	if m == nil {
		m = &room{name: name, no: len(c.byName) + 1, members: map[*client]struct{}{}}
		c.byName[name] = m
	}
	return m
}

func (m *room) join(k *client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.members[k] = struct{}{}
	k.send(frame(event{On: "joined", Room: m.name, Members: len(m.members)}))
}

func (m *room) leave(k *client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.members, k)
}

// say sends a message to all members.
func (m *room) say(k *client, q *request) {
	spin(k.c.work)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, q.Text)
	f := frame(event{On: "said", Room: m.name, ID: m.id(len(m.said)), From: k.name, Text: q.Text, Ref: q.Ref})
	for other := range m.members {
		if other == k || k.c.lose == 0 || k.c.deliveries.Add(1)%k.c.lose != 0 {
			other.send(f)
		}
	}
}

// history answers with the ids after one; all of an unknown one are after it.
func (m *room) history(k *client, after string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := 0
	if of, n, ok := strings.Cut(after, "-"); ok && of == strconv.Itoa(m.no) {
		if i, err := strconv.Atoi(n); err == nil && i > 0 {
			first = min(i, len(m.said))
		}
	}
	ids := []string{}
	for i := first; i < min(len(m.said), first+mostHistory); i++ {
		ids = append(ids, m.id(i+1))
	}
	k.send(frame(event{On: "history", Room: m.name, IDs: ids}))
}

// id returns the id of the n-th message of a room.
func (m *room) id(n int) string { return fmt.Sprintf("%d-%d", m.no, n) }

// spin uses so much CPU time of this thread, which other threads do not shorten.
func spin(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := threadCPU(); threadCPU()-start < d; {
	}
}

// threadCPU returns the CPU time of this thread.
func threadCPU() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // the kernel has this clock
	return time.Duration(ts.Nano())
}
