package mysql

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

const (
	account      = "plimsoll"       // the account of clients
	readyTimeout = 60 * time.Second // includes a recovery after a kill
	stopTimeout  = 3 * time.Second  // a killed server recovers at its next start
	cleanTimeout = 20 * time.Minute // a clean shutdown before a snapshot, with all that a load left over
	adminTimeout = 20 * time.Minute // one administrative statement
	maxTries     = 4                // starts, when other programs take the port first
	initMark     = "plimsoll.init"  // marks a finished data directory; names the program that made it
)

// A Config configures a server. Only Dir is required.
type Config struct {
	Dir  string // state: data, snapshot, socket, log, journal; made when missing
	CPUs []int  // cores of the server; nil means those of this program
	// Path of the network namespace that the server runs in; empty means that of this program.
	NetNS string
	// IPv4 address that it listens on, and that DSN names; empty means 127.0.0.1. A client that reaches another may
	// log in with the password.
	Addr     string
	Settings map[string]string // server options without dashes, such as innodb_buffer_pool_size; they win over ours
	Data     string            // a directory that Export made; it replaces the server's data by a copy
	Reset    lab.Copying       // how Restore puts Data back; Auto is for all but measurements of it
}

// A Server is a running private server. Its methods may be called by several goroutines; those that
// stop or restart the server wait for each other.
type Server struct {
	conf     Config
	bin      binary
	dir      string // where the state really is
	sockets  string
	uid, gid uint32
	password string
	port     int
	space    *lab.Space // of data and snapshot
	primary  *Server    // of a mirror: the server that it follows

	mu   sync.Mutex
	proc *lab.Process
}

// Start prepares a server on first use of conf.Dir and starts it. It returns when the server answers. When
// it fails, or ctx ends first, nothing of it runs. A server that an earlier, killed program left on the
// same directory is ended first.
func Start(ctx context.Context, conf Config) (*Server, error) {
	s := &Server{conf: conf, password: rand.Text()}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing a MySQL server: %w", err), s.leave(context.WithoutCancel(ctx)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// prepare finds the program and makes the data directory.
func (s *Server) prepare(ctx context.Context) (err error) {
	if s.conf.Dir == "" {
		return errors.New("a state directory is required")
	}
	if err := lab.MkdirState(s.conf.Dir); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	if _, err := lab.Sweep(ctx, s.journal(), stopTimeout); err != nil {
		return err
	}
	s.uid, s.gid = lab.Unprivileged("mysql")
	if s.bin, err = findBinary(ctx); err != nil {
		return err
	}
	if err := lab.Reachable(filepath.Dir(s.bin.path), s.uid); err != nil {
		return err
	}
	if s.dir, err = lab.PrivateDir(s.conf.Dir, s.uid); err != nil {
		return err
	}
	if s.primary != nil { // its data are a copy of the primary's
		s.space, err = lab.NewSpace(ctx, s.dir, 0, lab.Plain)
		return err
	}
	if s.conf.Data != "" {
		return s.adopt(ctx)
	}
	if s.space, err = lab.NewSpace(ctx, s.dir, 0, s.conf.Reset); err != nil {
		return err
	}
	return s.initialize(ctx)
}

func (s *Server) mark() string      { return filepath.Join(s.dir, initMark) }
func (s *Server) journal() string   { return filepath.Join(s.conf.Dir, "mysql.journal") }
func (s *Server) data() string      { return filepath.Join(s.space.Dir(), "data") }
func (s *Server) temporary() string { return filepath.Join(s.dir, "tmp") }
func (s *Server) snapshot() string  { return filepath.Join(s.space.Dir(), "snapshot") }

// initialize makes the data directory, unless a finished one of the same program is there.
func (s *Server) initialize(ctx context.Context) error {
	mark := s.mark()
	if done, err := os.ReadFile(mark); err == nil && string(done) == s.bin.path {
		return s.mendData()
	}
	// The mark first: an unfinished directory must not be taken for a finished one by the program that made the one
	// before.
	for _, old := range []string{mark, s.data(), s.snapshot()} {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("removing an unfinished data directory: %w", err)
		}
	}
	if err := lab.MkdirFor(s.data(), s.uid, s.gid); err != nil {
		return err
	}
	path, args := s.bin.initCommand(s.data())
	env, err := s.environment()
	if err != nil {
		return err
	}
	err = lab.Run(ctx, lab.Spec{
		Name: filepath.Base(path), Path: path, Args: args, Journal: s.journal(),
		Env: env, Dir: s.dir, UID: s.uid, GID: s.gid, CPUs: s.conf.CPUs,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(s.bin.path), 0o600)
}

// adopt begins with data that Export made.
func (s *Server) adopt(ctx context.Context) error {
	mark := s.mark()
	if err := os.RemoveAll(mark); err != nil {
		return fmt.Errorf("removing the data of before: %w", err)
	}
	bytes, err := lab.TreeBytes(s.conf.Data)
	if err != nil {
		return fmt.Errorf("reading the data to begin with: %w", err)
	}
	if s.space, err = lab.NewSpace(ctx, s.dir, max(bytes, 1), s.conf.Reset); err != nil {
		return err
	}
	if err := lab.ReplaceTree(ctx, s.data(), s.conf.Data, &lab.Owner{UID: s.uid, GID: s.gid}); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(s.bin.path), 0o600)
}

