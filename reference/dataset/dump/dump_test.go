package dump_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/reference/dataset/dump"
	"plimsoll/target/lab"
)

var noError = failure.None

// TestThereAndBack seals a server's data, moves it, starts another server with it, and then breaks
// data and files.
func TestThereAndBack(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			s := start(t, engine, "", lab.Auto)
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
			failure.Says(t, failure.Of(dump.For(moved, "other")), "not of other")
			if problems, err := again.VerifyFiles(t.Context()); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			other := start(t, engine, again.Data(), lab.Auto)
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
	noError(t, failure.Of(f.ReadAt(b, large.Bytes/2)))
	b[0] ^= 1
	noError(t, failure.Of(f.WriteAt(b, large.Bytes/2)))
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
	failure.Says(t, failure.Of(dump.For(dir, "mysql")), "no dump")
	two := t.TempDir()
	for _, engine := range []string{"mysql", "postgresql"} {
		noError(t, os.Mkdir(filepath.Join(two, engine), 0o755))
		noError(t, os.WriteFile(filepath.Join(two, engine, "dataset.json"), []byte("{}"), 0o644))
	}
	failure.Says(t, failure.Of(dump.Open(two)), "no dump", "name one of "+
		filepath.Join(two, "mysql")+", "+filepath.Join(two, "postgresql"))
	for content, want := range map[string]string{
		"{":              "cannot be read",
		`{"format": 99}`: "format 99",
	} {
		noError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(content), 0o644))
		failure.Says(t, failure.Of(dump.Open(dir)), want)
	}
	noError(t, dump.CheckSpace(filepath.Join(dir, "not", "yet"), 1))
	failure.Says(t, dump.CheckSpace(dir, 1<<60), "make room") // a petabyte
}
