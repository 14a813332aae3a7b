package dumps

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/lab"
)

const postgresScript = `--
-- PostgreSQL database dump
--

SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.posts (id integer NOT NULL, message text);
ALTER TABLE public.posts OWNER TO mmuser;
COPY public.posts (id, message) FROM stdin;
1	one; two
2	\N
3	'--'
\.
ALTER TABLE ONLY public.posts ADD CONSTRAINT posts_pkey PRIMARY KEY (id);

--
-- PostgreSQL database dump complete
--
`

const mysqlScript = `-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)
--
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE ` + "`posts`" + ` (` + "`id`" + ` int NOT NULL, ` + "`message`" + ` text, PRIMARY KEY (` + "`id`" + `)) ENGINE=InnoDB;
INSERT INTO ` + "`posts`" + ` VALUES (1,'one; two'),(2,NULL),(3,'\'--\n');
DELIMITER ;;
CREATE TRIGGER late BEFORE INSERT ON posts FOR EACH ROW BEGIN SET NEW.message = 'x'; END ;;
DELIMITER ;
-- Dump completed on 2026-01-02  3:04:05
`

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // to memory
	_ = w.Close()
	return b.Bytes()
}

func zstandard(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(text), nil)
}

func scriptFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func quietMaker() *Maker { return &Maker{Progress: nobody{}} }

// nobody sees the progress of a work.
type nobody struct{}

func (nobody) What(string, time.Duration)         {}
func (nobody) Doing(string, time.Duration)        {}
func (nobody) Step(string, string, time.Duration) {}
func (nobody) End()                               {}

// openDir returns a new directory that the users of database servers may enter.
func openDir(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // a TempDir is closed to the server's user
	dir, err := os.MkdirTemp("", "dumps-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRestoreSQL loads packed dumps of both engines, and a broken one, of which nothing is left.
func TestRestoreSQL(t *testing.T) {
	root := openDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	restore := func(t *testing.T, path, dir string, owners ...string) (*dump.Dump, error) {
		t.Helper()
		s, err := OpenSQLFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return quietMaker().RestoreSQL(ctx, s, "", "chat", dir, owners)
	}
	for _, c := range []struct {
		engine, name string
		content      []byte
		owners       []string
	}{
		{plan.PostgreSQL, "mine.sql.gz", gzipped(postgresScript), []string{"mmuser"}},
		{plan.MySQL, "mine.sql.zst", zstandard(t, mysqlScript), nil},
	} {
		t.Run(c.engine, func(t *testing.T) {
			d, err := restore(
				t,
				scriptFile(t, c.name, c.content),
				filepath.Join(root, c.engine),
				c.owners...)
			if err != nil {
				t.Fatal(err)
			}
			m := d.Manifest
			if m.Engine != c.engine || m.Origin != "restore of "+c.name || len(m.Tables) != 1 ||
				m.Tables[0].Name != "posts" ||
				m.Tables[0].Rows != 3 {
				t.Errorf("manifest %+v", m)
			}
			if problems, err := d.VerifyFiles(ctx); err != nil || len(problems) > 0 {
				t.Errorf("%v: %v", problems, err)
			}
			if c.engine == plan.MySQL {
				findsImage(ctx, t, d, filepath.Join(t.TempDir(), "state"))
			}
		})
	}
	t.Run("broken", func(t *testing.T) {
		_, err := restore(
			t,
			scriptFile(t, "mine.sql", []byte(postgresScript)),
			filepath.Join(root, "broken"),
		)
		if err == nil {
			t.Fatal("a dump whose role is missing was restored")
		}
		for _, want := range []string{"mine.sql failed; name the roles of the dump with -roles", "psql:<stdin>:8: ERROR", `role "mmuser" does not exist`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q lacks %q", err, want)
			}
		}
	})
	t.Run("other schema", func(t *testing.T) {
		script := strings.ReplaceAll(
			strings.Replace(
				postgresScript,
				"CREATE TABLE",
				"CREATE SCHEMA old_chat;\nCREATE TABLE",
				1,
			),
			"public.",
			"old_chat.",
		)
		_, err := restore(
			t,
			scriptFile(t, "mine.sql", []byte(script)),
			filepath.Join(root, "other"),
			"mmuser",
		)
		if err == nil ||
			!strings.Contains(
				err.Error(),
				`in old_chat; put these lines at the end of the file: DROP SCHEMA IF EXISTS public; ALTER SCHEMA "old_chat" RENAME TO public;`,
			) {
			t.Errorf("error %v", err)
		}
	})
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Collect(func(yield func(string) bool) {
		for _, e := range entries {
			if !yield(e.Name()) {
				return
			}
		}
	}); !slices.Equal(names, []string{plan.MySQL, plan.PostgreSQL}) {
		t.Errorf("in the directory are %v, want the two dumps", names)
	}
}

// findsImage expects the state of a stopped server to be found where it lies in an image.
func findsImage(ctx context.Context, t *testing.T, d *dump.Dump, state string) {
	t.Helper()
	db, err := stores.Start(ctx, d.Manifest.Engine, state, d.Data(), string(lab.Image), nil)
	if err != nil {
		t.Log("no image on this host:", err) // TestImage of package lab has the reasons
		return
	}
	if err := db.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	engine, space, err := stateOf(ctx, state)
	if err != nil {
		t.Fatal(err)
	}
	if engine != d.Manifest.Engine || space.By() != lab.Image ||
		!files.IsDir(filepath.Join(space.Dir(), "data")) {
		t.Errorf("found the state of %s in %s by %s", engine, space.Dir(), space.By())
	}
	if err := space.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := stores.RemoveState(state); err != nil {
		t.Error(err)
	}
}

// TestCutOffScripts feeds scripts that end early to a client that notices nothing.
func TestCutOffScripts(t *testing.T) {
	half := postgresScript[:len(postgresScript)/2]
	gz := gzipped(postgresScript + strings.Repeat("-- 0123456789\n", 9999))
	zst := zstandard(t, postgresScript)
	flipped := slices.Clone(gz)
	flipped[len(flipped)-5] ^= 1 // in its checksum
	for _, c := range []struct {
		name    string
		content []byte
		most    int64
		err     error
		want    string
	}{
		{"whole.sql", []byte(postgresScript), 1 << 30, nil, ""},
		{"whole.sql.gz", gzipped(postgresScript), 1 << 30, nil, ""},
		{"whole.sql.zst", zst, 1 << 30, nil, ""},
		{"half.sql", []byte(half), 1 << 30, nil, "lacks the last line of a dump"},
		{"half.sql.gz", gz[:len(gz)-9], 1 << 30, nil, "was cut off"},
		{"half.sql.zst", zst[:len(zst)-3], 1 << 30, nil, "was cut off"},
		{"flipped.sql.gz", flipped, 1 << 30, nil, "cannot be read near byte"},
		{"quits.sql", []byte(postgresScript + strings.Repeat("SELECT 1;\n", 9999)), 500, nil, "was read up to byte"},
		{"newer.sql", []byte(postgresScript), 1 << 30, errors.New(`ERROR: unrecognized configuration parameter "x"`), "newer PostgreSQL: install that version"},
		{"pg17.sql", []byte(postgresScript), 1 << 30, errors.New(`ERROR: unrecognized configuration parameter "transaction_timeout"`), "take out the line SET transaction_timeout"},
		{"restricted.sql", []byte(postgresScript), 1 << 30, errors.New(`invalid command \restrict`), `take out the lines \restrict`},
		{"gtid.sql", []byte(postgresScript), 1 << 30, errors.New(`ERROR 1193 (HY000) at line 24: Unknown system variable 'GTID_PURGED'`), "--set-gtid-purged=OFF"},
		{"wrong.sql", []byte(postgresScript), 1 << 30, errors.New("ERROR: syntax error"), "mend the line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := scriptFile(t, c.name, c.content)
			s, err := OpenSQLFile(path)
			if err == nil {
				defer s.Close()
				if s.Engine != plan.PostgreSQL {
					t.Errorf("engine %q", s.Engine)
				}
				err = quietMaker().feed(t.Context(), s, func(script io.Reader) error {
					// As a client that takes an error for the end.
					_, _ = io.Copy(io.Discard, io.LimitReader(script, c.most))
					return c.err
				})
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)):
				t.Errorf("error %v, want %q of %s", err, c.want, path)
			}
		})
	}
}

