package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	mostOrder   = 4 << 10         // bytes of a client's line
	patience    = 2 * time.Second // for taking a line of ours
	mostReaders = 32
	// beat is the time after which the newest frame is sent again: in a duet a run may wait for its
	// turn longer than a second.
	beat = 1500 * time.Millisecond
)

// A Publisher publishes one run, comparison or sizing. Its methods are safe for concurrent use, and
// do nothing on nil: a run whose socket could not be made goes on without.
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

// Open makes the socket in a directory. order carries out an order at once and returns a sentence
// for its sender, or why it is refused; it may be called by several goroutines. The caller calls
// Close.
func Open(dir string, order func(Order) (string, error)) (*Publisher, error) {
	l, free, err := listen(dir)
	if err != nil {
		return nil, fmt.Errorf("the console's socket: %w", err)
	}
	p := &Publisher{
		listener: l,
		free:     free,
		order:    order,
		changed:  make(chan struct{}),
		conns:    map[net.Conn]bool{},
	}
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

// Close sends the end to all readers and removes the socket. A reader that does not take it within
// its patience is cut.
func (p *Publisher) Close(end Ending) {
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

// talk serves one client: frames, and an answer to each order.
func (p *Publisher) talk(c net.Conn) {
	gone := make(chan struct{})
	var writing sync.Mutex // of whole lines
	p.wg.Go(func() {
		defer close(gone)
		in := bufio.NewScanner(c)
		in.Buffer(nil, mostOrder)
		for in.Scan() {
			done, err := p.take(in.Bytes())
			writing.Lock()
			werr := reply(c, done, err)
			writing.Unlock()
			if werr != nil {
				return
			}
		}
	})
	p.stream(c, &writing, gone)
	_ = c.Close() // ends the scan
	<-gone
}

// take carries out an order.
func (p *Publisher) take(line []byte) (done string, err error) {
	var o Order
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return "", fmt.Errorf("the order is not readable: %w", err)
	}
	return p.order(o)
}

func (p *Publisher) stream(c net.Conn, writing *sync.Mutex, gone <-chan struct{}) {
	p.mu.Lock()
	p.readers++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.readers--
	}()
	var seen []byte
	again := time.NewTicker(beat)
	defer again.Stop()
	repeat := false
	for {
		p.mu.Lock()
		line := p.newest
		changed := p.changed
		last := p.closing
		p.mu.Unlock()
		if line != nil && (repeat || len(seen) == 0 || &line[0] != &seen[0]) {
			seen = line
			again.Reset(beat)
			writing.Lock()
			_ = c.SetWriteDeadline(time.Now().Add(patience))
			_, err := c.Write(line)
			writing.Unlock()
			if err != nil {
				return
			}
		}
		if last {
			return
		}
		repeat = false
		select {
		case <-changed:
		case <-again.C:
			repeat = true
		case <-gone:
			return
		}
	}
}

// reply answers an order.
func reply(c net.Conn, done string, err error) error {
	a := answer{Kind: kindAnswer, Done: done}
	if err != nil {
		a = answer{Kind: kindAnswer, Error: err.Error()}
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	_, err = c.Write(append(b, '\n'))
	return err
}

// kindAnswer is the kind of a line that answers an order.
const kindAnswer = "answer"

type answer struct {
	Kind  string `json:"kind"`
	Done  string `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// fit returns the line of a frame of at most MostBytes: tables lose their ends first. nil if it
// cannot be written.
func fit(f *Frame) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	cut := *f
	operations := func(most int) func() {
		return func() {
			cut.More += max(len(cut.Operations)-most, 0)
			keep(&cut.Operations, most)
		}
	}
	for _, step := range []func(){
		func() { cut.Log = shorter(cut.Log) },
		func() { keep(&cut.Failures, 12) },
		operations(20),
		func() { cut.Search = cut.Search.lately(4) }, // a reader keeps those before
		func() { keep(&cut.Failures, 4) },
		func() { keep(&cut.Agents, 16) },
		operations(8),
		func() { keep(&cut.Rules, 12) },
		func() { cut.Log = nil }, // late: a line that is left out is not seen until the run is over
		func() {
			cut.Operations = nil
			cut.Failures = nil
			cut.Agents = nil
		},
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

// keep cuts the end of a table off.
func keep[T any](table *[]T, most int) { *table = (*table)[:min(len(*table), most)] }

// lately returns the search with its last windows alone.
func (s *SearchNow) lately(n int) *SearchNow {
	if s == nil || len(s.Windows) <= n {
		return s
	}
	out := *s
	out.Windows = s.Windows[len(s.Windows)-n:]
	return &out
}

// shorter cuts the texts of lines.
func shorter(lines []LogLine) []LogLine {
	out := slices.Clone(lines)
	for i := range out {
		if r := []rune(out[i].Text); len(r) > 120 {
			out[i].Text = string(r[:120]) + "…"
		}
	}
	return out
}
