//go:build unix

package wire

import (
	"io"
	"syscall"
)

// step sends the pending bytes and makes one attempt to read. It reports false if there is nothing
// yet; then it holds no buffer.
func (s *sock) step(fd uintptr) bool {
	var n int
	var err error
	passed := false
	if s.out != nil {
		if !s.push(fd) {
			return true
		}
		passed = s.courtesy.now()
	}
	switch rd := s.rd; {
	case s.skip > 0:
		n, s.stamp, err = recvDiscard(fd, s.skip)
	case rd == nil:
		n, s.stamp, err = recvInto(fd, s.p)
	default:
		fresh := rd.buf == nil
		if fresh {
			rd.buf = getBuffer(rd.of)
			rd.r, rd.w = 0, 0
		}
		n, s.stamp, err = recvInto(fd, rd.buf.b[rd.w:])
		if fresh && n <= 0 {
			putBuffer(rd.buf)
			rd.buf = nil
		}
	}
	if passed {
		s.courtesy.learn(err != syscall.EAGAIN)
	}
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		s.err = err
	case n == 0:
		s.err = io.EOF
	default:
		s.n = n
	}
	return true
}

// push sends the pending bytes before a read and reports whether it sent all of them.
func (s *sock) push(fd uintptr) bool {
	n, err := send(fd, s.out)
	all := n == len(s.out)
	s.out, s.sent = nil, max(n, 0)
	if err != nil && err != syscall.EAGAIN {
		s.werr = err
	}
	return all
}

func (s *sock) peek(fd uintptr) {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	s.alive = err == syscall.EAGAIN || err == syscall.EINTR
}
