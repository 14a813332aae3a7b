package postgresql

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// Backup copies the data of a running server that another has started, all its databases, to a new
// directory below dir, which Config.Data takes; it returns that directory and the server's version.
// It uses pg_basebackup of the system's install, over the network, and the server goes on
// meanwhile. The user in the DSN needs the attribute REPLICATION. Settings, rules of access and the
// log of the server are left out of the copy. The DSN is in no error.
func Backup(ctx context.Context, dsn, dir string) (data, version string, err error) {
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", "", errors.New(
			"the DSN is no address of a PostgreSQL server; want postgres://user:password@host:port/database",
		)
	}
	bin, err := findBinaries(ctx)
	if err != nil {
		return "", "", err
	}
	program, err := database.FindClient(bin, "postgresql", "pg_basebackup")
	if err != nil {
		return "", "", err
	}
	if version, err = fit(ctx, conf, bin); err != nil {
		return "", "", err
	}
	uid, gid := lab.Unprivileged("postgres")
	home, err := lab.PrivateDir(dir, uid)
	if err != nil {
		return "", "", err
	}
	data = filepath.Join(home, "backup")
	if err := lab.MkdirFor(data, uid, gid); err != nil {
		return "", "", err
	}
	run := lab.Spec{
		Name: "pg_basebackup",
		Path: program,
		Dir:  home,
		UID:  uid,
		GID:  gid,
		Env:  append(environment(), connection(conf, dsn)...),
		Args: []string{"-D", data, "-X", "stream", "-c", "fast", "--no-password"},
	}
	if err := lab.Run(ctx, run); err != nil {
		return "", "", fmt.Errorf(
			"%w\nthe user needs the attribute REPLICATION, and the server's pg_hba.conf a line for the database replication",
			hide(err, conf.Password),
		)
	}
	return data, version, own(ctx, bin, data, uid, gid)
}

// fit makes sure that a server's data can be used by the programs here, and returns its version.
func fit(ctx context.Context, conf *pgx.ConnConfig, bin string) (version string, err error) {
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return "", fmt.Errorf("connecting to the server: %w", hide(err, conf.Password))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var spaces int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version'), (SELECT count(*) FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global'))").
		Scan(&version, &spaces); err != nil {
		return "", fmt.Errorf("reading the server's version: %w", err)
	}
	if spaces > 0 {
		return "", fmt.Errorf(
			"the server has %d tablespaces of its own, outside its data directory; write a dump with pg_dump, and use data restore",
			spaces,
		)
	}
	here, err := versionHere(ctx, bin)
	if err != nil {
		return "", err
	}
	if first(here) != first(version) {
		return "", fmt.Errorf(
			"the server is PostgreSQL %s, and %s is installed here; install that major version, or write a dump with pg_dump and use data restore",
			version,
			here,
		)
	}
	return version, nil
}

// first returns the first number of a version.
func first(version string) string {
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return version
	}
	return version[:end]
}

// connection returns the address of a server as the environment of libpq's programs: arguments are
// visible to all.
func connection(conf *pgx.ConnConfig, dsn string) []string {
	env := []string{
		"PGHOST=" + conf.Host,
		"PGPORT=" + strconv.Itoa(int(conf.Port)),
		"PGUSER=" + conf.User,
		"PGPASSWORD=" + conf.Password,
		"PGCONNECT_TIMEOUT=10",
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return env // of words: libpq's defaults
	}
	for name, variable := range map[string]string{
		"sslmode":     "PGSSLMODE",
		"sslrootcert": "PGSSLROOTCERT",
		"sslcert":     "PGSSLCERT",
		"sslkey":      "PGSSLKEY",
	} {
		if v := u.Query().Get(name); v != "" {
			env = append(env, variable+"="+v)
		}
	}
	return env
}

// hide takes a password out of an error.
func hide(err error, password string) error {
	if password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "***"))
}

// own makes a backup startable by Start: with no settings of where it came from, recovered, with
// our role, and without a subscription that is on: its worker would take the changes that are for
// the server of the backup.
func own(ctx context.Context, bin, data string, uid, gid uint32) error {
	for name, text := range map[string]string{
		"postgresql.conf": "", "postgresql.auto.conf": "", "pg_ident.conf": "",
		"pg_hba.conf": "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
	} {
		if err := (&database.View{
			UID: uid,
			GID: gid,
		}).Give(filepath.Join(data, name), text); err != nil {
			return fmt.Errorf("preparing the backup: %w", err)
		}
	}
	for _, name := range []string{"standby.signal", "recovery.signal"} {
		if err := os.RemoveAll(filepath.Join(data, name)); err != nil {
			return fmt.Errorf("preparing the backup: %w", err)
		}
	}
	// A server of one process has no roles to check. It reports a role that exists, and goes on.
	err := lab.Run(ctx, lab.Spec{
		Name: "postgres --single",
		Path: filepath.Join(bin, "postgres"),
		Dir:  data,
		Env:  environment(),
		UID:  uid,
		GID:  gid,
		Args: []string{"--single", "-D", data, "postgres"},
		Stdin: strings.NewReader(
			"CREATE ROLE " + role + "\nALTER ROLE " + role + " SUPERUSER LOGIN\nUPDATE pg_subscription SET subenabled = false\n",
		),
	})
	if err != nil {
		return fmt.Errorf("recovering the backup: %w", err)
	}
	return nil
}
