package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The own stores speak frames: a length of four bytes, then a body. The body of a request begins
// with the operation, that of an answer with a code; the rest is fields one after the other: whole
// numbers as varints, texts with their length before them.

// mostFrame is the longest body, in bytes: a full page of stories fits.
const mostFrame = 16 << 20

// Codes of answers.
const (
	codeOK = iota
	codeBad
	codeFull
)

var (
	errFrame = errors.New("malformed frame")
	errFull  = errors.New("the store is full")
)

// appendInt and appendText write fields.
func appendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendText[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// fields reads the fields of a body. After the first mistake it returns zero values, and bad is
// set.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) int() int64 {
	v, n := binary.Varint(f.b)
	if n <= 0 {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[n:]
	return v
}

// count is int for the number of things that follow, at least one byte each.
func (f *fields) count() int {
	n := f.int()
	if n < 0 || n > int64(len(f.b)) {
		f.bad, f.b = true, nil
		return 0
	}
	return int(n)
}

// bytes returns a part of the body, which lives as long as it.
func (f *fields) bytes() []byte {
	n, k := binary.Uvarint(f.b)
	if k <= 0 || n > uint64(len(f.b)-k) {
		f.bad, f.b = true, nil
		return nil
	}
	s := f.b[k : k+int(n)]
	f.b = f.b[k+int(n):]
	return s
}

func (f *fields) text() string { return string(f.bytes()) }

// end returns errFrame unless all fields were there and no others.
func (f *fields) end() error {
	if f.bad || len(f.b) > 0 {
		return errFrame
	}
	return nil
}

// readFrame reads a body, into buf if it has the room.
func readFrame(r *bufio.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if n == 0 || n > mostFrame {
		return nil, fmt.Errorf("%w: a body of %d bytes", errFrame, n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf, nil
}

// A frame under construction has room for its length in front.
func newFrame(buf []byte, first byte) []byte { return append(buf[:0], 0, 0, 0, 0, first) }

func seal(frame []byte) ([]byte, error) {
	n := len(frame) - 4
	if n > mostFrame {
		return nil, fmt.Errorf("%w: a body of %d bytes", errFrame, n)
	}
	binary.LittleEndian.PutUint32(frame, uint32(n))
	return frame, nil
}
