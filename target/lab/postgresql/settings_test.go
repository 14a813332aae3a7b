package postgresql_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/postgresql"
)

// TestResetKeepsWhatTheDatabaseHas: settings, rights and owner of a database are not in its files,
// and runs are made with them all the same, at the first one and after a reset, which also drops
// those of the run before.
func TestResetKeepsWhatTheDatabaseHas(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
	failure.None(t, s.CreateDatabase(ctx, "it's chat"))
	exec(
		t,
		ctx,
		s.DSN("postgres"),
		"CREATE ROLE mmuser LOGIN",
		`ALTER DATABASE "it's chat" SET search_path = "$user", chat, public`,
		`ALTER DATABASE "it's chat" SET work_mem = '7MB'`,
		`ALTER ROLE mmuser IN DATABASE "it's chat" SET jit = off`,
		`ALTER DATABASE "it's chat" OWNER TO mmuser`,
		`REVOKE CONNECT ON DATABASE "it's chat" FROM PUBLIC`,
	)
	look := func(when string) {
		t.Helper()
		conn, err := pgx.Connect(ctx, s.DSN("it's chat"))
		failure.None(t, err)
		defer conn.Close(ctx)
		var path, memory, owner, ofRole string
		var open bool
		if err := conn.QueryRow(ctx, `SELECT current_setting('search_path'), current_setting('work_mem'), datdba::regrole::text, has_database_privilege('public', oid, 'CONNECT'),
			COALESCE((SELECT setconfig::text FROM pg_db_role_setting WHERE setdatabase = d.oid AND setrole = 'mmuser'::regrole), '') FROM pg_database d WHERE datname = current_database()`).
			Scan(&path, &memory, &owner, &open, &ofRole); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if path != `"$user", chat, public` || memory != "7MB" || owner != "mmuser" || open ||
			ofRole != "{jit=off}" {
			t.Errorf(
				"%s: search_path %s, work_mem %s, owner %s, open to all %v, of the role %s",
				when,
				path,
				memory,
				owner,
				open,
				ofRole,
			)
		}
	}
	look("before the snapshot")
	failure.None(t, s.Snapshot(ctx, "it's chat"))
	look("after the snapshot")
	d, err := s.Describe(ctx)
	failure.None(t, err)
	maps.DeleteFunc(d.Settings, func(name, _ string) bool { return !strings.Contains(name, " ") })
	if want := map[string]string{
		"work_mem of database it's chat":           "7MB",
		"jit of database it's chat of role mmuser": "off",
	}; !maps.Equal(d.Settings, want) {
		t.Errorf("own settings are described as %v, want %v", d.Settings, want)
	}
	exec(
		t,
		ctx,
		s.DSN("postgres"),
		`ALTER DATABASE "it's chat" SET work_mem = '9MB'`,
		`ALTER DATABASE "it's chat" SET seq_page_cost = 2`,
	)
	for range 2 {
		failure.None(t, s.Restore(ctx, "it's chat"))
		look("after a reset")
		if n := count(t, ctx, s.DSN("postgres"), "SELECT count(*) FROM pg_db_role_setting WHERE 'seq_page_cost=2' = ANY(setconfig)"); n != 0 {
			t.Error("a setting of the run before survived the reset")
		}
	}
}
