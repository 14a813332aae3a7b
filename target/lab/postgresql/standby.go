package postgresql

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab/database"
)

// ForStandbys are the settings that a server needs which has standbys: so much of its log stays
// that they find it after a restart.
func ForStandbys() map[string]string { return map[string]string{"wal_keep_size": "1GB"} }

// StandbyName returns the application name under which a primary knows its standby number index.
func StandbyName(index int) string { return fmt.Sprintf("replica_%d", index) }

// follow makes a standby of a copy of the primary's data, and adds the settings by which it finds
// its primary.
func follow(in *database.View, settings map[string]string) error {
	if err := in.Give(filepath.Join(in.DataDir, "standby.signal"), ""); err != nil {
		return err
	}
	passfile := filepath.Join(in.StateDir, "primary.pass")
	if err := in.Give(passfile, "*:*:*:"+role+":"+in.Password+"\n"); err != nil {
		return err
	}
	settings["primary_conninfo"] = fmt.Sprintf(
		"host=%s port=%d user=%s application_name=%s sslmode=disable passfile='%s'",
		in.Primary.Host(), in.Primary.Port, role, StandbyName(in.Index),
		strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(passfile))
	return nil
}

func position(ctx context.Context, primary *database.View) (end string, err error) {
	err = admin(ctx, primary, "postgres", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&end)
	})
	return end, err
}

func reached(ctx context.Context, standby *database.View, end string) (there bool, err error) {
	const query = "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false)"
	err = admin(ctx, standby, "postgres", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query, end).Scan(&there)
	})
	return there, err
}
