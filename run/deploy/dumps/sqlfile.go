package dumps

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/files"
	"plimsoll/plan"
)

const (
	headBytes = 64 << 10 // of a script, which hold the line of the program that wrote it
	tailBytes = 1 << 10  // of a script, which hold its last line
)

// An SQLFile is a script of SQL in a file, as pg_dump, mysqldump and mariadb-dump write them, with
// or without compression by gzip or zstd. It is read once, in a constant amount of memory, by one
// goroutine.
type SQLFile struct {
	Path   string
	Engine string // a plan's name of it; empty while it is not known
	Size   int64  // of the file, bytes
	Packed bool

	file   *os.File
	read   atomic.Int64 // of the file
	text   *bufio.Reader
	bytes  int64 // of the text
	closer func()
	last   []byte // of the text, at most tailBytes
	marked bool   // the program that wrote it also writes a last line
	err    error  // of reading
}

// packings are the first bytes of files that are no SQL, with the remedy. Those without a remedy
// are unpacked here.
var packings = []struct{ magic, is, remedy string }{
	{"\x1f\x8b", "", ""},
	{"\x28\xb5\x2f\xfd", "", ""},
	{"PGDMP", "a dump in pg_dump's custom format", "write it as SQL with pg_restore -f " +
		"FILE.sql, and restore that"},
	{"BZh", "packed by bzip2", "unpack it with bunzip2, or pack it with zstd or gzip"},
	{"\xfd7zXZ", "packed by xz", "unpack it with unxz, or pack it with zstd or gzip"},
	{"PK\x03\x04", "a zip file", "unpack it with unzip, or pack it with zstd or gzip"},
	{"\xff\xfe", "in UTF-16, as a redirection in PowerShell writes it", "write it with " +
		"the option -f of pg_dump or -r of mysqldump"},
	{"\x00", "no text", "write it with pg_dump -f FILE.sql or mysqldump -r FILE.sql"},
}

var (
	wrotePostgreSQL = regexp.MustCompile(`(?m)^-- PostgreSQL database dump\s*$`)
	wroteCluster    = regexp.MustCompile(`(?m)^-- PostgreSQL database cluster dump\s*$`)
	wroteMySQL      = regexp.MustCompile(`(?m)^-- (MySQL|MariaDB) dump `)
	lastLine        = regexp.MustCompile(
		`(?m)^-- (PostgreSQL database dump complete|Dump completed)`,
	)
)

// OpenSQLFile opens a script and reads its compression and engine from its first bytes. The caller
// calls Close.
func OpenSQLFile(path string) (_ *SQLFile, err error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	s := &SQLFile{Path: path, file: f, closer: func() {}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s.Size = info.Size()
	raw := bufio.NewReaderSize(counted{s}, 1<<20)
	if err := s.unpack(raw); err != nil {
		return nil, err
	}
	head, err := s.text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.broken(err)
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, plan.Usagef("%s is empty; write the dump again, and look at the output "+
			"of the program that writes it", path)
	}
	if err := refuse(path, head); err != nil {
		return nil, err
	}
	switch {
	case wroteCluster.Match(head):
		return nil, plan.Usagef("%s is a dump of a whole cluster by pg_dumpall; dump one "+
			"database with pg_dump", path)
	case wrotePostgreSQL.Match(head):
		s.Engine, s.marked = plan.PostgreSQL, true
	case wroteMySQL.Match(head):
		s.Engine, s.marked = plan.MySQL, true
	}
	return s, nil
}

// refuse returns an error that names the actual format of a file that is not SQL.
func refuse(path string, head []byte) error {
	for _, p := range packings {
		if p.is != "" && bytes.HasPrefix(head, []byte(p.magic)) {
			return plan.Usagef("%s is %s; %s", path, p.is, p.remedy)
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return plan.Usagef("%s is a tar file; write a dump of pg_dump -Ft as SQL with "+
			"pg_restore -f FILE.sql, and restore that", path)
	}
	return nil
}

// unpack puts a reader of the text on top of the reader of the file.
func (s *SQLFile) unpack(raw *bufio.Reader) error {
	magic, err := raw.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return s.broken(err)
	}
	var text io.Reader = raw
	switch {
	case bytes.HasPrefix(magic, []byte(packings[0].magic)):
		gz, err := gzip.NewReader(raw)
		if err != nil {
			return s.broken(err)
		}
		text, s.Packed = gz, true
	case bytes.HasPrefix(magic, []byte(packings[1].magic)):
		z, err := zstd.NewReader(
			raw,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(1<<30),
		)
		if err != nil {
			return s.broken(err)
		}
		text = z
		s.Packed = true
		s.closer = z.Close
	}
	s.text = bufio.NewReaderSize(text, 1<<20)
	return nil
}

// broken explains an error of reading.
func (s *SQLFile) broken(err error) error {
	at := s.read.Load()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s ends at byte %d in the middle of its packed data: it was cut "+
			"off; copy or write it again", s.Path, at)
	}
	return fmt.Errorf("%s cannot be read near byte %d: %w; copy or write it again", s.Path, at, err)
}

// counted counts the bytes that are read of the file.
type counted struct{ s *SQLFile }

func (c counted) Read(b []byte) (int, error) {
	n, err := c.s.file.Read(b)
	c.s.read.Add(int64(n))
	return n, err
}

// Read reads the text.
func (s *SQLFile) Read(b []byte) (int, error) {
	n, err := s.text.Read(b)
	s.bytes += int64(n)
	if n >= tailBytes {
		s.last = append(s.last[:0], b[n-tailBytes:n]...)
	} else {
		s.last = append(s.last, b[:n]...)
		s.last = s.last[max(0, len(s.last)-tailBytes):]
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.broken(err)
		s.err = err
	}
	return n, err
}

// Whole returns an error unless the text was read to its end and has the last line that the
// program writes.
func (s *SQLFile) Whole() error {
	if s.err != nil {
		return s.err
	}
	if _, err := s.text.Peek(1); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s was read up to byte %d only: a command in it ended the "+
			"client; take that out", s.Path, s.read.Load())
	}
	if s.marked && !lastLine.Match(s.last) {
		return fmt.Errorf("%s lacks the last line of a dump after %d bytes of SQL: it was "+
			"cut off; copy or write it again", s.Path, s.bytes)
	}
	return nil
}

// Close closes the file.
func (s *SQLFile) Close() {
	s.closer()
	_ = s.file.Close() // it was only read
}

// IsSQLFile reports whether a path leads to a file, or its name is the name of a script of SQL.
func IsSQLFile(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return strings.Contains(filepath.Base(path), ".sql")
	}
	return !st.IsDir()
}
