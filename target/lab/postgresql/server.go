package postgresql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

const (
	role         = "plimsoll"        // the superuser of a private server
	settingsFile = "plimsoll.initdb" // marks a data directory whose initdb ended well
	oldest       = 13                // major version
)

// A Config configures a server. Only Dir is required.
type Config = database.Config

// A Server is a running private server.
type Server = database.Server

// Start starts a server, see [database.Start].
func Start(ctx context.Context, conf Config) (*Server, error) {
	return database.Start(ctx, new(programs).product(), conf)
}

// programs are the product's. Dir is their directory.
type programs struct{ dir string }

func (p *programs) product() database.Product {
	return database.Product{
		Title:   "PostgreSQL",
		Replica: "a standby of PostgreSQL",
		Kind:    lab.KindPostgreSQL,
		User:    "postgres",
		Mark:    settingsFile,
		Create:  "CREATE DATABASE %s TEMPLATE template0",
		Drop:    drop,
		Orphans: "pre-existing shared memory block",
		Keep:    keep,
		PutBack: putBack,
		Flush:   "CHECKPOINT", // the writes of a clean shutdown, before sessions end
		Quote:   quote,
		Stop:    syscall.SIGINT, // "fast": ends sessions, writes a checkpoint
		// "immediate": its shared memory goes with it, in /dev/shm and beyond
		Quit:            true,
		Find:            p.find,
		Fits:            p.fits,
		Init:            p.initdb,
		Serve:           p.serve,
		Arm:             p.arm,
		Clear:           removeMemory,
		DSN:             dsn,
		Exec:            execute,
		Analyze:         analyze,
		Describe:        describe,
		Client:          p.psql,
		ReplicaSettings: func(int) (map[string]string, error) { return nil, nil },
		Position:        position,
		Reached:         reached,
	}
}

func (p *programs) find(ctx context.Context) (found database.Programs, err error) {
	if p.dir == "" {
		if p.dir, err = findBinaries(ctx); err != nil {
			return found, err
		}
	}
	return database.Programs{Name: "PostgreSQL", Path: p.dir, Dir: p.dir}, nil
}

// fits returns an error unless the programs are of the same major version as those that wrote the
// data.
func (p *programs) fits(ctx context.Context, data string) error {
	wrote, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("reading the data to begin with: %w", err)
	}
	here, err := versionHere(ctx, p.dir)
	if err != nil {
		return err
	}
	want := strings.TrimSpace(string(wrote))
	if here != want && !strings.HasPrefix(here, want+".") && !strings.HasPrefix(here, want+" ") {
		return fmt.Errorf(
			"the data to begin with is of PostgreSQL %s, but postgres (PostgreSQL) %s is here; "+
				"install that version, or make the data again",
			want,
			here,
		)
	}
	return nil
}

// versionHere returns the version of the programs in a directory.
func versionHere(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking PostgreSQL for its version: %w", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "postgres (PostgreSQL)")), nil
}

// initdb returns its command. The C locale exists everywhere and sorts the same everywhere.
// initdb's own sync is left out: a data directory that a crash of the machine left half written
// lacks the mark, and is created again.
func (p *programs) initdb(in *database.View) (lab.Spec, error) {
	return lab.Spec{
		Name: "initdb",
		Path: filepath.Join(p.dir, "initdb"),
		Args: []string{"-D", in.DataDir, "-U", role, "--encoding=UTF8", "--locale=C", "--no-sync",
			"--auth-local=trust", "--auth-host=scram-sha-256"},
		Env: environment(),
	}, nil
}

// environment returns the programs' environment, without our variables that could change them, such
// as PGDATA.
func environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}

// serve removes what a killed server left, and returns the server's command.
func (p *programs) serve(in *database.View) (lab.Spec, error) {
	if err := removeStaleLock(in.DataDir); err != nil {
		return lab.Spec{}, err
	}
	settings := map[string]string{
		"listen_addresses": in.Host(), "port": strconv.Itoa(in.Port),
		"unix_socket_directories": in.SocketDir, "max_connections": "300",
		"logging_collector": "off", "log_timezone": "UTC", "timezone": "UTC",
	}
	if p.counts() {
		settings["shared_preload_libraries"] = counting
		settings["pg_stat_statements.save"] = "off"
	}
	if in.Addr != "" {
		hba := filepath.Join(in.StateDir, "hba.conf")
		lines := "local all all trust\nhost all all all scram-sha-256\n" +
			"host replication all all scram-sha-256\n"
		if err := in.Give(hba, lines); err != nil {
			return lab.Spec{}, fmt.Errorf("saving who may log in: %w", err)
		}
		settings["hba_file"] = hba
	}
	if in.Primary != nil {
		if err := follow(in, settings); err != nil {
			return lab.Spec{}, err
		}
	}
	maps.Copy(settings, in.Settings)
	args := []string{"-D", in.DataDir}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", k+"="+settings[k])
	}
	path := filepath.Join(p.dir, "postgres")
	return lab.Spec{Name: "postgres", Path: path, Args: args, Env: environment()}, nil
}

