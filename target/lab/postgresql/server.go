package postgresql

import (
	"cmp"
	"context"
	"crypto/rand"
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
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

const (
	role         = "plimsoll"        // the superuser of a private server
	readyTimeout = 60 * time.Second  // includes a recovery after a kill
	stopTimeout  = 3 * time.Second   // a killed server recovers at its next start
	cleanTimeout = 20 * time.Minute  // a clean shutdown before an export
	adminTimeout = 20 * time.Minute  // one administrative statement, a file copy of a large database included
	orphanLimit  = 20 * time.Second  // until the other processes of a server that died by itself have ended
	maxTries     = 4                 // starts, when other programs take the port first
	templateMark = "_snapshot"       // suffix of the template made from a database
	settingsFile = "plimsoll.initdb" // marks a data directory whose initdb ended well
)

// errOrphans reports that processes of a server that died by itself still use its memory.
var errOrphans = errors.New("processes of the server before are still there")

// A Config configures a server. Only Dir is required.
type Config struct {
	Dir  string // state: data, socket, log, journal; made when missing
	CPUs []int  // cores of the server and all its workers; nil means those of this program
	// Path of the network namespace that the server runs in; empty means that of this program.
	NetNS string
	// IPv4 address that it listens on, and that DSN names; empty means 127.0.0.1. A client that reaches another may
	// log in with the password.
	Addr     string
	Settings map[string]string // server settings, such as shared_buffers; they win over ours
	Data     string            // a directory that Export made; it replaces the server's data by a copy
	Reset    lab.Copying       // how Restore puts Data back; Auto is for all but measurements of it
}

// A Server is a running private server. Its methods may be called by several goroutines; those that
// stop or restart the server wait for each other.
type Server struct {
	conf     Config
	bin      string
	dir      string // where the state really is
	sockets  string
	uid, gid uint32
	password string
	port     int
	major    int        // of the server's version
	space    *lab.Space // of data and snapshot
	// Of a standby: the server that it follows, and the name by which that knows it.
	primary     *Server
	application string

	mu   sync.Mutex
	proc *lab.Process
}

// Start prepares a server on first use of conf.Dir and starts it. It returns when the server answers. When
// it fails, or ctx ends first, nothing of it runs. A server that an earlier, killed program left on the
// same directory is ended first.
func Start(ctx context.Context, conf Config) (*Server, error) {
	s := &Server{conf: conf, password: rand.Text()}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing PostgreSQL: %w", err), s.leave(context.WithoutCancel(ctx)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// prepare finds the programs and makes the data directory.
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
	s.uid, s.gid = lab.Unprivileged("postgres")
	if s.bin, err = findBinaries(ctx); err != nil {
		return err
	}
	if err := lab.Reachable(s.bin, s.uid); err != nil {
		return err
	}
	if s.dir, err = lab.PrivateDir(s.conf.Dir, s.uid); err != nil {
		return err
	}
	if err := removeMemory(filepath.Join(s.dir, "data")); err != nil { // of data that are replaced below
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
	return s.initdb(ctx)
}

func (s *Server) journal() string  { return filepath.Join(s.conf.Dir, "postgresql.journal") }
func (s *Server) mark() string     { return filepath.Join(s.dir, settingsFile) }
func (s *Server) data() string     { return filepath.Join(s.space.Dir(), "data") }
func (s *Server) snapshot() string { return filepath.Join(s.space.Dir(), "snapshot") }

// initdb makes the data directory, unless a finished one of the same major version is there.
func (s *Server) initdb(ctx context.Context) error {
	mark := s.mark()
	if done, err := os.ReadFile(mark); err == nil && string(done) == s.bin {
		return s.mendData(ctx)
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
	// The C locale exists everywhere and sorts the same everywhere. initdb's own sync is left out: a data
	// directory of which the machine's crash leaves half lacks the mark, and is created again.
	err := lab.Run(ctx, lab.Spec{
		Name: "initdb", Path: filepath.Join(s.bin, "initdb"), Journal: s.journal(),
		Args: []string{"-D", s.data(), "-U", role, "--encoding=UTF8", "--locale=C", "--no-sync",
			"--auth-local=trust", "--auth-host=scram-sha-256"},
		Env: environment(), Dir: s.dir, UID: s.uid, GID: s.gid, CPUs: s.conf.CPUs,
	})
	if err != nil {
		return errors.Join(err, removeMemory(s.data()))
	}
	return os.WriteFile(mark, []byte(s.bin), 0o600)
}

// adopt begins with data that Export made. The programs must be of the same major version as those that wrote it.
func (s *Server) adopt(ctx context.Context) error {
	mark := s.mark()
	wrote, err := os.ReadFile(filepath.Join(s.conf.Data, "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("reading the data to begin with: %w", err)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(s.bin, "postgres"), "--version").Output()
	if err != nil {
		return fmt.Errorf("asking PostgreSQL for its version: %w", err)
	}
	want := strings.TrimSpace(string(wrote))
	if have := strings.Fields(string(out)); len(have) < 3 || have[2] != want && !strings.HasPrefix(have[2], want+".") {
		return fmt.Errorf("the data to begin with is of PostgreSQL %s, but %s is here; install that version, or make the data again", want, strings.TrimSpace(string(out)))
	}
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
	return os.WriteFile(mark, []byte(s.bin), 0o600)
}

// mendData puts the snapshot in place of a data directory that a kill in the middle of Restore left out.
func (s *Server) mendData(ctx context.Context) error {
	if _, err := os.Stat(s.data()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return lab.ReplaceTree(ctx, s.data(), s.snapshot(), nil)
}

// environment returns the programs' environment, without our variables that could change them, such
// as PGDATA.
func environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
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
	log, err := os.OpenFile(filepath.Join(s.dir, "postgresql.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false, fmt.Errorf("opening the server's log: %w", err)
	}
	defer log.Close()
	if err := s.removeStaleLock(); err != nil {
		return false, err
	}
	settings := map[string]string{
		"listen_addresses": s.addr(), "port": strconv.Itoa(s.port),
		"unix_socket_directories": s.sockets, "max_connections": "300",
		"logging_collector": "off", "log_timezone": "UTC", "timezone": "UTC",
	}
	if s.conf.Addr != "" {
		hba := filepath.Join(s.dir, "hba.conf")
		if err := os.WriteFile(hba, []byte("local all all trust\nhost all all all scram-sha-256\nhost replication all all scram-sha-256\n"), 0o600); err != nil {
			return false, fmt.Errorf("saying who may log in: %w", err)
		}
		if s.uid != 0 || s.gid != 0 {
			if err := os.Chown(hba, int(s.uid), int(s.gid)); err != nil {
				return false, fmt.Errorf("saying who may log in: %w", err)
			}
		}
		settings["hba_file"] = hba
	}
	if s.primary != nil {
		maps.Copy(settings, s.following())
	}
	maps.Copy(settings, s.conf.Settings)
	args := []string{"-D", s.data()}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", k+"="+settings[k])
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name: "postgres", Path: filepath.Join(s.bin, "postgres"), Args: args, Env: environment(), Dir: s.dir,
		Stdout: log, Stderr: log, UID: s.uid, GID: s.gid, CPUs: s.conf.CPUs, NetNS: s.conf.NetNS, Journal: s.journal(),
		StopSignal:  syscall.SIGINT, // "fast": ends sessions, writes a checkpoint
		StopTimeout: stopTimeout,
		Quit:        true, // "immediate": its shared memory goes with it, in /dev/shm and beyond
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
			err := fmt.Errorf("PostgreSQL ended while it started: %w%w", p.Err(), plain.Output(lastLines(tail, 15)))
			if strings.Contains(tail, "pre-existing shared memory block") {
				err = fmt.Errorf("%w: %w", errOrphans, err)
			}
			return strings.Contains(tail, "Address already in use"), err
		case <-ctx.Done():
			return false, errors.Join(fmt.Errorf("waiting for PostgreSQL: %w (last: %w)", context.Cause(ctx), err), p.Kill())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// removeStaleLock removes the lock file of a killed server. The server itself keeps off whenever the pid in
// it exists, be it a zombie that is never reaped, as in containers without an init, or a stranger.
func (s *Server) removeStaleLock() error {
	lock := filepath.Join(s.data(), "postmaster.pid")
	b, err := os.ReadFile(lock)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the server's lock file: %w", err)
	}
	pid, _, _ := strings.Cut(string(b), "\n")
	// Our servers name their data directory on their command line; a zombie's command line is empty.
	if cmdline, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/cmdline"); err == nil && strings.Contains(string(cmdline), s.data()) {
		return nil // the server will report it better
	}
	if err := removeMemory(s.data()); err != nil {
		return err
	}
	if err := os.Remove(lock); err != nil {
		return fmt.Errorf("removing the lock file of a killed server: %w", err)
	}
	return nil
}

// arm waits for nothing: it connects through the socket, makes sure that this is our server, and sets this
// program's password.
func (s *Server) arm(ctx context.Context) error {
	return s.admin(ctx, "postgres", func(conn *pgx.Conn) error {
		v, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
		if s.major, _ = strconv.Atoi(v); s.major < 13 {
			return fmt.Errorf("version %q is too old; want 13 or later", v)
		}
		if s.primary != nil {
			return nil // the password comes with the primary's data
		}
		// A statement that is interrupted would be logged with the password in it.
		if _, err := conn.Exec(ctx, "SET log_min_error_statement = panic"); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "SET log_statement = 'none'"); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "ALTER ROLE "+role+" PASSWORD '"+s.password+"'"); err != nil {
			return errors.New("setting the password was refused")
		}
		return nil
	})
}

// admin runs do on an administrative connection through the socket.
func (s *Server) admin(ctx context.Context, db string, do func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	conf, err := pgx.ParseConfig("sslmode=disable")
	if err != nil {
		return err
	}
	conf.Host, conf.Port, conf.User, conf.Database, conf.Password = s.sockets, uint16(s.port), role, db, ""
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

func (s *Server) addr() string { return cmp.Or(s.conf.Addr, "127.0.0.1") }

// DSN returns the address of a database of this server, password included:
// postgres://user:password@127.0.0.1:port/db?sslmode=disable.
func (s *Server) DSN(db string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, s.password),
		Host: s.addr() + ":" + strconv.Itoa(s.port), Path: "/" + db, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// PIDs returns the process id of the server's first process, the parent of all others; empty while it is
// stopped.
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
		return lab.Watched{Kind: lab.KindPostgreSQL}
	}
	w := s.proc.Watched()
	w.Kind = lab.KindPostgreSQL
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
		return fmt.Errorf("stopping PostgreSQL: %w", err)
	}
	if err := s.ended(); err != nil {
		return err
	}
	return s.leave(ctx)
}

// ended removes the remains of a server that has ended.
func (s *Server) ended() error {
	s.proc = nil
	if err := os.RemoveAll(s.sockets); err != nil {
		return fmt.Errorf("removing the socket: %w", err)
	}
	return removeMemory(s.data())
}

// leave lets go of the data of a server that has ended; its next start takes it back.
func (s *Server) leave(ctx context.Context) error {
	if s.space == nil {
		return nil
	}
	return s.space.Close(ctx)
}

// lastLines returns the last n lines of s.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
