package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

// CreateDatabase makes an empty database, and replaces one of the same name.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "creating database "+name, "DROP DATABASE IF EXISTS "+quote(name), "CREATE DATABASE "+quote(name))
}

// DropDatabase removes a database. The snapshot, which is one of all databases, stays. A missing
// database is not an error.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "dropping database "+name, "DROP DATABASE IF EXISTS "+quote(name))
}

// Snapshot saves the present state of the whole server for Restore, and restarts the server on the same
// port. It first analyzes the tables of the named database, and it lets the server do all its left-over
// work, so that every run starts with the same statistics for the planner.
func (s *Server) Snapshot(ctx context.Context, name string) error {
	if err := s.settle(ctx, name); err != nil {
		return fmt.Errorf("snapshot of database %s: %w", name, err)
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

// Export copies the data of the whole server to dst, which Config.Data takes, and restarts the server on the same
// port. It shuts it down cleanly for that. When it fails, there is no dst, and the server may be stopped.
func (s *Server) Export(ctx context.Context, dst string) error {
	if err := s.exec(ctx, "exporting the data", "SET GLOBAL innodb_fast_shutdown = 0"); err != nil {
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

// settle analyzes all tables of a database and requests a slow shutdown.
func (s *Server) settle(ctx context.Context, name string) error {
	return s.admin(ctx, func(conn *sql.Conn) error {
		tables, err := column(ctx, conn,
			"SELECT table_name FROM information_schema.tables WHERE table_schema = '"+escape(name)+"' AND table_type = 'BASE TABLE'")
		if err != nil {
			return err
		}
		for _, t := range tables {
			if _, err := column(ctx, conn, "ANALYZE TABLE "+quote(name)+"."+quote(t)); err != nil {
				return fmt.Errorf("analyzing table %s: %w", t, err)
			}
		}
		_, err = conn.ExecContext(ctx, "SET GLOBAL innodb_fast_shutdown = 0")
		return err
	})
}

// stopCleanly waits longer for the server's end than Stop, and fails when the end was not clean.
func (s *Server) stopCleanly(ctx context.Context) error {
	if s.proc == nil {
		return errors.New("the server is stopped")
	}
	if err := s.proc.Signal(syscall.SIGTERM); err != nil {
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
	return s.clear()
}

// Restore makes the whole server equal to its snapshot and restarts it on the same port. Connections
// are cut. A stopped server is started.
func (s *Server) Restore(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.space.Open(ctx); err != nil {
		return fmt.Errorf("restoring database %s: %w", name, err)
	}
	if _, err := os.Stat(s.snapshot()); err != nil {
		return fmt.Errorf("restoring database %s: there is no snapshot of it: %w", name, err)
	}
	if s.proc != nil {
		if err := s.proc.Kill(); err != nil {
			return fmt.Errorf("restoring database %s: %w", name, err)
		}
		if err := s.clear(); err != nil {
			return fmt.Errorf("restoring database %s: %w", name, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("restoring database %s: %w", name, context.Cause(ctx))
	}
	if err := lab.ReplaceTree(ctx, s.data(), s.snapshot(), nil); err != nil {
		return fmt.Errorf("restoring database %s: %w", name, err)
	}
	return s.start(ctx)
}

// described are the settings that change the speed or safety of a server of this family; each server has
// some of them.
var described = []string{
	"innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_doublewrite", "sync_binlog", "log_bin",
	"innodb_buffer_pool_size", "innodb_log_file_size", "innodb_redo_log_capacity", "innodb_io_capacity",
	"innodb_use_native_aio", "innodb_adaptive_hash_index", "max_connections", "thread_handling",
	"transaction_isolation", "tx_isolation", "character_set_server", "collation_server", "query_cache_type",
	"innodb_stats_persistent", "tmp_table_size", "performance_schema",
}

// Describe reads the server's description.
func (s *Server) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Name: "MySQL", Settings: map[string]string{}}
	wanted := map[string]bool{}
	for _, k := range described {
		wanted[k] = true
	}
	for k := range s.conf.Settings {
		wanted[strings.ReplaceAll(k, "-", "_")] = true
	}
	err := s.admin(ctx, func(conn *sql.Conn) error {
		if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&d.Version); err != nil {
			return err
		}
		if strings.Contains(d.Version, "MariaDB") {
			d.Name = "MariaDB"
		}
		rows, err := conn.QueryContext(ctx, "SHOW GLOBAL VARIABLES")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k, v string
			if err := rows.Scan(&k, &v); err != nil {
				return err
			}
			if wanted[k] {
				d.Settings[k] = v
			}
		}
		return rows.Err()
	})
	if err != nil {
		return lab.ProgramInfo{}, fmt.Errorf("describing a MySQL server: %w", err)
	}
	d.Settings[lab.ResetSetting] = s.space.String()
	return d, nil
}

// exec runs statements one by one on an administrative connection.
func (s *Server) exec(ctx context.Context, what string, statements ...string) error {
	err := s.admin(ctx, func(conn *sql.Conn) error {
		for _, stmt := range statements {
			if _, err := conn.ExecContext(ctx, stmt); err != nil {
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

// column returns the first column of a query's rows.
func column(ctx context.Context, conn *sql.Conn, query string) ([]string, error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	cells := make([]any, len(names))
	for i := range cells {
		cells[i] = new(sql.RawBytes)
	}
	var out []string
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return nil, err
		}
		out = append(out, string(*cells[0].(*sql.RawBytes)))
	}
	return out, rows.Err()
}

// quote makes an identifier of a name.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// escape makes the inside of a string literal, for servers in their default SQL mode.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s)
}
