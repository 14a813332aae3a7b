package join

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay passes connections on until it is cut.
type relay struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	seen  bytes.Buffer // all that went through
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, to: to}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, c, d)
			r.mu.Unlock()
			go func() { _, _ = io.Copy(c, io.TeeReader(d, r)); _ = c.Close() }()
			go func() { _, _ = io.Copy(d, io.TeeReader(c, r)); _ = d.Close() }()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); r.cut() })
	return r
}

// Write keeps a copy of what goes through.
func (r *relay) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.Write(b)
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// A capture of the link shows no token, key or text.
func TestCaptureOfALink(t *testing.T) {
	keys, tokens := keyFiles(t, "a")
	h, _ := hall(t, HallConfig{Keys: keys})
	r := newRelay(t, strings.TrimPrefix(h.Addr(), "nats://"))
	attend(t, AgentConfig{Token: tokens[0], URL: "nats://" + r.Addr().String()})
	await(t, h, 1)
	l := linked(t, h, "a")
	exchange(t, l, 200_000)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.Len() < 400_000 {
		t.Errorf("the capture has %d bytes, want all that went both ways", r.seen.Len())
	}
	for _, secret := range append(append(keys.Secrets(), tokens[0].Secrets()...), "xxxxxxxx", "plimsoll.", "zone") {
		if bytes.Contains(r.seen.Bytes(), []byte(secret)) {
			t.Errorf("the capture shows %q", secret)
		}
	}
}

// A connection that is cut in the middle of a message loses nothing of it.
func TestCutConnection(t *testing.T) {
	keys, tokens := keyFiles(t, "a")
	h, _ := hall(t, HallConfig{Keys: keys})
	r := newRelay(t, strings.TrimPrefix(h.Addr(), "nats://"))
	lines := attend(t, AgentConfig{Token: tokens[0], URL: "nats://" + r.Addr().String()})
	await(t, h, 1)
	s := linked(t, h, "a")
	exchange(t, s, 100)
	done := make(chan struct{})
	go func() { defer close(done); exchange(t, s, 20<<20) }()
	for range 3 {
		time.Sleep(20 * time.Millisecond)
		r.cut()
	}
	<-done
	lines.wait(t, "again")
	exchange(t, s, 100)
}

// An agent whose part has ended sends its last answer again when the connection was lost meanwhile.
func TestCutConnectionAtTheLastAnswer(t *testing.T) {
	keys, tokens := keyFiles(t, "a")
	h, _ := hall(t, HallConfig{Keys: keys})
	r := newRelay(t, strings.TrimPrefix(h.Addr(), "nats://"))
	last := bytes.Repeat([]byte("the last report "), 1<<16)
	attend(t, AgentConfig{Token: tokens[0], URL: "nats://" + r.Addr().String(), Serve: func(_ context.Context, st *Responder) error {
		if _, err := io.ReadFull(st, make([]byte, 4)); err != nil {
			return err
		}
		r.cut()
		_, err := st.Write(last)
		return err
	}})
	await(t, h, 1)
	s := linked(t, h, "a")
	if _, err := s.Write([]byte("stop")); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = s.Close() })
	defer timer.Stop()
	got := make([]byte, len(last))
	if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, last) {
		t.Errorf("the last answer: %v", err)
	}
	_ = s.Close()
	await(t, h, 1) // and then it is free
}
