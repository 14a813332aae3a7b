package dumps

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/lab"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
)

// Snapshot keeps the database of a stopped server's state directory as a dump in dir. The error is
// [lab.ErrInUse] while a program uses the state.
func (m *Maker) Snapshot(ctx context.Context, state, database,
	dir string) (_ *dump.Dump, err error) {
	// Of a halted deployment no journal lists a server, and its next reset would write while this
	// reads.
	deployed := filepath.Dir(filepath.Clean(state))
	if process.Claimed(deployed) {
		switch lock, err := process.Claim(ctx, deployed); {
		case errors.Is(err, lab.ErrInUse):
			return nil, err
		case err == nil: // else it can only be read, by all
			defer func() { _ = lock.Close() }()
		}
	}
	engine, space, err := stateOf(ctx, state)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	origin := "snapshot of " + filepath.Base(filepath.Dir(state)) + "/" + filepath.Base(state)
	m.Progress.What("snapshot of "+state, 0)
	return m.keep(ctx, dir, source{
		manifest: dump.Manifest{Engine: engine, Database: database, Origin: origin},
		data:     filepath.Join(space.Dir(), "data"),
		files:    filepath.Join(deployed, "files"),
	})
}

// Backup keeps a database of a running server that another has started as a dump in dir, with the
// programs for backups of the system's install. The server goes on meanwhile. The DSN is in no
// error, nor in the dump.
func (m *Maker) Backup(ctx context.Context, dsn, dir string) (_ *dump.Dump, err error) {
	var engine string
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		engine = plan.PostgreSQL
	case strings.HasPrefix(dsn, "mysql://"):
		engine = plan.MySQL
	default:
		return nil, plan.Usagef("the DSN begins with neither postgres:// nor mysql://")
	}
	database := databaseOf(dsn)
	if database == "" {
		return nil, plan.Usagef("the DSN names no host with a database; " +
			"want postgres://user:password@host:port/database " +
			"or mysql://user:password@tcp(host:port)/database")
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, plan.Usagef("%s exists already; name another directory, or remove it", dir)
	}
	work, err := stores.Scratch(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.RemoveState(work)) }()
	m.Progress.What("snapshot of the database "+database, 0)
	m.Progress.Doing("backup of the server's files", 0)
	var from source
	var server string
	if engine == plan.PostgreSQL {
		from.data, server, err = postgresql.Backup(ctx, dsn, work)
		server = "PostgreSQL " + server
	} else {
		var b mysql.BackedUp
		b, err = mysql.Backup(ctx, dsn, work)
		from.data = b.Data
		from.settings = b.Settings
		server = b.Version
	}
	if err != nil {
		return nil, err
	}
	origin := "backup of the database " + database + " of " + server
	from.manifest = dump.Manifest{Engine: engine, Database: database, Origin: origin}
	return m.keep(ctx, dir, from)
}

// A source is a server's data that a dump is made of.
type source struct {
	manifest dump.Manifest
	data     string            // directory of the data
	settings map[string]string // with which a server starts on them; nil for its defaults
	files    string            // directory of attachments, which need not exist; empty for none
}

// keep makes a dump in dir of a copy of a source, on which a server is started.
func (m *Maker) keep(ctx context.Context, dir string, from source) (*dump.Dump, error) {
	into, attachments, err := dump.Create(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dump.Abandon(dir) }()
	man := from.manifest
	man.Made, man.Tool = time.Now().UTC(), m.Tool
	m.Progress.Doing("starting a server on a copy", 0)
	take := func(s *stores.Server) error {
		if man.Engine == plan.PostgreSQL { // the template of resets would double the dump
			if err := s.DropDatabase(ctx, man.Database+"_snapshot"); err != nil {
				return err
			}
		}
		if err := m.take(ctx, s, &man, into); err != nil {
			return err
		}
		if problems, err := data.Check(ctx, s.DSN(man.Database)); err == nil {
			if len(problems) > 0 {
				return fmt.Errorf("the database contradicts itself: %s",
					strings.Join(problems, "; "))
			}
			man.Schema = refchat.SchemaVersion // it is a database of the reference server
		}
		return nil
	}
	err = stores.Temporarily(ctx, man.Engine, dir, from.data, from.settings, take)
	if err != nil {
		return nil, err
	}
	if files.IsDir(from.files) {
		if err := lab.ReplaceTree(ctx, attachments, from.files, nil); err != nil {
			return nil, err
		}
	}
	return m.seal(ctx, dir, man)
}

// stateOf finds the data of a supervised server in its state directory and makes sure that no
// server uses them. The caller closes the space that holds them.
func stateOf(ctx context.Context, state string) (engine string, _ *lab.Space, err error) {
	for _, engine = range []string{plan.PostgreSQL, plan.MySQL} {
		journal := filepath.Join(state, engine+".journal")
		if _, err := os.Stat(journal); err == nil {
			if _, err := lab.Sweep(ctx, journal, 5*time.Second); err != nil {
				return "", nil, err
			}
		}
	}
	real := state
	if other, ok := lab.Elsewhere(state); ok {
		real = other
	}
	if files.IsDir(real) {
		space, err := lab.NewSpace(ctx, real, 0, lab.Plain)
		if err != nil {
			return "", nil, err
		}
		for engine, file := range map[string]string{
			plan.PostgreSQL: "PG_VERSION",
			plan.MySQL:      "ibdata1",
		} {
			if _, err := os.Stat(filepath.Join(space.Dir(), "data", file)); err == nil {
				return engine, space, nil
			}
		}
		if err := space.Close(ctx); err != nil {
			return "", nil, err
		}
	}
	return "", nil, plan.Usagef("%s is no state directory of a database server; "+
		"want one such as .plimsoll/state/base-postgresql/postgresql", state)
}

// databaseOf returns the name of the database in a DSN; empty if there is none.
func databaseOf(dsn string) string {
	if rest, ok := strings.CutPrefix(dsn, "mysql://"); ok {
		slash := strings.LastIndexByte(rest, '/') // passwords and paths of sockets may hold others
		if slash < 0 {
			return ""
		}
		name, _, _ := strings.Cut(rest[slash+1:], "?")
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		return name
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}
