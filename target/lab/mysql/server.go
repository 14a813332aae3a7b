package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

const (
	account  = "plimsoll"      // the account of clients
	initMark = "plimsoll.init" // marks a finished data directory; names the program that made it
)

// A Config configures a server. Only Dir is required. Settings are server options without dashes,
// such as innodb_buffer_pool_size.
type Config = database.Config

// A Server is a running private server.
type Server = database.Server

// Start starts a server, see [database.Start].
func Start(ctx context.Context, conf Config) (*Server, error) {
	return database.Start(ctx, new(program).product(), conf)
}

// A program is the product's, once it was found.
type program struct{ binary }

func (p *program) product() database.Product {
	return database.Product{
		Title:           "a MySQL server",
		Replica:         "a mirror of MariaDB",
		Kind:            lab.KindMySQL,
		User:            "mysql",
		Mark:            initMark,
		Create:          "CREATE DATABASE %s",
		Drop:            drop,
		Flush:           "SET GLOBAL innodb_fast_shutdown = 0", // does all left-over work
		Quote:           quote,
		Stop:            syscall.SIGTERM,
		Find:            p.find,
		Init:            p.initialize,
		Serve:           p.serve,
		Arm:             arm,
		DSN:             dsn,
		Exec:            execute,
		Analyze:         analyze,
		Describe:        describe,
		Client:          p.script,
		ReplicaSettings: p.mirrorSettings,
		Position:        position,
		Reached:         reached,
	}
}

// find finds the server program: one of the system's, else one obtained.
func (p *program) find(ctx context.Context) (found database.Programs, err error) {
	if p.path == "" {
		path := installed()
		if path == "" {
			if path, err = obtain(ctx); err != nil {
				return found, err
			}
		}
		if p.binary, err = inspect(ctx, path); err != nil {
			return found, err
		}
	}
	name, dir := filepath.Base(p.path), filepath.Dir(p.path)
	return database.Programs{Name: name, Path: p.path, Dir: dir}, nil
}

func (p *program) initialize(in *database.View) (lab.Spec, error) {
	path, args := p.initCommand(in.DataDir)
	env, err := p.environmentIn(in)
	return lab.Spec{Name: filepath.Base(path), Path: path, Args: args, Env: env}, err
}

// environmentIn returns the server's environment, with a directory for temporary files of its own:
// MariaDB removes at its start all temporary tables that it finds in that directory, also those of
// another server that runs.
func (p *program) environmentIn(in *database.View) ([]string, error) {
	temporary := filepath.Join(in.StateDir, "tmp")
	if err := lab.MkdirFor(temporary, in.UID, in.GID); err != nil {
		return nil, err
	}
	return append(p.environment(), "TMPDIR="+temporary), nil
}

func (p *program) serve(in *database.View) (lab.Spec, error) {
	settings := map[string]string{
		"datadir": in.DataDir, "port": strconv.Itoa(in.Port), "bind-address": in.Host(),
		"socket": socket(in), "pid-file": filepath.Join(in.SocketDir, "pid"),
		"skip-name-resolve": "1", "max-connections": "300", "character-set-server": "utf8mb4",
	}
	maps.Copy(settings, counting())
	if !p.mariadb {
		settings["mysqlx"] = "0"
		settings["basedir"] = p.base
	}
	for k, v := range in.Settings {
		settings[strings.ReplaceAll(k, "_", "-")] = v
	}
	args := []string{"--no-defaults"}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		if settings[k] == "" {
			args = append(args, "--"+k)
			continue
		}
		args = append(args, "--"+k+"="+settings[k])
	}
	env, err := p.environmentIn(in)
	return lab.Spec{Name: filepath.Base(p.path), Path: p.path, Args: args, Env: env}, err
}

// counting returns the settings that have statements counted by digest and nothing else: with its
// other tables performance_schema takes 80 MB more of a MariaDB, and with these 28 MB. The two
// settings of instruments are read in the order of their names here. A server ignores settings with
// loose- that it lacks.
func counting() map[string]string {
	out := map[string]string{
		"performance-schema":                  "ON",
		"performance-schema-digests-size":     "2000",
		"loose-performance-schema-instrument": "%=OFF",
		"performance-schema-instrument":       "statement/%=ON",
		// without which a MariaDB does not count what clients have prepared
		"performance-schema-consumer-events-statements-current": "ON",
	}
	for kind := range strings.FieldsSeq("events-stages-history events-statements-history " +
		"events-transactions-history events-waits-history") {
		out["loose-performance-schema-"+kind+"-size"] = "0"
		out["loose-performance-schema-"+kind+"-long-size"] = "0"
	}
	for kind := range strings.FieldsSeq("max-cond-instances max-file-instances " +
		"max-mutex-instances max-rwlock-instances max-table-handles max-table-instances " +
		"max-socket-instances max-metadata-locks " +
		"max-program-instances max-memory-classes max-stage-classes accounts-size hosts-size " +
		"users-size session-connect-attrs-size") {
		out["loose-performance-schema-"+kind] = "0"
	}
	return out
}

