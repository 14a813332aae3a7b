package dumps

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/lab/mysql"
)

// remedies are the remedies for a script that a database client refuses, by its report.
var remedies = []struct{ report, remedy string }{
	{`role ".*" does not exist`, "name the roles of the dump with -roles, or write it " +
		"with pg_dump --no-owner --no-privileges"},
	{`Unknown (collation|character set)`, "the dump is of a server that knows more: " +
		"install the one that wrote it, or replace the name in the file"},
	{`extension ".*" is not available`, "install the package of that extension"},
	{`unrecognized configuration parameter "transaction_timeout"`, "the dump is of " +
		"PostgreSQL 17 or newer: take out the line SET transaction_timeout, or install that version"},
	{`invalid command \\(un)?restrict`, "the client is older than the restriction of " +
		"dumps: update it, or take out the lines \\restrict and \\unrestrict"},
	{`(?i)GTID_(PURGED|MODE)`, "write the dump with mysqldump --set-gtid-purged=OFF, or " +
		"take out the line SET @@GLOBAL.GTID_PURGED"},
	{`unrecognized configuration parameter|invalid command \\`, "the dump is of a newer " +
		"PostgreSQL: install that version"},
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
