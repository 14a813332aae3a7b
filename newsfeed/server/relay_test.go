package server_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A relay stands between a server and a store, to be broken.
type relay struct {
	ln     net.Listener
	target string
	mu     sync.Mutex
	mode   string // "", "refuse", "slow"
	conns  map[net.Conn]struct{}
}

func newRelay(t testing.TB, target string) *relay {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{ln: ln, target: target, conns: map[net.Conn]struct{}{}}
	go r.accept()
	t.Cleanup(func() {
		ln.Close()
		r.set("refuse")
	})
	return r
}

func (r *relay) addr() string { return r.ln.Addr().String() }

// set breaks or mends: "refuse" ends all connections and takes no others, "slow" lets nothing
// through, "" all.
func (r *relay) set(mode string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mode == "slow" || mode == "refuse" { // stuck data stays lost
		for c := range r.conns {
			c.Close()
		}
	}
	r.mode = mode
}

func (r *relay) is(mode string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mode == mode
}

func (r *relay) accept() {
	for {
		c, err := r.ln.Accept()
		if err != nil {
			return
		}
		if r.is("refuse") {
			c.Close()
			continue
		}
		up, err := net.Dial("tcp", r.target)
		if err != nil {
			c.Close()
			continue
		}
		r.mu.Lock()
		r.conns[c], r.conns[up] = struct{}{}, struct{}{}
		r.mu.Unlock()
		go r.pump(c, up)
		go r.pump(up, c)
	}
}

func (r *relay) pump(dst, src net.Conn) {
	defer func() {
		dst.Close()
		src.Close()
		r.mu.Lock()
		delete(r.conns, src)
		r.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 && !r.is("slow") {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err == io.EOF || err != nil {
			return
		}
	}
}
