package dump_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/reference/dataset/dump"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// noError ends a test by an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type server interface {
	DSN(db string) string
	CreateDatabase(ctx context.Context, name string) error
	Export(ctx context.Context, dst string) error
	Stop(ctx context.Context) error
}

func start(t *testing.T, engine, from string) server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	//nolint:usetesting // a TempDir is closed to the server's user
	dir, err := os.MkdirTemp("", "dump-test-")
	noError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	noError(t, os.Chmod(dir, 0o755))
	var s server
	if engine == "postgresql" {
		s, err = postgresql.Start(ctx, postgresql.Config{Dir: dir, Data: from})
	} else {
		s, err = mysql.Start(ctx, mysql.Config{Dir: dir, Data: from})
	}
	noError(t, err)
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// TestThereAndBack seals a server's data, moves it, starts another server with it, and then breaks
// data and files.
func TestThereAndBack(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			s := start(t, engine, "")
			noError(t, s.CreateDatabase(t.Context(), "chat"))
			var rows []string
			for i := range 500 {
				rows = append(
					rows,
					fmt.Sprintf("('post-%d', %d, 'message %d', NULL)", i, 1000+i, i),
				)
			}
			for _, statement := range []string{
				"CREATE TABLE posts (id varchar(26) PRIMARY KEY, createat bigint, message varchar(2000), props varchar(100))",
				"CREATE TABLE threads (postid varchar(26) PRIMARY KEY)",
				"INSERT INTO posts VALUES " + strings.Join(rows, ", "),
			} {
				exec(t, s.DSN("chat"), statement)
			}
			tables, err := dump.Tables(t.Context(), s.DSN("chat"))
			noError(t, err)
			dir := filepath.Join(t.TempDir(), "d")
			// a killed program's, and one that is still at it
			for _, pid := range []int{1 << 30, os.Getppid()} {
				noError(t, os.Mkdir(fmt.Sprint(dir, ".part-", pid), 0o755))
			}
			data, _, err := dump.Create(dir)
			noError(t, err)
			if parts, err := filepath.Glob(dir + ".part-*"); err != nil || len(parts) != 2 {
				t.Errorf(
					"unfinished dumps %v, want that of this process and that of the other",
					parts,
				)
			}
			noError(t, s.Export(t.Context(), data))
			if _, err := dump.Open(dir); err == nil {
				t.Error("an unfinished dump can be opened")
			}
			d, err := dump.Seal(t.Context(), dir, dump.Manifest{
				Engine:   engine,
				Database: "chat",
				Tables:   tables,
			})
			noError(t, err)
			if _, _, err := dump.Create(dir); err == nil {
				t.Error("a dump may be made over another")
			}
			moved := filepath.Join(t.TempDir(), engine)
			noError(t, os.Rename(dir, moved))
			again, err := dump.For(filepath.Dir(moved), engine)
			if err != nil || again.Digest() != d.Digest() {
				t.Fatalf(
					"the moved dump has the digest %s, had %s: %v",
					again.Digest(),
					d.Digest(),
					err,
				)
			}
			if _, err := dump.For(moved, "other"); err == nil ||
				!strings.Contains(err.Error(), "not of other") {
				t.Errorf("a dump for another engine: %v", err)
			}
			if problems, err := again.VerifyFiles(t.Context()); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			other := start(t, engine, again.Data())
			compare := func() string {
				t.Helper()
				have, err := dump.Tables(t.Context(), other.DSN("chat"))
				noError(t, err)
				return strings.Join(dump.Compare(again.Manifest.Tables, have), "\n")
			}
			if got := compare(); got != "" {
				t.Fatalf("the restored data differs: %s", got)
			}
			for _, c := range []struct{ breaks, want string }{
				{"UPDATE posts SET props = '' WHERE createat = 1001", "table posts has other contents"},
				{"UPDATE posts SET message = CONCAT('A', SUBSTRING(message, 2)) WHERE createat = (SELECT at FROM (SELECT MAX(createat) AS at FROM posts) x)", "table posts has other contents"},
				{"UPDATE posts SET createat = createat + 1", "spans the times"},
				{"DELETE FROM posts WHERE createat = (SELECT at FROM (SELECT MAX(createat) AS at FROM posts) x)", "table posts has 499 rows, the manifest says 500"},
				{"DROP TABLE threads", "table threads is missing"},
				{"CREATE TABLE extra (id int)", "table extra does not belong"},
			} {
				exec(t, other.DSN("chat"), c.breaks)
				if got := compare(); !strings.Contains(got, c.want) {
					t.Errorf("%s: found %q, want %q", c.breaks, got, c.want)
				}
			}
			breakFiles(t, again)
		})
	}
}

// breakFiles flips a byte, removes a file, adds one and cuts one off.
func breakFiles(t *testing.T, d *dump.Dump) {
	t.Helper()
	var large dump.File
	for _, f := range d.Manifest.Files {
		if f.Bytes > large.Bytes {
			large = f
		}
	}
	path := filepath.Join(d.Dir, large.Path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	noError(t, err)
	defer f.Close()
	find := func(want string) {
		t.Helper()
		problems, err := d.VerifyFiles(t.Context())
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("found %q, want one that %q: %v", problems, want, err)
		}
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, large.Bytes/2); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, large.Bytes/2); err != nil {
		t.Fatal(err)
	}
	find(large.Path + " has other contents")
	noError(t, f.Truncate(large.Bytes-1))
	find(large.Path + " has ")
	noError(t, os.Remove(path))
	find(large.Path + " is missing")
	noError(t, os.WriteFile(path, nil, 0o600))
	noError(t, os.Rename(path, path+"x"))
	if problems, err := d.VerifyFiles(t.Context()); err != nil || len(problems) != 2 ||
		!strings.Contains(problems[1], "does not belong") {
		t.Errorf("found %q: %v", problems, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := dump.For(dir, "mysql"); err == nil || !strings.Contains(err.Error(), "no dump") {
		t.Errorf("an empty directory: %v", err)
	}
	for content, want := range map[string]string{
		"{":              "cannot be read",
		`{"format": 99}`: "format 99",
	} {
		noError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(content), 0o644))
		if _, err := dump.Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("manifest %q: %v", content, err)
		}
	}
	if err := dump.CheckSpace(filepath.Join(dir, "not", "yet"), 1); err != nil {
		t.Error(err)
	}
	if err := dump.CheckSpace(dir, 1<<60); err == nil ||
		!strings.Contains(err.Error(), "make room") {
		t.Errorf("a petabyte: %v", err)
	}
}
