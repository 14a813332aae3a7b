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
	must(t, err)
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

// relayed is a hall with one agent behind a relay, and a link to it.
func relayed(t *testing.T, serve func(r *relay) func(context.Context, *Responder) error) (
	r *relay, lines *said, h *Hall, l *Requester, secrets []string,
) {
	t.Helper()
	keys, tokens := keyFiles(t, "a")
	h, _ = hall(t, HallConfig{Keys: keys})
	r = newRelay(t, strings.TrimPrefix(h.Addr(), "nats://"))
	lines = attend(t, AgentConfig{Token: tokens[0], URL: "nats://" + r.Addr().String(),
		Serve: serve(r)})
	await(t, h, 1)
	l, err := h.Link("a")
	must(t, err)
	return r, lines, h, l, append(keys.Secrets(), tokens[0].Secrets()...)
}

func echoes(*relay) func(context.Context, *Responder) error { return echo }

// A capture of the link shows no token, key or text.
func TestCaptureOfALink(t *testing.T) {
	r, _, _, l, secrets := relayed(t, echoes)
	exchange(t, l, 200_000)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.Len() < 400_000 {
		t.Errorf("the capture has %d bytes, want all that went both ways", r.seen.Len())
	}
	for _, secret := range append(secrets, "xxxxxxxx", "plimsoll.", "zone") {
		if bytes.Contains(r.seen.Bytes(), []byte(secret)) {
			t.Errorf("the capture shows %q", secret)
		}
	}
}

// A connection that is cut in the middle of a message loses nothing of it.
func TestCutConnection(t *testing.T) {
	r, lines, _, l, _ := relayed(t, echoes)
	exchange(t, l, 100)
	done := make(chan struct{})
	go func() { defer close(done); exchange(t, l, 20<<20) }()
	for range 3 {
		time.Sleep(20 * time.Millisecond)
		r.cut()
	}
	<-done
	lines.wait(t, "again")
	exchange(t, l, 100)
}

// An agent whose part has ended sends its last answer again when the connection was lost meanwhile.
func TestCutConnectionAtTheLastAnswer(t *testing.T) {
	last := bytes.Repeat([]byte("the last report "), 1<<16)
	_, _, h, l, _ := relayed(t, func(r *relay) func(context.Context, *Responder) error {
		return func(_ context.Context, st *Responder) error {
			if _, err := io.ReadFull(st, make([]byte, 4)); err != nil {
				return err
			}
			r.cut()
			_, err := st.Write(last)
			return err
		}
	})
	if _, err := l.Write([]byte("stop")); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = l.Close() })
	defer timer.Stop()
	got := make([]byte, len(last))
	if _, err := io.ReadFull(l, got); err != nil || !bytes.Equal(got, last) {
		t.Errorf("the last answer: %v", err)
	}
	_ = l.Close()
	await(t, h, 1) // and then it is free
}