// TestNoScripts opens files that are no SQL.
func TestNoScripts(t *testing.T) {
	tar := make([]byte, 1024)
	copy(tar, "toc.dat")
	copy(tar[257:], "ustar")
	for want, content := range map[string][]byte{
		"is empty":                        []byte(" \n"),
		"custom format; write it as SQL":  []byte("PGDMP\x01\x0e"),
		"bunzip2":                         []byte("BZh91AY"),
		"unxz":                            []byte("\xfd7zXZ\x00"),
		"unzip":                           []byte("PK\x03\x04abc"),
		"UTF-16":                          []byte("\xff\xfe-\x00-\x00"),
		"is no text":                      make([]byte, 100),
		"is a tar file":                   tar,
		"pg_dumpall; dump one database":   []byte("--\n-- PostgreSQL database cluster dump\n--\n"),
		"format; write it as SQL with pg": gzipped("PGDMP\x01\x0e"),
		"cannot be read near byte":        []byte("\x1f\x8b garbage"),
	} {
		s, err := OpenSQLFile(scriptFile(t, "x.sql", content))
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", content, err, want)
		}
	}
	if _, err := OpenSQLFile(filepath.Join(t.TempDir(), "none.sql")); !errors.Is(
		err,
		os.ErrNotExist,
	) {
		t.Errorf("a missing file: %v", err)
	}
	for _, c := range []struct{ of, flag, engine, want string }{
		{plan.PostgreSQL, "", plan.PostgreSQL, ""},
		{"", plan.MySQL, plan.MySQL, ""},
		{plan.MySQL, plan.MySQL, plan.MySQL, ""},
		{"", "", "", "name its engine with -engine"},
		{plan.MySQL, plan.PostgreSQL, "", "is a dump of mysql, and -engine is postgresql"},
		{plan.MySQL, "oracle", "", "want postgresql or mysql"},
	} {
		got, err := engineOf(&SQLFile{Path: "x.sql", Engine: c.of}, c.flag)
		if got != c.engine || (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
