package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	mostOrder   = 4 << 10         // bytes of a client's line
	patience    = 2 * time.Second // for a client's line, and for taking one of ours
	mostReaders = 32
)

// A Publisher publishes one run, comparison or sizing. Its methods are safe for concurrent use, and do nothing on nil:
// a run whose socket could not be made goes on without.
type Publisher struct {
	listener *net.UnixListener
	free     func()
	order    func(Order) (string, error)

	mu      sync.Mutex
	newest  []byte        // a line; nil before the first
	changed chan struct{} // closed and replaced when newest is
	closing bool          // newest is the last
	readers int
	conns   map[net.Conn]bool
	wg      sync.WaitGroup
}

// Open makes the socket in a directory. order carries out an order at once and returns a sentence for its sender, or why
// it is refused; it may be called by several goroutines. The caller calls Close.
func Open(dir string, order func(Order) (string, error)) (*Publisher, error) {
	l, free, err := listen(dir)
	if err != nil {
		return nil, fmt.Errorf("the console's socket: %w", err)
	}
	p := &Publisher{listener: l, free: free, order: order, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Watched reports whether anybody reads the frames: without, none need be made.
func (p *Publisher) Watched() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readers > 0
}

// Publish makes a frame the newest. It never blocks. A *Frame is cut to MostBytes.
func (p *Publisher) Publish(frame any) {
	if p == nil {
		return
	}
	if f, ok := frame.(*Frame); ok {
		p.put(fit(f), false)
		return
	}
	b, err := json.Marshal(frame)
	if err != nil {
		return // a value that JSON does not have: the next second has another
	}
	p.put(b, false)
}

func (p *Publisher) put(b []byte, last bool) {
	if b == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return
	}
	p.newest, p.closing = append(b, '\n'), last
	close(p.changed)
	p.changed = make(chan struct{})
}

// Close sends the end to all readers and removes the socket. A reader that does not take it within its patience is cut.
func (p *Publisher) Close(end End) {
	if p == nil {
		return
	}
	end.Kind = KindEnd
	b, _ := json.Marshal(end) // it has texts alone
	p.put(b, true)
	_ = p.listener.Close() // removes the socket
	p.free()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Publisher) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		full := len(p.conns) >= mostReaders
		if !full {
			p.conns[c] = true
		}
		p.mu.Unlock()
		if full {
			_ = c.Close()
			continue
		}
		p.wg.Go(func() {
			p.talk(c)
			_ = c.Close()
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		})
	}
}

// talk serves one client.
func (p *Publisher) talk(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(io.LimitReader(c, mostOrder)).ReadBytes('\n')
	if err != nil {
		return
	}
	var o Order
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		reply(c, "", fmt.Errorf("the order is not readable: %w", err))
		return
	}
	if o.Do != "watch" {
		done, err := p.order(o)
		reply(c, done, err)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	p.wg.Go(func() { // a watcher writes nothing more: what comes is its end
		defer close(gone)
		_, _ = io.Copy(io.Discard, io.LimitReader(c, mostOrder))
	})
	p.stream(c, gone)
	_ = c.Close() // ends the copy
	<-gone
}

func (p *Publisher) stream(c net.Conn, gone <-chan struct{}) {
	p.mu.Lock()
	p.readers++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.readers--
	}()
	var seen []byte
	for {
		p.mu.Lock()
		line, changed, last := p.newest, p.changed, p.closing
		p.mu.Unlock()
		if line != nil && (len(seen) == 0 || &line[0] != &seen[0]) {
			seen = line
			_ = c.SetWriteDeadline(time.Now().Add(patience))
			if _, err := c.Write(line); err != nil {
				return
			}
		}
		if last {
			return
		}
		select {
		case <-changed:
		case <-gone:
			return
		}
	}
}

// reply answers an order.
func reply(c net.Conn, done string, err error) {
	var a answer
	if a.Done = done; err != nil {
		a = answer{Error: err.Error()}
	}
	b, _ := json.Marshal(a)
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	_, _ = c.Write(append(b, '\n')) // who ordered has gone
}

type answer struct {
	Done  string `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// fit returns the line of a frame of at most MostBytes: tables lose their ends first. nil if it cannot be written.
func fit(f *Frame) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	cut := *f
	for _, step := range []func(){
		func() { cut.Log = shorter(cut.Log) },
		func() { cut.Failures = cut.Failures[:min(len(cut.Failures), 12)] },
		func() {
			cut.More, cut.Operations = cut.More+max(len(cut.Operations)-20, 0), cut.Operations[:min(len(cut.Operations), 20)]
		},
		func() { cut.Log = nil },
		func() { cut.Failures = cut.Failures[:min(len(cut.Failures), 4)] },
		func() { cut.Agents = cut.Agents[:min(len(cut.Agents), 16)] },
		func() {
			cut.More, cut.Operations = cut.More+max(len(cut.Operations)-8, 0), cut.Operations[:min(len(cut.Operations), 8)]
		},
		func() { cut.Rules = cut.Rules[:min(len(cut.Rules), 12)] },
		func() { cut.Operations, cut.Failures, cut.Agents = nil, nil, nil },
	} {
		if len(b) < MostBytes {
			break
		}
		step()
		if b, err = json.Marshal(&cut); err != nil {
			return nil
		}
	}
	return b
}

// shorter cuts the texts of lines.
func shorter(lines []Line) []Line {
	out := append([]Line(nil), lines...)
	for i := range out {
		if r := []rune(out[i].Text); len(r) > 120 {
			out[i].Text = string(r[:120]) + "…"
		}
	}
	return out
}
