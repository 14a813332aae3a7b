package live

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// SocketName is the socket's name in a directory.
const SocketName = "live.sock"

// mostPath is the longest address of a Unix socket that every system takes.
const mostPath = 100

// reach returns an address for the socket in a directory that the kernel takes however long the
// directory's name is. free must be called when the address is not used any more.
func reach(dir string) (address string, free func(), err error) {
	path := filepath.Join(dir, SocketName)
	if len(path) <= mostPath || runtime.GOOS != "linux" {
		return path, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), SocketName), func() { _ = d.Close() }, nil
}

// listen makes the socket, for this user alone. One that a killed process has left is replaced.
func listen(dir string) (*net.UnixListener, func(), error) {
	address, free, err := reach(dir)
	if err != nil {
		return nil, nil, err
	}
	_ = os.Remove(address)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err == nil {
		if err = os.Chmod(address, 0o600); err != nil {
			_ = l.Close()
		}
	}
	if err != nil {
		free()
		return nil, nil, err
	}
	return l, free, nil
}

// dial connects to the socket in a directory.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	address, free, err := reach(dir)
	if err != nil {
		return nil, err
	}
	defer free()
	d := net.Dialer{Timeout: time.Second}
	return d.DialContext(ctx, "unix", address)
}
