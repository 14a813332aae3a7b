//go:build unix

package wire

import (
	"io"
	"net"
	"syscall"
)

// stale reports whether an idle connection has something to read: the end of the stream, a reset, or bytes that nobody
// asked for. In each case it is not to be used again.
func stale(conn net.Conn) bool {
	sc, ok := netConn(conn).(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	alive := false
	err = rc.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
	})
	return err != nil || !alive
}

// A readiness reads a plain socket and takes a buffer only when there is something to put into it.
type readiness struct {
	raw  syscall.RawConn
	rd   *reader
	err  error
	read func(fd uintptr) bool // bound once, so that a read allocates nothing
}

// newReadiness returns nil if conn is not a plain socket.
func newReadiness(conn net.Conn, rd *reader) *readiness {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	r := &readiness{raw: raw, rd: rd}
	r.read = func(fd uintptr) bool {
		if rd.buf == nil {
			rd.buf = getBuffer()
			rd.r, rd.w = 0, 0
		}
		for {
			n, err := syscall.Read(int(fd), rd.buf.b[rd.w:])
			switch {
			case err == syscall.EINTR:
				continue
			case err == syscall.EAGAIN:
				putBuffer(rd.buf)
				rd.buf = nil
				return false
			case err != nil:
				r.err = err
			case n == 0:
				r.err = io.EOF
			default:
				rd.w += n
			}
			return true
		}
	}
	return r
}

// wait reads into an empty reader and returns when there is at least one byte.
func (r *readiness) wait() error {
	r.err = nil
	if err := r.raw.Read(r.read); err != nil {
		return err
	}
	return r.err
}