func socket(in *database.View) string { return filepath.Join(in.SocketDir, "s") }

// arm gives the clients' account this program's password.
func arm(ctx context.Context, in *database.View) error {
	if in.Primary != nil {
		return follow(ctx, in) // accounts come with the primary's data
	}
	return admin(ctx, in, func(conn *sql.Conn) error {
		// A fresh MariaDB lets root in without a password from 127.0.0.1 too.
		open, err := column(
			ctx,
			conn,
			"SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user "+
				"WHERE user = '' OR (user = 'root' AND host <> 'localhost')",
		)
		if err != nil {
			return err
		}
		var statements []string
		for _, who := range open {
			statements = append(statements, "DROP USER "+who)
		}
		from := "127.0.0.1"
		if in.Addr != "" {
			from = "%"
		}
		who := "'" + account + "'@'" + from + "'"
		statements = append(statements, "CREATE USER IF NOT EXISTS "+who,
			"GRANT ALL PRIVILEGES ON *.* TO "+who+" WITH GRANT OPTION")
		if err := run(ctx, conn, statements); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, "ALTER USER "+who+" IDENTIFIED BY '"+in.Password+"'"); err != nil {
			return errors.New("setting the password was refused")
		}
		return nil
	})
}

// admin runs do on an administrative connection through the socket. The account root has no
// password and can log in there only.
func admin(ctx context.Context, in *database.View, do func(*sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, database.AdminTimeout)
	defer cancel()
	conf := driver.NewConfig()
	conf.Net, conf.Addr = "unix", socket(in)
	conf.User, conf.Timeout = "root", 5*time.Second
	conf.Logger = &driver.NopLogger{} // failures come back as errors
	connector, err := driver.NewConnector(conf)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// dsn returns mysql://user:password@tcp(127.0.0.1:port)/db. Without the scheme it is the form that
// the Go driver takes.
func dsn(in *database.View, db string) string {
	return fmt.Sprintf("mysql://%s:%s@tcp(%s:%d)/%s", account, in.Password, in.Host(), in.Port, db)
}

// execute runs statements one by one.
func execute(ctx context.Context, in *database.View, statements ...string) error {
	return admin(ctx, in, func(conn *sql.Conn) error { return run(ctx, conn, statements) })
}

func run(ctx context.Context, conn *sql.Conn, statements []string) error {
	for _, stmt := range statements {
		if _, err := conn.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// analyze analyzes all tables of a database.
func analyze(ctx context.Context, in *database.View, db string) error {
	return admin(ctx, in, func(conn *sql.Conn) error {
		tables, err := column(ctx, conn, "SELECT table_name FROM information_schema.tables "+
			"WHERE table_schema = '"+escape(db)+"' AND table_type = 'BASE TABLE'")
		if err != nil {
			return err
		}
		for _, t := range tables {
			if _, err := column(ctx, conn, "ANALYZE TABLE "+quote(db)+"."+quote(t)); err != nil {
				return fmt.Errorf("analyzing table %s: %w", t, err)
			}
		}
		return nil
	})
}

// column returns the first cells of the rows of an answer.
func column(ctx context.Context, conn *sql.Conn, query string) (out []string, err error) {
	err = eachRow(ctx, conn, query, func(_ []string, cells []sql.RawBytes) {
		out = append(out, string(cells[0]))
	})
	return out, err
}

// eachRow calls do with the cells of every row of an answer and the names of their columns.
func eachRow(
	ctx context.Context, conn *sql.Conn, query string, do func(names []string, cells []sql.RawBytes),
) error {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	cells := make([]sql.RawBytes, len(names))
	to := make([]any, len(names))
	for i := range cells {
		to[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		do(names, cells)
	}
	return rows.Err()
}

func drop(name string) []string { return []string{"DROP DATABASE IF EXISTS " + quote(name)} }

// quote makes an identifier of a name.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// escape makes the inside of a string literal, for servers in their default SQL mode.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s)
}
