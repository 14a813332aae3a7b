package postgresql

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// described are the settings that change the speed or safety of a server.
var described = strings.Fields(`
	fsync synchronous_commit full_page_writes wal_sync_method wal_level
	shared_buffers work_mem effective_cache_size max_wal_size checkpoint_timeout
	max_connections autovacuum random_page_cost jit huge_pages data_checksums
`)

// ownSettings reads the settings that a database has, or a role in it. Names other than the
// described ones may be secrets of a program.
const ownSettings = `SELECT concat_ws(' ', split_part(c, '=', 1),
		'of database ' || d.datname, 'of role ' || r.rolname), substr(c, strpos(c, '=') + 1)
	FROM pg_db_role_setting s
	CROSS JOIN unnest(s.setconfig) c
	LEFT JOIN pg_database d ON d.oid = s.setdatabase
	LEFT JOIN pg_roles r ON r.oid = s.setrole
	WHERE split_part(c, '=', 1) = ANY($1) AND coalesce(d.datname, '') NOT LIKE '%\` + templateMark + `'`

func describe(ctx context.Context, in *database.View) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Name: "PostgreSQL", Settings: map[string]string{}}
	err := admin(ctx, in, "postgres", func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&d.Version); err != nil {
			return err
		}
		// A setting up to version 15 only.
		const collation = "SELECT datcollate FROM pg_database WHERE datname = 'template0'"
		var collate string
		if err := conn.QueryRow(ctx, collation).Scan(&collate); err != nil {
			return err
		}
		d.Settings["lc_collate"] = collate
		names := append([]string(nil), described...)
		for k := range in.Settings {
			names = append(names, k)
		}
		const current = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY($1)"
		for _, query := range []string{current, ownSettings} {
			rows, err := conn.Query(ctx, query, names)
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
		}
		return nil
	})
	return d, err
}
