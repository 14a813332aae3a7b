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

// Published reports whether a directory has a socket, of a process that lives or of one that was killed.
func Published(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, SocketName))
	return err == nil && fi.Mode().Type() == os.ModeSocket
}

// Follow calls each for every line that is published in a directory, until the end of the stream, of ctx, or an error of
// each. The line is each's until it returns. The error wraps ErrGone when nobody publishes there; nil means that a line
// of kind end came.
func Follow(ctx context.Context, dir string, each func(kind string, line []byte) error) error {
	c, err := connect(ctx, dir, Order{Do: "watch"})
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	in := bufio.NewScanner(c)
	in.Buffer(make([]byte, 0, MostBytes), 1<<20)
	for in.Scan() {
		var head struct{ Kind string }
		if err := json.Unmarshal(in.Bytes(), &head); err != nil {
			return fmt.Errorf("a frame of %s: %w", dir, err)
		}
		if err := each(head.Kind, in.Bytes()); err != nil {
			return err
		}
		if head.Kind == KindEnd {
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: the stream broke", ErrGone)
}

// Send gives an order to what publishes in a directory, and returns its answer.
func Send(ctx context.Context, dir string, o Order) (done string, err error) {
	c, err := connect(ctx, dir, o)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(2 * patience))
	var a answer
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return "", fmt.Errorf("%w: it did not answer", ErrGone)
	}
	if a.Error != "" {
		return "", errors.New(a.Error)
	}
	return a.Done, nil
}

func connect(ctx context.Context, dir string, o Order) (net.Conn, error) {
	c, err := dial(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	b, err := json.Marshal(o)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.Write(append(b, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrGone, err), c.Close())
	}
	return c, nil
}
