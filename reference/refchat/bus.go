package refchat

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// busMessage is one line of JSON between servers on one database: an event to deliver, a cached
// value to drop, or a user's connections to move. N numbers the messages of one sender to one peer;
// a gap is a loss.
type busMessage struct {
	From    string          `json:"from,omitempty"` // the first line: who is speaking
	N       uint64          `json:"n,omitempty"`
	Event   string          `json:"event,omitempty"`
	To      *broadcast      `json:"to,omitempty"`
	Prefix  string          `json:"prefix,omitempty"`
	Cut     int             `json:"cut,omitempty"`
	Ack     map[string]bool `json:"ack,omitempty"`
	Drop    string          `json:"drop,omitempty"`
	Key     string          `json:"key,omitempty"`
	User    string          `json:"user,omitempty"`
	Channel string          `json:"channel,omitempty"`
	Team    string          `json:"team,omitempty"`
	Left    bool            `json:"left,omitempty"`
}

// dropAll makes a peer drop all its entries, after messages were lost.
const dropAll = "all"

const (
	busQueue      = 8192 // messages waiting for a peer
	busMaxLine    = 1 << 20
	busMinBackoff = 50 * time.Millisecond
	busMaxBackoff = 5 * time.Second
	busWriteWait  = 10 * time.Second
)

// bus connects this server to its peers. Each server dials every peer and only writes there; it
// reads from those that dial it. A nil bus sends nothing.
type bus struct {
	s     *Server
	ln    net.Listener
	peers []*peer
	wg    sync.WaitGroup
	ctx   context.Context
	quit  context.CancelFunc

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	last  map[string]uint64 // by sender, the number of its last message; over its connections
}

type peer struct {
	addr  string
	queue chan busMessage
	lost  atomic.Bool // since the peer was last sent a full invalidation
	up    atomic.Bool
}

func newBus(ctx context.Context, s *Server, listen string, peers []string) (*bus, error) {
	b := &bus{s: s, conns: map[net.Conn]struct{}{}, last: map[string]uint64{}}
	b.ctx, b.quit = context.WithCancel(context.WithoutCancel(ctx))
	if listen != "" {
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", listen)
		if err != nil {
			return nil, fmt.Errorf("listening for peers: %w", err)
		}
		b.ln = ln
	}
	for _, addr := range peers {
		b.peers = append(b.peers, &peer{addr: addr, queue: make(chan busMessage, busQueue)})
	}
	return b, nil
}

func (b *bus) addr() string {
	if b == nil || b.ln == nil {
		return ""
	}
	return b.ln.Addr().String()
}

func (b *bus) run() {
	for _, p := range b.peers {
		b.wg.Go(func() { b.speak(p) })
	}
	if b.ln != nil {
		b.wg.Go(b.accept)
	}
}

func (b *bus) stop() {
	b.quit()
	if b.ln != nil {
		b.ln.Close()
	}
	b.mu.Lock()
	for c := range b.conns {
		c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

// send hands a message to every peer's queue; a full queue loses it, which is counted.
func (b *bus) send(m busMessage) {
	if b == nil {
		return
	}
	for _, p := range b.peers {
		select {
		case p.queue <- m:
		default:
			p.lost.Store(true)
			b.s.met.busLost.Inc()
		}
	}
}

// keep notes a connection so that stop can close it; false after stop.
func (b *bus) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		c.Close()
		return false
	}
	b.conns[c] = struct{}{}
	return true
}

func (b *bus) release(c net.Conn) {
	b.mu.Lock()
	delete(b.conns, c)
	b.mu.Unlock()
	c.Close()
}

// speak keeps a connection to a peer and writes the queue to it.
func (b *bus) speak(p *peer) {
	backoff := busMinBackoff
	var n uint64
	for b.ctx.Err() == nil {
		d := net.Dialer{Timeout: 5 * time.Second}
		c, err := d.DialContext(b.ctx, "tcp", p.addr)
		if err == nil && b.keep(c) {
			backoff = busMinBackoff
			p.up.Store(true)
			n = b.write(p, c, n)
			p.up.Store(false)
			b.release(c)
		}
		if sleep(b.ctx, backoff) != nil {
			return
		}
		backoff = min(2*backoff, busMaxBackoff)
	}
}

// write sends messages until the connection fails and returns the number of the last one.
func (b *bus) write(p *peer, c net.Conn, n uint64) uint64 {
	broken := make(chan struct{})
	b.wg.Go(func() { // the peer never writes: a read returns when the connection is gone
		defer close(broken)
		_, _ = c.Read(make([]byte, 1))
	})
	w := bufio.NewWriterSize(c, 64<<10)
	enc := json.NewEncoder(w)
	if enc.Encode(busMessage{From: b.s.id}) != nil || w.Flush() != nil {
		return n
	}
	for {
		select {
		case <-b.ctx.Done():
			return n
		case <-broken:
			return n
		case m := <-p.queue:
			_ = c.SetWriteDeadline(time.Now().Add(busWriteWait))
			if p.lost.CompareAndSwap(true, false) {
				n++
				_ = enc.Encode(busMessage{N: n, Drop: dropAll})
			}
			n++
			m.N = n
			err := enc.Encode(m)
			if err == nil && len(p.queue) == 0 {
				err = w.Flush()
			}
			if err != nil {
				p.lost.Store(true) // the peer sees the gap and counts it
				return n
			}
			b.s.met.busSent.Inc()
		}
	}
}

func (b *bus) accept() {
	for {
		c, err := b.ln.Accept()
		if err != nil {
			if sleep(b.ctx, busMinBackoff) != nil {
				return
			}
			continue
		}
		if b.keep(c) {
			b.wg.Go(func() {
				defer b.release(c)
				b.listen(c)
			})
		}
	}
}

// listen applies the messages of a peer.
func (b *bus) listen(c net.Conn) {
	sc := bufio.NewScanner(c)
	sc.Buffer(make([]byte, 0, 64<<10), busMaxLine)
	from := ""
	for sc.Scan() {
		var m busMessage
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			b.s.log.Warn("reading from a peer", "err", err)
			return
		}
		if m.From != "" {
			if from = m.From; from == b.s.id {
				b.s.log.Error("this server is its own peer: mend -peer")
				return
			}
			continue
		}
		if from == "" {
			return // not a peer
		}
		b.s.met.busGot.Inc()
		if gap := b.gap(from, m.N); gap > 0 {
			b.s.met.busLost.Add(float64(gap))
			b.s.forgetAll()
		}
		b.apply(&m)
	}
}

// gap notes the number of a sender's message and returns how many before it did not come.
func (b *bus) gap(from string, n uint64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.last[from]
	b.last[from] = n
	if n <= last {
		return 0
	}
	return n - last - 1
}

func (b *bus) apply(m *busMessage) {
	switch {
	case m.Drop == dropAll:
		b.s.forgetAll()
	case m.Drop != "":
		b.s.forget(m.Drop, m.Key)
	case m.User != "":
		b.s.hub.applyJoin(*m)
	case m.To != nil:
		b.s.hub.deliver(&event{
			name:   m.Event,
			to:     *m.To,
			prefix: []byte(m.Prefix),
			cut:    min(max(m.Cut, 0), len(m.Prefix)),
			ack:    m.Ack,
		})
	}
}
