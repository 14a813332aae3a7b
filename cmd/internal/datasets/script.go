package datasets

import (
	"context"
	"flag"
	"strings"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/plain"
	"plimsoll/run/deploy/dumps"
)

// A scriptSet are the flags of a restore from a script of SQL.
type scriptSet struct{ engine, database, roles *string }

func scriptFlags(fs *flag.FlagSet) scriptSet {
	return scriptSet{
		engine: fs.String(
			"engine",
			"",
			"a file of SQL: its database engine, where its first lines do not name it",
		),
		database: fs.String("db", "chat", "a file of SQL: `name` of the database to load it into"),
		roles: fs.String(
			"roles",
			"",
			"a file of SQL: roles of PostgreSQL that it names, separated by commas, to make first",
		),
	}
}

// restoreScript loads a script of SQL into a new server and keeps the server's data as a dump.
func restoreScript(
	ctx context.Context,
	a *app.App,
	path, dir string,
	set scriptSet,
	timeout time.Duration,
	asJSON bool,
) error {
	s, err := dumps.OpenSQLFile(path)
	if err != nil {
		return err
	}
	defer s.Close()
	var owners []string
	if *set.roles != "" {
		owners = strings.Split(*set.roles, ",")
	}
	ctx, cancel := timed(ctx, timeout)
	defer cancel()
	m := maker(a)
	defer m.Progress.End()
	began := time.Now()
	d, err := m.RestoreSQL(ctx, s, *set.engine, *set.database, dir, owners)
	if err != nil {
		return err
	}
	x := madeOf(dir, d, began)
	if asJSON {
		return a.JSON(x)
	}
	var rows int64
	for _, t := range x.Tables {
		rows += t.Rows
	}
	a.Printf(
		"%s: %s on %s, %d tables with %s rows, %.2f GB from %.2f GB, loaded in %s s, %.1f s in all, sha256 %s\n",
		dir,
		dumps.Text(d),
		x.Server,
		len(x.Tables),
		plain.Thousands(int(rows)),
		float64(x.Bytes)/1e9,
		float64(s.Size)/1e9,
		d.Manifest.Seconds["load"],
		x.Seconds,
		x.Digest[:12],
	)
	return nil
}
