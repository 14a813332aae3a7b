package wire

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// pipes is a listener of connections in memory, for tests in virtual time.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), over: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error   { l.once.Do(func() { close(l.over) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dial is a [Config.Dial].
func (l *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// piped returns a [Config.Dial] whose connections are served by one of conns each, and all further
// ones by the last.
func piped(conns ...func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	i := 0
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		serve := conns[min(i, len(conns)-1)]
		i++
		go func() {
			serve(theirs)
			theirs.Close()
		}()
		return ours, nil
	}
}

// tape is a connection on which the server's bytes are fixed.
type tape struct {
	net.Conn
	r io.Reader
}

func (c tape) Read(p []byte) (int, error)     { return c.r.Read(p) }
func (tape) Write(p []byte) (int, error)      { return len(p), nil }
func (tape) SetDeadline(time.Time) error      { return nil }
func (tape) SetReadDeadline(time.Time) error  { return nil }
func (tape) SetWriteDeadline(time.Time) error { return nil }
func (tape) Close() error                     { return nil }

// loop reads a text again and again.
type loop struct {
	text string
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.text[l.at:])
	l.at = (l.at + n) % len(l.text)
	return n, nil
}
