package wire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// latePort keeps bind from choosing a port for a socket whose address alone is bound.
func latePort(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); cerr != nil {
		return cerr
	}
	return err
}