// mendData puts the snapshot in place of a data directory that a kill in the middle of Restore left out.
func (s *Server) mendData() error {
	if _, err := os.Stat(s.data()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return lab.ReplaceTree(context.Background(), s.data(), s.snapshot(), nil)
}

// start starts the server and waits until it answers. It holds mu.
func (s *Server) start(ctx context.Context) error {
	for try := 1; ; try++ {
		again, err := s.startOnce(ctx)
		if err == nil || !again || try == maxTries {
			return err
		}
		s.port = 0 // another program was faster: take another port
	}
}

// environment returns the server's environment, with a directory for temporary files of its own: MariaDB removes at
// its start all temporary tables that it finds in that directory, also those of another server that runs.
func (s *Server) environment() ([]string, error) {
	if err := lab.MkdirFor(s.temporary(), s.uid, s.gid); err != nil {
		return nil, err
	}
	return append(s.bin.environment(), "TMPDIR="+s.temporary()), nil
}

// startOnce reports whether a failure is worth another port.
func (s *Server) startOnce(ctx context.Context) (again bool, err error) {
	if err := s.space.Open(ctx); err != nil {
		return false, err
	}
	if s.port == 0 {
		if s.port, err = lab.FreePort(); err != nil {
			return false, err
		}
	}
	if s.sockets, err = lab.SocketDir(s.dir, s.uid, s.gid); err != nil {
		return false, err
	}
	logFile, err := os.OpenFile(filepath.Join(s.dir, "mysql.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false, fmt.Errorf("opening the server's log: %w", err)
	}
	defer logFile.Close()
	settings := map[string]string{
		"datadir": s.data(), "port": strconv.Itoa(s.port), "bind-address": s.addr(),
		"socket": s.socket(), "pid-file": filepath.Join(s.sockets, "pid"),
		"skip-name-resolve": "1", "max-connections": "300", "character-set-server": "utf8mb4",
	}
	if !s.bin.mariadb {
		settings["mysqlx"] = "0"
		settings["basedir"] = s.bin.base
	}
	for k, v := range s.conf.Settings {
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
	env, err := s.environment()
	if err != nil {
		return false, err
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name: filepath.Base(s.bin.path), Path: s.bin.path, Args: args, Env: env, Dir: s.dir,
		Stdout: logFile, Stderr: logFile, UID: s.uid, GID: s.gid, CPUs: s.conf.CPUs, NetNS: s.conf.NetNS, Journal: s.journal(),
		StopSignal: syscall.SIGTERM, StopTimeout: stopTimeout,
	})
	if err != nil {
		return false, err
	}
	s.proc = p
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("no answer within %v", readyTimeout))
	defer cancel()
	for {
		err := s.arm(ctx)
		if err == nil {
			return false, nil
		}
		select {
		case <-p.Done():
			tail := p.Tail()
			return strings.Contains(tail, "Address already in use"),
				fmt.Errorf("%s ended while it started: %w%w", filepath.Base(s.bin.path), p.Err(), plain.Output(lastLines(tail, 15)))
		case <-ctx.Done():
			return false, errors.Join(fmt.Errorf("waiting for %s: %w (last: %w)", filepath.Base(s.bin.path), context.Cause(ctx), err), p.Kill())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) socket() string { return filepath.Join(s.sockets, "s") }

// arm connects through the socket and gives the clients' account this program's password.
func (s *Server) arm(ctx context.Context) error {
	if s.primary != nil {
		return s.follow(ctx) // accounts come with the primary's data
	}
	return s.admin(ctx, func(conn *sql.Conn) error {
		// A fresh MariaDB lets root in without a password from 127.0.0.1 too.
		open, err := column(ctx, conn, "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user "+
			"WHERE user = '' OR (user = 'root' AND host <> 'localhost')")
		if err != nil {
			return err
		}
		for _, who := range open {
			if _, err := conn.ExecContext(ctx, "DROP USER "+who); err != nil {
				return err
			}
		}
		from := "127.0.0.1"
		if s.conf.Addr != "" {
			from = "%"
		}
		who := "'" + account + "'@'" + from + "'"
		for _, stmt := range []string{
			"CREATE USER IF NOT EXISTS " + who,
			"GRANT ALL PRIVILEGES ON *.* TO " + who + " WITH GRANT OPTION",
		} {
			if _, err := conn.ExecContext(ctx, stmt); err != nil {
				return err
			}
		}
		if _, err := conn.ExecContext(ctx, "ALTER USER "+who+" IDENTIFIED BY '"+s.password+"'"); err != nil {
			return errors.New("setting the password was refused")
		}
		return nil
	})
}

// admin runs do on an administrative connection through the socket.
func (s *Server) admin(ctx context.Context, do func(*sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	conf := driver.NewConfig()
	conf.Net, conf.Addr, conf.User, conf.Timeout = "unix", s.socket(), "root", 5*time.Second
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

func (s *Server) addr() string { return cmp.Or(s.conf.Addr, "127.0.0.1") }

// DSN returns the address of a database of this server, password included:
// mysql://user:password@tcp(127.0.0.1:port)/db. Without the scheme it is the form that the Go
// driver takes.
func (s *Server) DSN(db string) string {
	return fmt.Sprintf("mysql://%s:%s@tcp(%s:%d)/%s", account, s.password, s.addr(), s.port, db)
}

// PIDs returns the process id of the server; empty while it is stopped.
func (s *Server) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	select {
	case <-s.proc.Done():
		return nil
	default:
		return []int{s.proc.PID()}
	}
}

// Watched returns the server that runs now for a [lab.Crashes]; it has no PID while the server is stopped.
func (s *Server) Watched() lab.Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return lab.Watched{Kind: lab.KindMySQL}
	}
	w := s.proc.Watched()
	w.Kind = lab.KindMySQL
	return w
}

// Done returns a channel that is closed when the server process that runs now has ended.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return s.proc.Done()
}

// Stop stops the server, within 4 seconds, and at once when ctx has ended. The state stays on disk.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	if s.proc == nil {
		return s.leave(ctx)
	}
	if err := s.proc.Stop(ctx); err != nil {
		return fmt.Errorf("stopping %s: %w", filepath.Base(s.bin.path), err)
	}
	return errors.Join(s.clear(), s.leave(ctx))
}

// leave lets go of the data of a server that has ended; its next start takes it back.
func (s *Server) leave(ctx context.Context) error {
	if s.space == nil {
		return nil
	}
	return s.space.Close(ctx)
}

// clear drops a server that has ended.
func (s *Server) clear() error {
	s.proc = nil
	if err := os.RemoveAll(s.sockets); err != nil {
		return fmt.Errorf("removing the socket: %w", err)
	}
	return nil
}

// lastLines returns the last n lines of s.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