// counting is the library that counts statements, and the name of its extension.
const counting = "pg_stat_statements"

// counts reports whether the programs have the library; it is a package of its own in some
// distributions.
func (p *programs) counts() bool {
	for _, dir := range []string{"../lib", "../lib/postgresql", "../lib64"} {
		if _, err := os.Stat(filepath.Join(p.dir, dir, counting+".so")); err == nil {
			return true
		}
	}
	return false
}

// removeStaleLock removes the lock file of a killed server. The server itself keeps off whenever
// the pid in it exists, be it a zombie that is never reaped, as in containers without an init, or a
// stranger.
func removeStaleLock(data string) error {
	lock := filepath.Join(data, "postmaster.pid")
	b, err := os.ReadFile(lock)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the server's lock file: %w", err)
	}
	pid, _, _ := strings.Cut(string(b), "\n")
	// Our servers name their data directory on their command line; a zombie's command line is
	// empty.
	cmdline, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/cmdline")
	if err == nil && strings.Contains(string(cmdline), data) {
		return nil // the server will report it better
	}
	if err := removeMemory(data); err != nil {
		return err
	}
	if err := os.Remove(lock); err != nil {
		return fmt.Errorf("removing the lock file of a killed server: %w", err)
	}
	return nil
}

// arm makes sure that this is our server, and sets this program's password. The view of statements
// is in the database postgres: nothing is added to one under test.
func (p *programs) arm(ctx context.Context, in *database.View) error {
	return admin(ctx, in, "postgres", func(conn *pgx.Conn) error {
		if v := major(conn); v < oldest {
			return fmt.Errorf("version %d is too old; want %d or later", v, oldest)
		}
		if in.Primary != nil {
			return nil // the password comes with the primary's data
		}
		// A statement that is interrupted would be logged with the password in it.
		quiet := []string{"SET log_min_error_statement = panic", "SET log_statement = 'none'"}
		if p.counts() { // its texts are in a file
			quiet = append(quiet, "SET "+counting+".track = 'none'")
		}
		if err := run(ctx, conn, quiet); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "ALTER ROLE "+role+" PASSWORD '"+in.Password+"'"); err != nil {
			return errors.New("setting the password was refused")
		}
		if !p.counts() {
			return nil
		}
		_, err := conn.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS "+counting)
		return err
	})
}

// admin runs do on an administrative connection through the socket.
func admin(ctx context.Context, in *database.View, db string, do func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, database.AdminTimeout)
	defer cancel()
	conf, err := pgx.ParseConfig("sslmode=disable")
	if err != nil {
		return err
	}
	conf.Host, conf.Port = in.SocketDir, uint16(in.Port)
	conf.User = role
	conf.Database = db
	conf.Password = ""
	conf.ConnectTimeout = 5 * time.Second
	conf.Fallbacks = nil
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	return do(conn)
}

// execute runs statements one by one.
func execute(ctx context.Context, in *database.View, statements ...string) error {
	return admin(ctx, in, "postgres", func(conn *pgx.Conn) error {
		return run(ctx, conn, statements)
	})
}

func run(ctx context.Context, conn *pgx.Conn, statements []string) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil { // without arguments by the simple protocol
			return err
		}
	}
	return nil
}

// analyze vacuums, too: a run begins without left-over work.
func analyze(ctx context.Context, in *database.View, db string) error {
	return admin(ctx, in, db, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "VACUUM (ANALYZE)")
		return err
	})
}

// dsn returns postgres://user:password@127.0.0.1:port/db?sslmode=disable.
func dsn(in *database.View, db string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(role, in.Password),
		Host:     in.Host() + ":" + strconv.Itoa(in.Port),
		Path:     "/" + db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
