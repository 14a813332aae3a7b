package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// mostLinks is how many connections a server keeps to one store, and so how many calls are under
// way there at a time.
const mostLinks = 64

// A link is a server's pool of connections to one own store. Safe for concurrent use.
type link struct {
	addr  string
	slots chan struct{} // one per connection that is in use
	idle  chan *linkConn
}

type linkConn struct {
	net.Conn
	r   *bufio.Reader
	buf []byte
}

func newLink(addr string) *link {
	return &link{
		addr:  addr,
		slots: make(chan struct{}, mostLinks),
		idle:  make(chan *linkConn, mostLinks),
	}
}

// call sends a frame that newFrame began and hands the fields of the answer to read, whose bytes
// are gone afterwards. ctx needs a deadline.
func (l *link) call(ctx context.Context, frame []byte, read func(*fields)) (err error) {
	if frame, err = seal(frame); err != nil {
		return err
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for a connection: %w", ctx.Err())
	}
	c, err := l.take(ctx)
	if err != nil {
		return err
	}
	body, err := c.exchange(ctx, frame)
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			return ctx.Err() // the broken connection is ours
		}
		return err
	}
	f := &fields{b: body[1:]}
	switch body[0] {
	case codeOK:
		if read != nil {
			read(f)
		}
		err = f.end()
	case codeFull:
		err = errFull
	default:
		err = fmt.Errorf("the store reports: %.200s", f.text())
	}
	select {
	case l.idle <- c:
	default:
		c.Close()
	}
	return err
}

func (c *linkConn) exchange(ctx context.Context, frame []byte) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := c.Write(frame); err != nil {
		return nil, err
	}
	body, err := readFrame(c.r, c.buf)
	if err != nil {
		return nil, err
	}
	c.buf = body
	if cap(body) > 64<<10 {
		c.buf = nil // an idle connection holds no page of stories
	}
	return body, nil
}

// take returns an idle connection that the store has not closed, or a new one.
func (l *link) take(ctx context.Context) (*linkConn, error) {
	for {
		select {
		case c := <-l.idle:
			if c.quiet() {
				return c, nil
			}
			c.Close()
			continue
		default:
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", l.addr)
		if err != nil {
			return nil, err
		}
		return &linkConn{Conn: conn, r: bufio.NewReader(conn)}, nil
	}
}

// quiet reports whether an idle connection is open with nothing to read, without waiting.
func (c *linkConn) quiet() bool {
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return true
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	var b [1]byte
	err = raw.Control(func(fd uintptr) {
		_, _, rerr := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		quiet = errors.Is(rerr, unix.EAGAIN)
	})
	return err == nil && quiet
}

// Close closes the idle connections.
func (l *link) Close() {
	for {
		select {
		case c := <-l.idle:
			c.Close()
		default:
			return
		}
	}
}
