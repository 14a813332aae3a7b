//go:build unix && !(linux && (amd64 || arm64))

package wire

import "syscall"

func askStamps(uintptr) {}

func recvInto(fd uintptr, p []byte) (int, int64, error) {
	for {
		n, err := syscall.Read(int(fd), p)
		if err != syscall.EINTR {
			return n, 0, err
		}
	}
}

func recvDiscard(fd uintptr, n int) (int, int64, error) {
	buf := getBuffer(nil)
	defer putBuffer(buf)
	return recvInto(fd, buf.b[:min(n, len(buf.b))])
}

// send writes the bytes that the kernel takes without waiting: sockets of package net do not block.
func send(fd uintptr, p []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), p)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
