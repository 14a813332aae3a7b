package wire

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/load/clock"
)

// A sock is a connection with the arrival time of the bytes of its last read. If it is a plain
// socket it is read with system calls of its own, which bring the kernel's stamp along and take a
// buffer only when there is something to put into it. Otherwise it reads as the connection inside
// does, without stamps.
type sock struct {
	net.Conn
	raw syscall.RawConn // nil if the connection is not a plain socket
	// CLOCK_REALTIME, in nanoseconds, of the newest segment of the last read; 0 if there is none
	stamp int64

	// The read under way; run and look are bound once, so that a read allocates nothing.
	p     []byte  // where to, or:
	rd    *reader // whose buffer, or:
	skip  int     // how many bytes to throw away
	n     int
	err   error
	alive bool

	// Bytes to send before it, see exchange.
	out      []byte
	sent     int
	werr     error
	courtesy courtesy

	// The deadline of an HTTP client, see deadline, as time since wall.base; 0 if it has none of
	// this kind.
	until, armed atomic.Int64

	clock *clock.Clock        // nil unless it can be stopped
	due   [sides]atomic.Int64 // see bound, in nanoseconds; 0 if the side has no limit of this kind

	run  func(fd uintptr) bool
	look func(fd uintptr)
}

// newSock takes over conn and, where the kernel supports them, requests stamps.
func newSock(conn net.Conn) *sock {
	s := &sock{Conn: conn}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return s
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return s
	}
	s.raw = raw
	s.run = s.step
	s.look = s.peek
	_ = raw.Control(askStamps) // without stamps, stamp stays 0, which is counted
	return s
}

// Read implements io.Reader.
func (s *sock) Read(p []byte) (int, error) {
	if s.raw == nil {
		n, err := s.Conn.Read(p)
		for n == 0 && err != nil && s.clock != nil && s.early(err, reads) {
			n, err = s.Conn.Read(p)
		}
		return n, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	s.p = p
	return s.recv()
}

// fill reads behind the unread bytes of rd, whose buffer it takes from the pool once there is
// something to read.
func (s *sock) fill(rd *reader) error {
	s.rd = rd
	n, err := s.recv()
	rd.w += n
	return err
}

// exchange sends b and reads the first bytes of the answer behind the unread ones of rd: Write and
// fill in one, with one entry to the poller instead of two. If the kernel does not take all of b,
// nothing is read.
func (s *sock) exchange(b []byte, rd *reader) (written int, werr, rerr error) {
	s.out = b
	s.sent = 0
	s.werr = nil
	rerr = s.fill(rd)
	if s.out != nil { // it did not come to that
		s.out = nil
		return 0, rerr, rerr
	}
	return s.sent, s.werr, rerr
}

// discard throws away up to n bytes (at least one) without copying them anywhere.
func (s *sock) discard(n int) (int, error) {
	s.skip = n
	return s.recv()
}

func (s *sock) recv() (int, error) {
	s.n = 0
	s.err = nil
	s.stamp = 0
	err := s.raw.Read(s.run)
	for err != nil && s.early(err, reads) {
		err = s.raw.Read(s.run)
	}
	s.p = nil
	s.rd = nil
	s.skip = 0
	if err == nil {
		err = s.err
	}
	return s.n, err
}

// Write implements io.Writer.
func (s *sock) Write(p []byte) (n int, err error) {
	for {
		m, err := s.Conn.Write(p[n:])
		if n += m; err == nil || !s.early(err, writes) {
			return n, err
		}
	}
}

// often is the time by which a connection's deadline may lie before its operation's, so that it
// need not be set for each.
const often = time.Second

// deadline is SetDeadline for operations that follow each other and have much the same time. It
// touches the connection's deadline, which is a timer of the runtime, only if that is off by more
// than a moment; should it strike early, it is set again. Calls are not concurrent with each other,
// but may be with a read or write.
func (s *sock) deadline(t time.Time) error {
	until := int64(t.Sub(wall.base))
	s.until.Store(until)
	if armed := s.armed.Load(); armed != 0 && armed <= until && until-armed < int64(often) {
		return nil
	}
	s.armed.Store(until)
	return s.Conn.SetDeadline(t)
}

// hasty reports whether the deadline that has struck is one that deadline had set before its time,
// and puts it right.
func (s *sock) hasty() bool {
	until := s.until.Load()
	if until == 0 || until <= int64(time.Since(wall.base)) {
		return false
	}
	for { // until there is no call of deadline in between
		s.armed.Store(until)
		if s.Conn.SetDeadline(wall.base.Add(time.Duration(until))) != nil {
			return false
		}
		now := s.until.Load()
		if now == until {
			return true
		}
		until = now
	}
}

// stale reports whether an idle connection has something to read: the end of the stream, a reset,
// or unsolicited bytes. In each case it must not be used again. In doubt it returns false: a
// request on a closed connection fails or is repeated.
func stale(conn net.Conn) bool {
	s := sockOf(conn)
	if s == nil || s.raw == nil {
		return false
	}
	s.alive = false
	return s.raw.Control(s.look) != nil || !s.alive
}

// sockOf returns the socket below TLS, or nil.
func sockOf(conn net.Conn) *sock {
	if tc, ok := conn.(*tls.Conn); ok {
		conn = tc.NetConn()
	}
	s, _ := conn.(*sock)
	return s
}
