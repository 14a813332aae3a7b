package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/watch/series"
)

// idle opens connections that send nothing, or that stop after the handshake.
func idle(t *testing.T, url string, n int, handshake bool) {
	t.Helper()
	addr := strings.TrimPrefix(url, "https://")
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if handshake {
			// Which of them were ended to make room does not matter here.
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}).HandshakeContext(t.Context())
		}
	}
}

// TestIdleConnectionsStarveNobody: connections without the token hold no place, whether they stop before the
// handshake or after it, and however many they are; a reader comes in beside them, and one that is there stays.
func TestIdleConnectionsStarveNobody(t *testing.T) {
	for name, c := range map[string]struct {
		n         int
		handshake bool
	}{
		"80 without a word":    {80, false},
		"80 after a handshake": {80, true},
		"300 without a word":   {300, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, url, _ := serve(t, Config{})
			conf := RemoteConfig{URL: url, Fingerprint: s.Fingerprint()}
			early := remote(t, conf)
			if _, err := sample(t, early); err != nil {
				t.Fatal(err)
			}
			idle(t, url, c.n, c.handshake)
			reused := false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
			if _, err := early.Sample(ctx, time.Now()); err != nil || !reused {
				t.Errorf("the reader that was there: %v, on its connection: %v", err, reused)
			}
			if _, err := sample(t, remote(t, conf)); err != nil {
				t.Errorf("a reader that comes: %v", err)
			}
			if n := len(s.readers); n != 2 {
				t.Errorf("%d places are taken, want 2: who has the token keeps its connection", n)
			}
		})
	}
}

// piped is a listener of connections in memory.
type piped struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPiped() *piped { return &piped{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *piped) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *piped) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *piped) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns the client's end of a new connection.
func (l *piped) dial() net.Conn {
	here, there := net.Pipe()
	l.conns <- there
	return here
}

// TestLobbyMakesRoom: of the connections without the token the oldest ends when there is one too many, and one that
// ended or was admitted is no longer counted.
func TestLobbyMakesRoom(t *testing.T) {
	l := &lobby{Listener: newPiped(), most: 3}
	defer l.Close()
	var there []net.Conn
	for range 5 {
		go l.Listener.(*piped).dial()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		there = append(there, c)
		if len(there) == 1 {
			c.(*guest).admit()
			c.(*guest).admit()
		}
	}
	if l.size() != 3 {
		t.Errorf("%d wait, want 3", l.size())
	}
	for i, c := range there {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		if ended := errors.Is(err, io.ErrClosedPipe); ended != (i == 1) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	for _, c := range there {
		_ = c.Close()
	}
	if l.size() != 0 {
		t.Errorf("%d wait after all have ended", l.size())
	}
}

// TestSilentConnectionEnds: a connection has five seconds for the handshake, and five more for the first request.
func TestSilentConnectionEnds(t *testing.T) {
	for name, handshake := range map[string]bool{"before the handshake": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			cert, err := SelfMade()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				s, err := New(Config{What: What{Role: "proxy"}, Token: geheim, Certificate: cert})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				l := newPiped()
				served := make(chan error, 1)
				go func() { served <- s.Serve(ctx, l) }()
				c := l.dial()
				defer c.Close()
				began := time.Now()
				if handshake {
					tc := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
					if err := tc.Handshake(); err != nil {
						t.Fatal(err)
					}
					c = tc
				}
				_, _ = io.Copy(io.Discard, c) // until the server ends it
				if took := time.Since(began); took > 2*headerTimeout {
					t.Errorf("ended after %v, want %v", took, headerTimeout)
				}
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAgentWithNewSeriesEachTimeIsRefused checks that the series that an agent may add to a run are bounded, and so
// is the memory of its reader.
func TestAgentWithNewSeriesEachTimeIsRefused(t *testing.T) {
	page := func(n, series, padding int) []byte {
		var b strings.Builder
		for i := range series {
			fmt.Fprintf(&b, "a{role=\"proxy\",page=\"%d\",n=\"%d\",pad=\"%s\"} 1\n", n, i, strings.Repeat("x", padding))
		}
		return []byte(b.String() + "# EOF\n")
	}
	for name, c := range map[string]struct {
		series, padding int
		want            string
	}{
		"many":      {20_000, 0, "more than 50000 different series since the first page"},
		"long":      {5_000, 1000, "different series of more than 16 MiB"},
		"one page":  {60_000, 0, "more than 50000"},
		"very long": {1, 10_000, "want at most 8192"},
	} {
		t.Run(name, func(t *testing.T) {
			var p parser
			var err error
			for n := 0; err == nil && n < 10; n++ {
				_, err = p.parse(page(n, c.series, c.padding), nil)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if len(p.known) > maxSeries || p.held > series.MaxSourceBytes {
				t.Errorf("%d series of %d bytes are remembered", len(p.known), p.held)
			}
		})
	}
	var p parser
	if _, err := p.parse([]byte(strings.Repeat("a{role=\"proxy\"} 1\n", maxSeries+1)+"# EOF\n"), nil); err == nil || !strings.Contains(err.Error(), "more than 50000 samples") {
		t.Errorf("one series on every line: %v", err)
	}
}

// TestCAIsARegularFile checks that neither an endless device nor a pipe without a writer is read.
func TestCAIsARegularFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/zero", pipe, t.TempDir()} {
		_, err := NewRemote(RemoteConfig{URL: "https://h:1", Token: geheim, CA: path, Role: "db"})
		if err == nil || !strings.Contains(err.Error(), "ca: "+path+" is ") {
			t.Errorf("%v", err)
		}
	}
	if _, err := ReadToken(pipe); err == nil || !strings.Contains(err.Error(), "is a named pipe; want a regular file") {
		t.Errorf("a token in a pipe: %v", err)
	}
}

// size returns how many connections wait.
func (l *lobby) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.guests)
}
