package dumps

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/lab/mysql"
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
	{"PGDMP", "a dump in pg_dump's custom format", "write it as SQL with pg_restore -f FILE.sql, and restore that"},
	{"BZh", "packed by bzip2", "unpack it with bunzip2, or pack it with zstd or gzip"},
	{"\xfd7zXZ", "packed by xz", "unpack it with unxz, or pack it with zstd or gzip"},
	{"PK\x03\x04", "a zip file", "unpack it with unzip, or pack it with zstd or gzip"},
	{"\xff\xfe", "in UTF-16, as a redirection in PowerShell writes it", "write it with the option -f of pg_dump or -r of mysqldump"},
	{"\x00", "no text", "write it with pg_dump -f FILE.sql or mysqldump -r FILE.sql"},
}

var (
	wrotePostgreSQL = regexp.MustCompile(`(?m)^-- PostgreSQL database dump\s*$`)
	wroteCluster    = regexp.MustCompile(`(?m)^-- PostgreSQL database cluster dump\s*$`)
	wroteMySQL      = regexp.MustCompile(`(?m)^-- (MySQL|MariaDB) dump `)
	lastLine        = regexp.MustCompile(`(?m)^-- (PostgreSQL database dump complete|Dump completed)`)
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
		return nil, plan.Usagef("%s is empty; write the dump again, and look at the output of the program that writes it", path)
	}
	if err := refuse(path, head); err != nil {
		return nil, err
	}
	switch {
	case wroteCluster.Match(head):
		return nil, plan.Usagef("%s is a dump of a whole cluster by pg_dumpall; dump one database with pg_dump", path)
	case wrotePostgreSQL.Match(head):
		s.Engine, s.marked = plan.PostgreSQL, true
	case wroteMySQL.Match(head):
		s.Engine, s.marked = plan.MySQL, true
	}
	return s, nil
}

// refuse reports what a file is instead of SQL.
func refuse(path string, head []byte) error {
	for _, p := range packings {
		if p.is != "" && bytes.HasPrefix(head, []byte(p.magic)) {
			return plan.Usagef("%s is %s; %s", path, p.is, p.remedy)
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return plan.Usagef("%s is a tar file; write a dump of pg_dump -Ft as SQL with pg_restore -f FILE.sql, and restore that", path)
	}
	return nil
}

// unpack puts the reader of text on top of that of the file.
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
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return s.broken(err)
		}
		text, s.Packed, s.closer = z, true, z.Close
	}
	s.text = bufio.NewReaderSize(text, 1<<20)
	return nil
}

// broken explains an error of reading.
func (s *SQLFile) broken(err error) error {
	at := s.read.Load()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s ends at byte %d in the middle of its packed data: it was cut off; copy or write it again", s.Path, at)
	}
	return fmt.Errorf("%s cannot be read near byte %d: %w; copy or write it again", s.Path, at, err)
}

// counted counts what is read of the file.
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
		return fmt.Errorf("%s was read up to byte %d only: a command in it ended the client; take that out", s.Path, s.read.Load())
	}
	if s.marked && !lastLine.Match(s.last) {
		return fmt.Errorf("%s lacks the last line of a dump after %d bytes of SQL: it was cut off; copy or write it again", s.Path, s.bytes)
	}
	return nil
}

// Close closes the file.
func (s *SQLFile) Close() {
	s.closer()
	_ = s.file.Close() // it was only read
}

// remedies are the remedies for a script that a database client refuses, by its report.
var remedies = []struct{ report, remedy string }{
	{`role ".*" does not exist`, "name the roles of the dump with -roles, or write it with pg_dump --no-owner --no-privileges"},
	{`Unknown (collation|character set)`, "the dump is of a server that knows more: install the one that wrote it, or replace the name in the file"},
	{`extension ".*" is not available`, "install the package of that extension"},
	{`unrecognized configuration parameter "transaction_timeout"`, "the dump is of PostgreSQL 17 or newer: take out the line SET transaction_timeout, or install that version"},
	{`invalid command \\(un)?restrict`, "the client is older than the restriction of dumps: update it, or take out the lines \\restrict and \\unrestrict"},
	{`(?i)GTID_(PURGED|MODE)`, "write the dump with mysqldump --set-gtid-purged=OFF, or take out the line SET @@GLOBAL.GTID_PURGED"},
	{`unrecognized configuration parameter|invalid command \\`, "the dump is of a newer PostgreSQL: install that version"},
	{`database ".*" already exists`, "write the dump without -C"},
	{`max_allowed_packet|server has gone away`, "write the dump with --max-allowed-packet=64M"},
}

// remedyFor returns the remedy for a refused script.
func remedyFor(report string) string {
	for _, r := range remedies {
		if regexp.MustCompile(r.report).MatchString(report) {
			return r.remedy
		}
	}
	return "mend the line that the client names, counted in the unpacked file"
}

