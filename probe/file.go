package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// file is a small file of /proc or /sys that is read again and again from its start. It stays open
// between reads; a read is one system call, or two if the file grew.
type file struct {
	path string
	f    *os.File
	buf  []byte
}

// read returns the whole file, valid until the next read.
func (f *file) read() ([]byte, error) {
	if f.f == nil {
		var err error
		if f.f, err = os.Open(f.path); err != nil {
			return nil, err
		}
	}
	if f.buf == nil {
		f.buf = make([]byte, 4096)
	}
	n := 0
	for {
		m, err := f.f.ReadAt(f.buf[n:], int64(n))
		n += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.close()
			return nil, err
		}
		if n == len(f.buf) {
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("%s is empty", f.path)
	}
	return f.buf[:n], nil
}

func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// fields walks over the words of one line.
type fields []byte

// next cuts the next word off. It is empty at the end of the line.
func (f *fields) next() []byte {
	b := *f
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' {
		j++
	}
	*f = b[j:]
	return b[i:j]
}

// number cuts the next word off and reads it as a decimal count.
func (f *fields) number() (uint64, error) { return number(f.next()) }

var errNumber = errors.New("not a number")

func number(b []byte) (uint64, error) {
	if len(b) == 0 || len(b) > 20 {
		return 0, errNumber
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}

// decimal reads a non-negative number with an optional fraction, such as 0.35.
func decimal(b []byte) (float64, error) {
	whole, frac, _ := bytes.Cut(b, []byte{'.'})
	n, err := number(whole)
	if err != nil {
		return 0, err
	}
	v, scale := float64(n), 1.0
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
		scale /= 10
		v += float64(c-'0') * scale
	}
	return v, nil
}

// lines walks over the lines of a text.
type lines []byte

// next cuts the next line off, without its line feed. ok is false after the last line.
func (l *lines) next() (line []byte, ok bool) {
	if len(*l) == 0 {
		return nil, false
	}
	line, rest, _ := bytes.Cut(*l, []byte{'\n'})
	*l = rest
	return line, true
}
