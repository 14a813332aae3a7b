package wire

import "sync"

const (
	smallBuffer = 4 << 10  // a read or write buffer at birth
	keepBuffer  = 64 << 10 // a buffer that grew beyond this is left to the garbage collector
)

// A buffer is a byte slice that can go to a pool and back without an allocation.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, smallBuffer)} }}

// getBuffer returns a buffer with len(b) >= smallBuffer and arbitrary contents.
func getBuffer() *buffer { return buffers.Get().(*buffer) }

// putBuffer returns b to the pool; the caller must hold no reference to its bytes.
func putBuffer(b *buffer) {
	if b == nil || cap(b.b) > keepBuffer || cap(b.b) < smallBuffer {
		return
	}
	b.b = b.b[:cap(b.b)]
	buffers.Put(b)
}

// grow makes the buffer at least n bytes long and keeps its first used bytes. It at least doubles, so that filling a
// buffer costs linear time, and never reserves much more than has already arrived.
func (b *buffer) grow(used, n int) {
	if n <= cap(b.b) {
		b.b = b.b[:cap(b.b)]
		return
	}
	nb := make([]byte, max(n, 2*cap(b.b)))
	copy(nb, b.b[:used])
	b.b = nb
}