// RestoreSQL loads a script into a new server and keeps the server's data in dir, with statistics
// for the planner. owners are roles that the script names; they are made first.
func (m *Maker) RestoreSQL(ctx context.Context, s *SQLFile, engine, name, dir string,
	owners []string) (*dump.Dump, error) {
	engine, err := engineOf(s, engine)
	if err != nil {
		return nil, err
	}
	need := 3 * s.Size // the server's own and the copy, half as large again as the text
	if s.Packed {
		need *= 4
	}
	if err := dump.CheckSpace(dir, need); err != nil {
		return nil, err
	}
	into, _, err := dump.Create(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dump.Abandon(dir) }()
	file := filepath.Base(s.Path)
	m.Progress.What("restoring "+file, 0)
	man := m.filling(engine, name, "restore of "+file)
	if engine == plan.MySQL {
		man.Loading["max_allowed_packet"] = strconv.Itoa(mysql.MaxPacket)
	}
	fill := func(db *stores.Server) error {
		if err := db.CreateDatabase(ctx, name); err != nil {
			return err
		}
		began := time.Now()
		if err := m.feed(ctx, s, func(script io.Reader) error {
			return db.Load(ctx, name, script, owners)
		}); err != nil {
			return err
		}
		man.Seconds["load"] = seconds(time.Since(began))
		if err := m.take(ctx, db, &man, into); err != nil {
			return err
		}
		if len(man.Tables) > 0 {
			return nil
		}
		schemas, err := dump.Schemas(ctx, db.DSN(name))
		if err != nil {
			return err
		}
		return elsewhere(s.Path, engine, name, schemas)
	}
	if err := stores.Temporarily(ctx, engine, dir, "", man.Loading, fill); err != nil {
		return nil, err
	}
	return m.seal(ctx, dir, man)
}

// elsewhere returns the error of a script that has made no tables where a server looks for them,
// but in other schemas, or none.
func elsewhere(path, engine, database string, schemas []string) error {
	err := fmt.Errorf("%s made no tables in the database %s", path, database)
	switch {
	case len(schemas) == 0:
		return fmt.Errorf("%w, nor in another; dump the data of a server that has some", err)
	case engine == plan.MySQL:
		return fmt.Errorf("%w, but in %s: give that as -db", err, strings.Join(schemas, ", "))
	}
	return fmt.Errorf("%w's schema public, but in %s; put these lines at the end of the file: "+
		"DROP SCHEMA IF EXISTS public; ALTER SCHEMA %q RENAME TO public;",
		err, strings.Join(schemas, ", "), schemas[0])
}

// engineOf returns the engine of a script: the wanted one unless that is empty. A script of
// another engine is a [plan.UsageError].
func engineOf(s *SQLFile, want string) (string, error) {
	switch {
	case want != "" && want != plan.PostgreSQL && want != plan.MySQL:
		return "", plan.Usagef("-engine=%s: want %s or %s", want, plan.PostgreSQL, plan.MySQL)
	case s.Engine == "" && want == "":
		return "", plan.Usagef("%s does not begin as a dump of pg_dump, mysqldump or "+
			"mariadb-dump; name its engine with -engine", s.Path)
	case s.Engine == "":
		return want, nil
	case want != "" && want != s.Engine:
		return "", plan.Usagef("%s is a dump of %s, and -engine is %s; leave the flag out",
			s.Path, s.Engine, want)
	}
	return s.Engine, nil
}

// feed gives a script to load, which reads it as a client of the database does, and reports the
// progress. The script was read to its end unless there is an error.
func (m *Maker) feed(ctx context.Context, s *SQLFile, load func(script io.Reader) error) error {
	reported := make(chan struct{})
	stop := make(chan struct{})
	go func() { // ends with feed
		defer close(reported)
		began := time.Now()
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				done, took := s.read.Load(), time.Since(began)
				m.Progress.Step("loading", s.progress(done, took), timeLeft(done, s.Size, took))
			}
		}
	}()
	err := load(s)
	close(stop)
	<-reported
	if s.err != nil { // the client saw an early end, and may have taken it for the right one
		return s.err
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return plain.Below(err, "restoring %s failed; %s", s.Path, remedyFor(err.Error()))
	}
	return s.Whole()
}

// progress describes the part of the file that is read, in its own bytes.
func (s *SQLFile) progress(done int64, took time.Duration) string {
	text := fmt.Sprintf("loading %.2f of %.2f GB", float64(done)/1e9, float64(s.Size)/1e9)
	if done >= s.Size {
		return text + "; indexes, statistics"
	}
	return text + fmt.Sprintf("  %.1f MB/s", float64(done)/1e6/max(took.Seconds(), 1e-3))
}

// IsSQLFile reports whether a path leads to a file, or its name is that of a script of SQL.
func IsSQLFile(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return strings.Contains(filepath.Base(path), ".sql")
	}
	return !st.IsDir()
}
