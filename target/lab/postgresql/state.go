package postgresql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

// CreateDatabase makes an empty database, and replaces one of the same name.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "creating database "+name,
		dropStatement(name), "CREATE DATABASE "+quote(name)+" TEMPLATE template0")
}

// DropDatabase removes a database and its snapshot and ends their connections. A missing database is
// not an error.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "dropping database "+name, dropStatement(name), dropStatement(name+templateMark))
}

// Snapshot saves the present contents of a database for Restore. It vacuums and analyzes first, so
// that every run starts with the same statistics for the planner and no left-over work. The database
// stays and equals its snapshot. Connections to it are ended.
func (s *Server) Snapshot(ctx context.Context, name string) error {
	if err := s.admin(ctx, name, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "VACUUM (ANALYZE)")
		return err
	}); err != nil {
		return fmt.Errorf("snapshot of database %s: %w", name, err)
	}
	if s.space.Shares() {
		return s.keepData(ctx, name)
	}
	return s.exec(ctx, "snapshot of database "+name, append([]string{
		dropStatement(name + templateMark),
		endConnections(name),
		"ALTER DATABASE " + quote(name) + " RENAME TO " + quote(name+templateMark),
	}, s.copyStatements(name)...)...)
}

// keepData makes the snapshot of the whole server, in a space that shares blocks: a template would not share them.
func (s *Server) keepData(ctx context.Context, name string) error {
	// The writes of a clean shutdown are made before sessions end.
	if err := s.exec(ctx, "snapshot of database "+name, dropStatement(name+templateMark), "CHECKPOINT"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopCleanly(ctx); err != nil {
		return fmt.Errorf("snapshot of database %s: %w", name, err)
	}
	if err := lab.ReplaceTree(ctx, s.snapshot(), s.data(), nil); err != nil {
		return fmt.Errorf("snapshot of database %s: %w", name, err)
	}
	return s.start(ctx)
}

// putBack puts the snapshot that keepData made in place of the data, and starts the server.
func (s *Server) putBack(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.space.Open(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(s.snapshot()); err != nil {
		return fmt.Errorf("there is no snapshot of it: %w", err)
	}
	if s.proc != nil {
		if err := s.proc.Kill(); err != nil { // its data is thrown away in the next moment
			return err
		}
		if err := s.ended(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := lab.ReplaceTree(ctx, s.data(), s.snapshot(), nil); err != nil {
		return err
	}
	return s.start(ctx)
}

// Restore makes a database equal to its snapshot, then restarts the server on the same port. Connections
// are ended. A stopped server is started.
func (s *Server) Restore(ctx context.Context, name string) error {
	if s.space.Shares() {
		if err := s.putBack(ctx); err != nil {
			return fmt.Errorf("restoring database %s: %w", name, err)
		}
		return nil
	}
	if err := s.wake(ctx); err != nil {
		return fmt.Errorf("restoring database %s: %w", name, err)
	}
	if err := s.admin(ctx, "postgres", func(conn *pgx.Conn) error {
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name+templateMark).Scan(&there)
		if err == nil && !there {
			err = errors.New("there is no snapshot of it")
		}
		return err
	}); err != nil {
		return fmt.Errorf("restoring database %s: %w", name, err)
	}
	if err := s.exec(ctx, "restoring database "+name, append([]string{dropStatement(name)}, s.copyStatements(name)...)...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(ctx); err != nil {
		return err
	}
	return s.start(ctx)
}

// Export copies the data of the whole server, of all databases, to dst, which Config.Data takes, and restarts the
// server on the same port. It shuts it down cleanly for that. When it fails, there is no dst, and the server may be
// stopped.
func (s *Server) Export(ctx context.Context, dst string) error {
	// The writes of a clean shutdown are made before sessions end.
	if err := s.exec(ctx, "exporting the data", "CHECKPOINT"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopCleanly(ctx); err != nil {
		return fmt.Errorf("exporting the data: %w", err)
	}
	if err := lab.ReplaceTree(ctx, dst, s.data(), nil); err != nil {
		return fmt.Errorf("exporting the data: %w", err)
	}
	return s.start(ctx)
}

// stopCleanly waits longer for the server's end than Stop, and fails when the end was not clean.
func (s *Server) stopCleanly(ctx context.Context) error {
	if s.proc == nil {
		return errors.New("the server is stopped")
	}
	if err := s.proc.Signal(syscall.SIGINT); err != nil {
		return err
	}
	t := time.NewTimer(cleanTimeout)
	defer t.Stop()
	select {
	case <-s.proc.Done():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), s.stop(ctx))
	case <-t.C:
		return errors.Join(fmt.Errorf("the server does not shut down within %v", cleanTimeout), s.stop(ctx))
	}
	if err := s.proc.Err(); err != nil {
		return fmt.Errorf("no clean shutdown: %w%w", err, plain.Output(lastLines(s.proc.Tail(), 15)))
	}
	return s.ended()
}

// wake starts a server that was stopped, or that has died by itself. The other processes of a dead one notice that
// within a moment, and keep a new one off until then, because they still use the memory that it would have.
func (s *Server) wake(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		select {
		case <-s.proc.Done():
		default:
			return nil
		}
	}
	for until := time.Now().Add(orphanLimit); ; {
		if err := s.stop(ctx); err != nil { // removes the remains of a dead one
			return err
		}
		err := s.start(ctx)
		if !errors.Is(err, errOrphans) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Describe reads the server's description.
func (s *Server) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Name: "PostgreSQL", Settings: map[string]string{}}
	err := s.admin(ctx, "postgres", func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&d.Version); err != nil {
			return err
		}
		names := []string{
			"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "wal_level", "shared_buffers",
			"work_mem", "effective_cache_size", "max_wal_size", "checkpoint_timeout", "max_connections",
			"autovacuum", "random_page_cost", "jit", "huge_pages", "data_checksums",
		}
		var collate string // a setting up to version 15 only
		if err := conn.QueryRow(ctx, "SELECT datcollate FROM pg_database WHERE datname = 'template0'").Scan(&collate); err != nil {
			return err
		}
		d.Settings["lc_collate"] = collate
		for k := range s.conf.Settings {
			names = append(names, k)
		}
		rows, err := conn.Query(ctx,
			"SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY($1)", names)
		if err != nil {
			return err
		}
		var k, v string
		if _, err = pgx.ForEachRow(rows, []any{&k, &v}, func() error {
			d.Settings[k] = v
			return nil
		}); err != nil {
			return err
		}
		// A database, or a role in it, may have its own values. Others than these names may be secrets of a program.
		rows, err = conn.Query(ctx, `SELECT concat_ws(' ', split_part(c, '=', 1), 'of database ' || d.datname, 'of role ' || r.rolname), substr(c, strpos(c, '=') + 1)
			FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) c LEFT JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole
			WHERE split_part(c, '=', 1) = ANY($1) AND coalesce(d.datname, '') NOT LIKE $2`, names, `%\`+templateMark)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, []any{&k, &v}, func() error {
			d.Settings[k] = v
			return nil
		})
		return err
	})
	if err != nil {
		return lab.ProgramInfo{}, fmt.Errorf("describing PostgreSQL: %w", err)
	}
	d.Settings[lab.ResetSetting] = s.space.String()
	return d, nil
}

// exec runs statements one by one on an administrative connection.
func (s *Server) exec(ctx context.Context, what string, statements ...string) error {
	err := s.admin(ctx, "postgres", func(conn *pgx.Conn) error {
		for _, sql := range statements {
			if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// copyStatements make a database from its snapshot. Before version 15 a file copy is the only way; since
// then the default writes every page to the log instead, which a large database pays at each reset. What ALTER DATABASE
// and GRANT have set is not in the files, and CREATE DATABASE leaves it out.
func (s *Server) copyStatements(name string) []string {
	sql := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(name+templateMark)
	if s.major >= 15 {
		sql += " STRATEGY file_copy"
	}
	is, was := literal(name), literal(name+templateMark)
	return []string{
		sql,
		"INSERT INTO pg_db_role_setting (setdatabase, setrole, setconfig) SELECT d.oid, s.setrole, s.setconfig FROM pg_database d, pg_database t, pg_db_role_setting s " +
			"WHERE d.datname = " + is + " AND t.datname = " + was + " AND s.setdatabase = t.oid",
		"UPDATE pg_database d SET datdba = t.datdba, datacl = t.datacl, datconnlimit = t.datconnlimit FROM pg_database t WHERE d.datname = " + is + " AND t.datname = " + was,
	}
}

// dropStatement drops a database with its connections; WITH (FORCE) is there since version 13.
func dropStatement(name string) string {
	return "DROP DATABASE IF EXISTS " + quote(name) + " WITH (FORCE)"
}

func endConnections(name string) string {
	return "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = " +
		literal(name) + " AND pid <> pg_backend_pid()"
}

// literal quotes a text.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
