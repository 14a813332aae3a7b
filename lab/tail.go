package lab

import (
	"io"
	"os"
	"strings"
	"sync"
)

// A ring keeps the last tailBytes written to it. It never fails and never blocks for long.
type ring struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if n > tailBytes {
		p = p[n-tailBytes:]
	}
	if over := len(r.buf) + len(p) - tailBytes; over > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[over:])]
	}
	r.buf = append(r.buf, p...)
	return n, nil
}

// String returns what is kept.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf)
}

// fileTail returns the last tailBytes of a file, from the start of a line, or nothing when it cannot be read.
func fileTail(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	cut := st.Size() > tailBytes
	if cut {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return ""
	}
	if _, rest, ok := strings.Cut(string(b), "\n"); ok && cut {
		return rest
	}
	return string(b)
}
