package join

import (
	"io"
	"sync"
)

// An inbox holds what one end of a session has received and not read. Reads wait until it is
// closed. The end's own lock is the inbox's.
type inbox struct {
	mu      sync.Mutex
	changed sync.Cond
	bytes   []byte
	closed  bool
}

// put adds bytes. mu is held.
func (x *inbox) put(b []byte) {
	x.bytes = append(x.bytes, b...)
	x.changed.Broadcast()
}

// Read returns bytes of what was received.
func (x *inbox) Read(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.bytes) == 0 && !x.closed {
		x.changed.Wait()
	}
	if len(x.bytes) == 0 {
		return 0, io.ErrClosedPipe
	}
	n := copy(b, x.bytes)
	x.bytes = x.bytes[n:]
	return n, nil
}

// shut closes the inbox, and reports whether it was open.
func (x *inbox) shut() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was := x.closed
	x.closed = true
	x.changed.Broadcast()
	return !was
}
