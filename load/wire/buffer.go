package wire

import (
	"runtime"
	"sync"
)

const (
	smallBuffer = 4 << 10  // a read or write buffer at birth
	keepBuffer  = 64 << 10 // a buffer that grew beyond this is left to the garbage collector
)

// A buffer is a byte slice that can go to a pool and back without an allocation. Its bytes beyond
// smallBuffer are taken out of a budget while it is in use.
type buffer struct {
	b      []byte
	of     *Budget
	charge *charge // nil for one that never was larger
}

// A charge is the amount that a buffer has taken out of a budget. It is not part of the buffer, so
// that it can be refunded when the buffer is gone: a caller that abandons a connection in the
// middle of a message, or panics, does not return the buffer.
type charge struct {
	of   *Budget
	paid int64
}

func (c *charge) refund() {
	if c.paid > 0 {
		c.of.give(c.paid)
		c.paid = 0
	}
}

// owe records that the buffer has taken n bytes; the budget was charged already.
func (b *buffer) owe(n int64) {
	if b.charge == nil {
		b.charge = new(charge)
		runtime.AddCleanup(b, (*charge).refund, b.charge)
	}
	b.charge.of, b.charge.paid = b.of, n
}

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, smallBuffer)} }}

// getBuffer returns a buffer with len(b) >= smallBuffer and arbitrary contents. It is a small one
// if the budget has no room for more.
func getBuffer(of *Budget) *buffer {
	b := buffers.Get().(*buffer)
	if more := int64(cap(b.b) - smallBuffer); more > 0 {
		if !of.take(more) {
			return &buffer{b: make([]byte, smallBuffer), of: of}
		}
		b.of = of
		b.owe(more)
		return b
	}
	b.of = of
	return b
}

// putBuffer returns b to the pool; the caller must hold no reference to its bytes.
func putBuffer(b *buffer) {
	if b == nil {
		return
	}
	if b.charge != nil {
		b.charge.refund()
	}
	b.of = nil
	if cap(b.b) > keepBuffer || cap(b.b) < smallBuffer {
		b.b = nil // a caller that still has b holds no memory by it
		return
	}
	b.b = b.b[:cap(b.b)]
	buffers.Put(b)
}

// grow makes the buffer at least n bytes long and keeps its first used bytes. It at least doubles,
// but not beyond most unless n is, so that filling a buffer costs linear time, and never reserves
// much more than has already arrived. It fails if the budget has no room for both.
func (b *buffer) grow(used, n, most int) error {
	if n <= cap(b.b) {
		b.b = b.b[:cap(b.b)]
		return nil
	}
	size := 2 * cap(b.b)
	if size > most-size/4 { // the next time would be for a little
		size = most
	}
	size = max(n, size)
	if !b.of.take(int64(size)) {
		return ErrBudget
	}
	nb := make([]byte, size)
	copy(nb, b.b[:used])
	b.b = nb
	paid := int64(smallBuffer) // of which nothing was taken
	if b.charge != nil {
		paid += b.charge.paid
	}
	b.of.give(paid)
	b.owe(int64(size) - smallBuffer)
	return nil
}
