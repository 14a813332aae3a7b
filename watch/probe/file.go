package probe

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"strconv"
	"syscall"
)

// file is a small file of /proc or /sys that is read again and again from its start. It stays open
// between reads until close; a read is two system calls. It does without os.File, which would offer
// every file to the network poller first.
type file struct {
	path string
	fd   int // plus one, so that the zero value is closed
	buf  []byte
	once bool // what is at the path depends on the thread that opens it: it is never opened again
	gone error
}

// read returns the whole file, valid until the next read. After an error the file is closed, and
// the next read reopens it.
func (f *file) read() ([]byte, error) {
	if f.gone != nil {
		return nil, f.gone
	}
	if f.fd == 0 {
		fd, err := retry(func() (int, error) {
			return syscall.Open(f.path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		})
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: f.path, Err: err}
		}
		f.fd = fd + 1
	}
	if f.buf == nil {
		f.buf = make([]byte, 4096)
	}
	n := 0
	for {
		m, err := retry(func() (int, error) { return syscall.Pread(f.fd-1, f.buf[n:], int64(n)) })
		if err != nil {
			f.close()
			return nil, &os.PathError{Op: "read", Path: f.path, Err: err}
		}
		if m == 0 {
			break
		}
		n += m
		if n == len(f.buf) {
			f.buf = append(f.buf, make([]byte, len(f.buf))...)
		}
	}
	if n == 0 {
		f.close()
		return nil, fmt.Errorf("%s is empty", f.path)
	}
	return f.buf[:n], nil
}

func (f *file) close() error {
	if f.fd == 0 {
		return nil
	}
	if f.once {
		f.gone = fmt.Errorf("%s: %w", f.path, os.ErrClosed)
	}
	err := syscall.Close(f.fd - 1)
	f.fd = 0
	return err
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
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
		v, scale = v*10+float64(c-'0'), scale*10
	}
	return v / scale, nil
}

// scientific reads a non-negative number as Go prints it, such as 3.1e-05.
func scientific(b []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, errNumber
	}
	return v, nil
}

// lines walks over the lines of a text, without their line feeds.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			line, rest, _ := bytes.Cut(text, newline)
			if text = rest; !yield(line) {
				return
			}
		}
	}
}

var newline = []byte{'\n'}
