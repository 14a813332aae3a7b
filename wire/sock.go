package wire

import (
	"crypto/tls"
	"net"
	"syscall"
)

// A sock is a connection that knows when the bytes of its last read arrived. If it is a plain socket it is read with system
// calls of its own, which bring the kernel's stamp along and take a buffer only when there is something to put into it.
// Otherwise it reads as the connection inside does, without stamps.
type sock struct {
	net.Conn
	raw   syscall.RawConn // nil if the connection is no plain socket
	stamp int64           // CLOCK_REALTIME, in nanoseconds, of the newest segment of the last read; 0 if there is none

	// The read under way; run and look are bound once, so that a read allocates nothing.
	p     []byte  // where to, or:
	rd    *reader // whose buffer, or:
	skip  int     // how many bytes to throw away
	n     int
	err   error
	alive bool
	run   func(fd uintptr) bool
	look  func(fd uintptr)
}

// newSock takes over conn and, where the kernel can do it, asks for stamps.
func newSock(conn net.Conn, stamps bool) *sock {
	s := &sock{Conn: conn}
	sc, ok := conn.(syscall.Conn)
	if !ok || !rawReads {
		return s
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return s
	}
	s.raw, s.run, s.look = raw, s.step, s.peek
	if stamps {
		_ = raw.Control(askStamps) // who cannot stamp leaves stamp 0, and that is counted
	}
	return s
}

// Read implements io.Reader.
func (s *sock) Read(p []byte) (int, error) {
	if s.raw == nil {
		return s.Conn.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	s.p = p
	return s.recv()
}

// fill reads behind the unread bytes of rd, whose buffer it takes from the pool once there is something to read.
func (s *sock) fill(rd *reader) error {
	s.rd = rd
	n, err := s.recv()
	rd.w += n
	return err
}

// discard throws away up to n bytes (at least one) without copying them anywhere.
func (s *sock) discard(n int) (int, error) {
	s.skip = n
	return s.recv()
}

func (s *sock) recv() (int, error) {
	s.n, s.err, s.stamp = 0, nil, 0
	err := s.raw.Read(s.run)
	s.p, s.rd, s.skip = nil, nil, 0
	if err == nil {
		err = s.err
	}
	return s.n, err
}

// stale reports whether an idle connection has something to read: the end of the stream, a reset, or bytes that nobody
// asked for. In each case it is not to be used again. Where it cannot tell it says no: a request on a closed connection
// fails or is repeated.
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
