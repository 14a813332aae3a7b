package symbols

import (
	"bytes"
	"slices"
	"testing"
)

// TestSearch finds a pattern wherever it lies in a segment, also across the parts that are read.
func TestSearch(t *testing.T) {
	file := make([]byte, 1<<20)
	want := []uint64{0x1000, 0x1000 + 1<<16 - 4, 0x1000 + 1<<19 + 1, 0x1000 + 1<<20 - 8 - 16}
	for _, addr := range want {
		copy(file[addr-0x1000+16:], "plimsoll")
	}
	m := &image{
		r:        bytes.NewReader(file),
		segments: []segment{{addr: 0x1000, offset: 16, size: 1<<20 - 16}},
	}
	var got []uint64
	m.search([]byte("plimsoll"), func(addr uint64) bool {
		got = append(got, addr)
		return false
	})
	if !slices.Equal(got, want) {
		t.Errorf("found at %#x, want %#x", got, want)
	}
}
