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

// String returns the kept bytes.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf)
}

// A logFile is a file that a child writes to, and where the child's part of it begins.
type logFile struct {
	name  string
	begin int64
}

func newLogFile(f *os.File) logFile {
	l := logFile{name: f.Name()}
	if st, err := f.Stat(); err == nil {
		l.begin = st.Size()
	}
	return l
}

// tail returns the last tailBytes of the child's part, from the start of a line, or nothing when
// the file cannot be read again.
func (l logFile) tail() string {
	f, err := os.Open(l.name)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	from := max(l.begin, st.Size()-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return ""
	}
	if _, rest, ok := strings.Cut(string(b), "\n"); ok && from > l.begin {
		return rest
	}
	return string(b)
}
