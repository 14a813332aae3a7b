package mattermost

import (
	"bytes"
	"fmt"
	"math/bits"
)

// An ID is one of the server's identifiers: 26 letters and digits. The zero ID is none.
type ID [26]byte

// idOf reads an identifier. The server's have 26 bytes; a shorter one is padded, a longer one is an error.
func idOf(b []byte) (id ID, err error) {
	if len(b) > len(id) {
		return id, fmt.Errorf("%w: an identifier of %d characters", errEffect, len(b))
	}
	copy(id[:], b)
	return id, nil
}

// parseID is idOf for what is known to be one; anything else is none.
func parseID(s string) (id ID) {
	if len(s) <= len(id) {
		copy(id[:], s)
	}
	return id
}

// bytes returns the identifier as the server writes it, in place.
func (id *ID) bytes() []byte {
	if n := bytes.IndexByte(id[:], 0); n >= 0 {
		return id[:n]
	}
	return id[:]
}

// String returns the identifier as the server writes it.
func (id ID) String() string {
	return string(id.bytes())
}

// None reports whether there is no identifier.
func (id ID) None() bool { return id == ID{} }

// A bitmap is a set of small numbers. Its zero value is empty.
type bitmap []uint64

func (m bitmap) has(i uint32) bool { return int(i/64) < len(m) && m[i/64]&(1<<(i%64)) != 0 }

func (m *bitmap) add(i uint32) {
	if w := int(i / 64); w >= len(*m) {
		// Exactly as long as it must be, in steps: thousands of users hold several of these each.
		grown := make(bitmap, w+1+w/8)
		copy(grown, *m)
		*m = grown
	}
	(*m)[i/64] |= 1 << (i % 64)
}

func (m bitmap) count() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}
