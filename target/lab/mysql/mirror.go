package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"plimsoll/target/lab"
)

// followTimeout bounds the wait for a mirror that catches up with its primary.
const followTimeout = 2 * time.Minute

// ForMirrors are the settings that a server needs which has mirrors: the log that they read.
func ForMirrors() map[string]string {
	return map[string]string{"log-bin": "binlog", "server-id": "1"}
}

// A Mirror is a running MariaDB that repeats the changes of another one and answers reads. Its methods may be called
// by several goroutines.
type Mirror struct{ s *Server }

// StartMirror makes a copy of primary in conf.Dir, starts it, and returns when it has all that primary has. primary
// must be a MariaDB with the settings [ForMirrors]; for the copy it is restarted on its port, so its connections are
// cut. index, from 0, distinguishes the mirrors of one server.
func StartMirror(ctx context.Context, conf Config, primary *Server, index int) (*Mirror, error) {
	if !primary.bin.mariadb {
		return nil, errors.New("starting a mirror: the server is a MySQL, and mirrors are MariaDBs alone; install mariadb-server, or do without replicas")
	}
	conf.Settings = maps.Clone(conf.Settings)
	if conf.Settings == nil {
		conf.Settings = map[string]string{}
	}
	maps.Copy(conf.Settings, map[string]string{"log-bin": "binlog", "server-id": strconv.Itoa(2 + index), "read-only": "1", "skip-slave-start": "1"})
	s := &Server{conf: conf, password: primary.password, primary: primary}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing a mirror of MariaDB: %w", err)
	}
	f := &Mirror{s}
	if err := f.Follow(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return f, nil
}

// Follow makes the mirror anew of the primary's snapshot, or of its present data where it has none, and returns when
// it has all that the primary has. It is for a primary that has just been restored, or started for the first time:
// what the primary wrote to the log before its snapshot is part of that.
func (f *Mirror) Follow(ctx context.Context) error {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	err := func() error {
		if s.proc != nil {
			if err := errors.Join(s.proc.Kill(), s.clear()); err != nil { // its data is thrown away
				return err
			}
		}
		if err := s.copyPrimary(ctx); err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		return s.caughtUp(ctx)
	}()
	if err != nil {
		return fmt.Errorf("a mirror of MariaDB: %w", err)
	}
	return nil
}

// copyPrimary copies the primary's snapshot, or shuts the primary down, copies its data and starts it again.
func (s *Server) copyPrimary(ctx context.Context) error {
	p, owner := s.primary, &lab.Owner{UID: s.uid, GID: s.gid}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := os.Stat(p.snapshot()); err == nil {
		return lab.ReplaceTree(ctx, s.data(), p.snapshot(), owner)
	}
	if err := p.stopCleanly(ctx); err != nil {
		return fmt.Errorf("copying the data: %w", err)
	}
	err := lab.ReplaceTree(ctx, s.data(), p.data(), owner)
	return errors.Join(err, p.start(ctx))
}

// follow begins to repeat the primary's changes. The copy's own log ends where the primary's did at the copy.
func (s *Server) follow(ctx context.Context) error {
	return s.admin(ctx, func(conn *sql.Conn) error {
		var at string
		if err := conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&at); err != nil {
			return err
		}
		for _, stmt := range []string{"STOP SLAVE", "SET GLOBAL gtid_slave_pos = '" + escape(at) + "'"} {
			if _, err := conn.ExecContext(ctx, stmt); err != nil {
				return fmt.Errorf("beginning to follow: %w", err)
			}
		}
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1",
			s.primary.addr(), s.primary.port, account, s.primary.password)); err != nil {
			return errors.New("beginning to follow: the address of the primary was refused") // the error may quote the statement
		}
		_, err := conn.ExecContext(ctx, "START SLAVE")
		return err
	})
}

// caughtUp waits until the mirror has all that the primary has now.
func (s *Server) caughtUp(ctx context.Context) error {
	var end string
	if err := s.primary.admin(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&end)
	}); err != nil {
		return fmt.Errorf("asking the primary how far it is: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, followTimeout, fmt.Errorf("it has not caught up within %v", followTimeout))
	defer cancel()
	for {
		err := s.admin(ctx, func(conn *sql.Conn) error {
			var late int
			if err := conn.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT('"+escape(end)+"', 1)").Scan(&late); err != nil {
				return err
			}
			if late != 0 {
				return errLate
			}
			return nil
		})
		if !errors.Is(err, errLate) {
			return err
		}
		if why := s.stuck(ctx); why != "" {
			return fmt.Errorf("it does not follow: %s", why)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

var errLate = errors.New("it is behind")

// stuck returns the error that has ended the repeating of changes; empty if none has.
func (s *Server) stuck(ctx context.Context) (why string) {
	_ = s.admin(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, "SHOW SLAVE STATUS")
		if err != nil {
			return err
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil || !rows.Next() {
			return err
		}
		cells := make([]any, len(names))
		for i := range cells {
			cells[i] = new(sql.RawBytes)
		}
		if err := rows.Scan(cells...); err != nil {
			return err
		}
		for i, name := range names {
			if name == "Last_SQL_Error" || name == "Last_IO_Error" {
				why = strings.TrimSpace(why + " " + string(*cells[i].(*sql.RawBytes)))
			}
		}
		return rows.Err()
	})
	return strings.ReplaceAll(why, s.password, "(secret)")
}

// DSN returns the address of a database of the mirror, with the primary's password.
func (f *Mirror) DSN(db string) string { return f.s.DSN(db) }

// Describe reads the mirror's description.
func (f *Mirror) Describe(ctx context.Context) (lab.ProgramInfo, error) { return f.s.Describe(ctx) }

// PIDs is [Server.PIDs].
func (f *Mirror) PIDs() []int { return f.s.PIDs() }

// Watched is [Server.Watched].
func (f *Mirror) Watched() lab.Watched { return f.s.Watched() }

// Stop stops the mirror, within 4 seconds, and at once when ctx has ended.
func (f *Mirror) Stop(ctx context.Context) error { return f.s.Stop(ctx) }
