package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ErrGone reports that nobody publishes in a directory: the process has ended, or was killed.
var ErrGone = errors.New("nobody publishes there")

// Published reports whether a directory has a socket, of a process that lives or of one that was
// killed.
func Published(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, SocketName))
	return err == nil && fi.Mode().Type() == os.ModeSocket
}

// Send gives an order to what publishes in a directory, and returns its answer. The error wraps
// ErrGone when nobody publishes there.
func Send(ctx context.Context, dir string, o Order) (done string, err error) {
	c, err := Dial(ctx, dir)
	if err != nil {
		return "", err
	}
	defer c.Close()
	b, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	_ = c.SetDeadline(time.Now().Add(2 * patience))
	if _, err := c.Write(append(b, '\n')); err != nil {
		return "", fmt.Errorf("%w: %w", ErrGone, err)
	}
	in := bufio.NewScanner(c)
	in.Buffer(nil, mostLine)
	for in.Scan() { // frames come between
		var a answer
		if err := json.Unmarshal(in.Bytes(), &a); err != nil || a.Kind != kindAnswer {
			continue
		}
		if a.Error != "" {
			return "", errors.New(a.Error)
		}
		return a.Done, nil
	}
	return "", fmt.Errorf("%w: it did not answer", ErrGone)
}

// mostLine bounds a line of a publisher, in bytes.
const mostLine = 64 << 10

// Dial connects to what publishes in a directory: its lines follow, the newest first. The error
// wraps ErrGone when nobody does.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	c, err := dial(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return c, nil
}
