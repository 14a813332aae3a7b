package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/target/lab/database"
)

// ForMirrors are the settings that a server needs which has mirrors: the log that they read.
func ForMirrors() map[string]string {
	return map[string]string{"log-bin": "binlog", "server-id": "1"}
}

func (p *program) mirrorSettings(index int) (map[string]string, error) {
	if !p.mariadb {
		return nil, errors.New("the server is a MySQL, and mirrors are MariaDBs alone; " +
			"install mariadb-server, or do without replicas")
	}
	return map[string]string{
		"log-bin": "binlog", "server-id": strconv.Itoa(2 + index),
		"read-only": "1", "skip-slave-start": "1",
	}, nil
}

// follow begins to repeat the primary's changes. The copy's own log ends where the primary's did at
// the copy.
func follow(ctx context.Context, in *database.View) error {
	return admin(ctx, in, func(conn *sql.Conn) error {
		var at string
		err := conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&at)
		if err != nil {
			return err
		}
		from := []string{"STOP SLAVE", "SET GLOBAL gtid_slave_pos = '" + escape(at) + "'"}
		if err := run(ctx, conn, from); err != nil {
			return fmt.Errorf("beginning to follow: %w", err)
		}
		to := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', "+
			"MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1",
			in.Primary.Host(), in.Primary.Port, account, in.Password)
		if _, err := conn.ExecContext(ctx, to); err != nil { // the error may quote the statement
			return errors.New("beginning to follow: the address of the primary was refused")
		}
		_, err = conn.ExecContext(ctx, "START SLAVE")
		return err
	})
}

func position(ctx context.Context, primary *database.View) (end string, err error) {
	err = admin(ctx, primary, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_pos").Scan(&end)
	})
	return end, err
}

// reached waits for at most a second.
func reached(ctx context.Context, in *database.View, end string) (there bool, err error) {
	late := 0
	if err := admin(ctx, in, func(conn *sql.Conn) error {
		query := "SELECT MASTER_GTID_WAIT('" + escape(end) + "', 1)"
		return conn.QueryRowContext(ctx, query).Scan(&late)
	}); err != nil {
		return false, err
	}
	if late == 0 {
		return true, nil
	}
	if why := stuck(ctx, in); why != "" {
		return false, fmt.Errorf("it does not follow: %s", why)
	}
	return false, nil
}

// stuck returns the error that has ended the repeating of changes; empty if none has.
func stuck(ctx context.Context, in *database.View) (why string) {
	_ = admin(ctx, in, func(conn *sql.Conn) error {
		return eachRow(ctx, conn, "SHOW SLAVE STATUS", func(names []string, cells []sql.RawBytes) {
			for i, name := range names {
				if name == "Last_SQL_Error" || name == "Last_IO_Error" {
					why = strings.TrimSpace(why + " " + string(cells[i]))
				}
			}
		})
	})
	return strings.ReplaceAll(why, in.Password, "(secret)")
}
