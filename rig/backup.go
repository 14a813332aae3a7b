package rig

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/target/lab"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// Backup keeps a database of a running server that another has started as a dump, with the programs for backups of the
// system's install. The server goes on meanwhile. The DSN is in no error, nor in the dump.
func (m *Maker) Backup(ctx context.Context, dsn, dir string) (_ *dump.Dump, err error) {
	man := dump.Manifest{}
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		man.Engine = plan.PostgreSQL
	case strings.HasPrefix(dsn, "mysql://"):
		man.Engine = plan.MySQL
	default:
		return nil, plan.Usagef("the DSN begins with neither postgres:// nor mysql://")
	}
	if man.Database = databaseOf(dsn); man.Database == "" {
		return nil, plan.Usagef("the DSN names no host with a database; want postgres://user:password@host:port/database or mysql://user:password@tcp(host:port)/database")
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, plan.Usagef("%s exists already; name another directory, or remove it", dir)
	}
	near := filepath.Dir(filepath.Clean(dir))
	if err := lab.MkdirState(near); err != nil {
		return nil, err
	}
	sweepTemporary(near)
	work, err := os.MkdirTemp(near, fmt.Sprintf(".dataset-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, RemoveState(work)) }()
	if err := os.Chmod(work, 0o711); err != nil { // the server may run as another user, who passes through
		return nil, err
	}
	m.Progress.What("snapshot of the database "+man.Database, 0)
	m.Progress.Doing("backup of the server's files", 0)
	if man.Engine == plan.PostgreSQL {
		data, version, err := postgresql.Backup(ctx, dsn, work)
		if err != nil {
			return nil, err
		}
		man.Origin = "backup of the database " + man.Database + " of PostgreSQL " + version
		return m.keep(ctx, man, data, nil, "", dir)
	}
	b, err := mysql.Backup(ctx, dsn, work)
	if err != nil {
		return nil, err
	}
	man.Origin = "backup of the database " + man.Database + " of " + b.Version
	return m.keep(ctx, man, b.Data, b.Settings, "", dir)
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
