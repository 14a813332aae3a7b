//go:build linux && (amd64 || arm64)

package wire

import (
	"syscall"
	"unsafe"
)

// askStamps requests the arrival time of every segment (socket(7), SO_TIMESTAMPNS).
func askStamps(fd uintptr) {
	_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
}

// control is the one control message that a TCP socket with SO_TIMESTAMPNS brings.
type control struct {
	head syscall.Cmsghdr
	time syscall.Timespec
}

func recvInto(fd uintptr, p []byte) (n int, stamp int64, err error) {
	return recvmsg(fd, unsafe.SliceData(p), len(p), 0)
}

// recvDiscard makes the kernel drop up to n bytes: for TCP, MSG_TRUNC reads without copying
// (tcp(7)).
func recvDiscard(fd uintptr, n int) (int, int64, error) {
	return recvmsg(fd, nil, n, syscall.MSG_TRUNC)
}

// recvmsg reads without blocking. stamp is the arrival, in nanoseconds of CLOCK_REALTIME, of the
// newest segment of which a byte was read, or 0. The call never sleeps, so the scheduler need not
// be notified.
func recvmsg(fd uintptr, p *byte, size, flags int) (n int, stamp int64, err error) {
	var c control
	iov := syscall.Iovec{Base: p, Len: uint64(size)}
	for {
		msg := syscall.Msghdr{
			Iov:        &iov,
			Iovlen:     1,
			Control:    (*byte)(unsafe.Pointer(&c)),
			Controllen: uint64(unsafe.Sizeof(c)),
		}
		r, _, errno := syscall.RawSyscall(
			syscall.SYS_RECVMSG,
			fd,
			uintptr(unsafe.Pointer(&msg)),
			uintptr(flags|syscall.MSG_DONTWAIT),
		)
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return 0, 0, syscall.EAGAIN
		case errno != 0:
			return 0, 0, errno
		}
		if msg.Controllen >= uint64(unsafe.Sizeof(c)) && c.head.Level == syscall.SOL_SOCKET &&
			c.head.Type == syscall.SO_TIMESTAMPNS {
			stamp = c.time.Nano()
		}
		return int(r), stamp, nil
	}
}

// send writes the bytes that the kernel takes without waiting.
func send(fd uintptr, p []byte) (int, error) {
	for {
		r, _, errno := syscall.RawSyscall6(
			syscall.SYS_SENDTO,
			fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(p))),
			uintptr(len(p)),
			syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL,
			0,
			0,
		)
		if errno == 0 {
			return int(r), nil
		}
		if errno != syscall.EINTR {
			return 0, errno
		}
	}
}
