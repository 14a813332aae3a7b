package symbols

import (
	"bytes"
	"encoding/binary"
	"io"
)

const (
	pageSize = 4096
	maxPages = 512
	maxScan  = 2 << 30 // bytes of a file that searches of it read, all together
	maxName  = 1 << 14 // bytes of a name
)

// A segment is the part of a file that holds some addresses.
type segment struct {
	addr, offset, size uint64
	code               bool
}

// last is 1 for a segment of code and 0 for others.
func (s segment) last() int {
	if s.code {
		return 1
	}
	return 0
}

// A page is the part of a file that begins at n pages.
type page struct {
	n    int64
	data []byte
}

// An image is an ELF file as its process sees it. Its numbers are little-endian.
type image struct {
	r        io.ReaderAt
	segments []segment // those without code first
	pages    [maxPages]page
	scanned  int64
	short    bool // a read went beyond the end of the file
}

// offset returns where in the file an address is, or -1.
func (m *image) offset(addr uint64) int64 {
	for _, s := range m.segments {
		if addr-s.addr < s.size {
			return int64(s.offset + addr - s.addr)
		}
	}
	return -1
}

// page returns a page of the file, until the next call.
func (m *image) page(n int64) []byte {
	p := &m.pages[n%maxPages]
	if p.data == nil {
		p.data = make([]byte, 0, pageSize)
		p.n = -1
	}
	if p.n != n {
		k, _ := m.r.ReadAt(p.data[:pageSize], n*pageSize) // an error is the end of the file
		p.n, p.data = n, p.data[:k]
	}
	return p.data
}

// bytes returns n bytes at an offset in the file until the next call, or nil if it has fewer.
func (m *image) bytes(off int64, n int) []byte {
	if off < 0 || off > 1<<62 {
		m.short = true
		return nil
	}
	p, at := m.page(off/pageSize), int(off%pageSize)
	if at+n <= len(p) {
		return p[at : at+n]
	}
	var b []byte
	for len(b) < n && at < len(p) {
		b = append(b, p[at:min(len(p), at+n-len(b))]...)
		p, at = m.page((off+int64(len(b)))/pageSize), 0
	}
	if len(b) < n {
		m.short = true
		return nil
	}
	return b
}

// uint returns the number of n bytes at an offset: 1, 4 or 8.
func (m *image) uint(off int64, n int) uint64 {
	b := m.bytes(off, n)
	switch {
	case b == nil:
		return 0
	case n == 1:
		return uint64(b[0])
	case n == 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// text returns the string at an offset, up to its zero byte.
func (m *image) text(off int64) string {
	var b []byte
	for len(b) < maxName {
		at := off + int64(len(b))
		if at < 0 {
			break
		}
		p := m.page(at / pageSize)
		if at%pageSize >= int64(len(p)) {
			break
		}
		p = p[at%pageSize:]
		if i := bytes.IndexByte(p, 0); i >= 0 {
			return string(append(b, p[:i]...))
		}
		b = append(b, p...)
	}
	m.short = true
	return ""
}

// search calls each with the addresses where pattern is, until it returns true.
func (m *image) search(pattern []byte, each func(addr uint64) bool) {
	buf := make([]byte, 1<<16)
	for _, s := range m.segments {
		for at := uint64(0); at < s.size && m.scanned < maxScan; {
			n := min(uint64(len(buf)), s.size-at)
			k, _ := m.r.ReadAt(buf[:n], int64(s.offset+at)) // an error is the end of the file
			m.scanned += int64(k)
			for i := 0; ; i++ {
				j := bytes.Index(buf[i:k], pattern)
				if j < 0 {
					break
				}
				i += j
				if each(s.addr + at + uint64(i)) {
					return
				}
			}
			if k < len(buf) {
				break
			}
			at += uint64(k - len(pattern) + 1)
		}
	}
}

// words reads n words of 8 bytes at an address.
func (m *image) words(addr uint64, n int) []uint64 {
	b := m.bytes(m.offset(addr), 8*n)
	if b == nil {
		return nil
	}
	w := make([]uint64, n)
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return w
}

// each calls f with the parts of size bytes of a table, such as symbols, until f
// returns false.
func (m *image) each(off int64, size, count int, f func(part []byte) bool) {
	const batch = 1 << 11
	buf := make([]byte, batch*size)
	for ; count > 0 && m.scanned < maxScan; count -= batch {
		n, _ := m.r.ReadAt(buf[:size*min(count, batch)], off) // an error is the end of the file
		m.scanned += int64(n)
		for b := buf[:n-n%size]; len(b) > 0; b = b[size:] {
			if !f(b[:size]) {
				return
			}
		}
		if n < len(buf) {
			return
		}
		off += int64(n)
	}
}
