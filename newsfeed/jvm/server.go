package jvm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/newsfeed/await"
	"plimsoll/target/lab"
)

const (
	// A busy host reads the logs of a server that was killed within this time.
	readyTimeout = 2 * time.Minute
	stopTimeout  = 3 * time.Second
	pollEvery    = 100 * time.Millisecond
	probeTimeout = 10 * time.Second // of one look whether it is ready
	maxTries     = 4                // starts, when other programs take the ports first
)

// A Config configures a server. Only Dir is required.
type Config struct {
	Dir     string // state directory: data, settings, log; kept between starts
	Journal string // path of the undo journal; default a file in Dir
	CPUs    []int  // cores that the server may use; nil means those of this program
	// path of the network namespace that it runs in; empty means that of this program
	NetNS string
	Addr  string // address that it listens on, for clients and other nodes; empty means 127.0.0.1
	// Port is where clients connect; 0 means a free one. The port after it is the server's, too,
	// for talk among nodes.
	Port int
	// HeapMiB is the size of the Java heap, from the start on; 0 means 512 for Cassandra, 384 for
	// OpenSearch, 256 for Kafka. A process needs 300 to 400 MiB more.
	HeapMiB int
	// Settings are more settings by the names that the server's own file of settings has, with
	// values as they stand there.
	Settings map[string]string
}

// A Server is a running server. Its methods may be called from several goroutines.
type Server struct {
	product *product
	conf    Config
	home    string // of the programs
	log     string
	port    int
	*lab.Process
}

// A product describes how to run one kind of server.
type product struct {
	name, title string
	jar         string // archive whose presence shows that all are there
	starter     string // class of ours that starts it, if it has no class of its own
	heap        int    // MiB
	// command writes the files of settings and returns the arguments of java that follow those of
	// every server.
	command func(s *Server) ([]string, error)
	// prepare makes the data directory before a start, if that takes a program; nil: it does not.
	prepare func(ctx context.Context, s *Server, java string) error
	// ready checks once whether clients can use the server.
	ready func(ctx context.Context, s *Server) error
	// describe reads the server's description.
	describe func(ctx context.Context, s *Server) (lab.ProgramInfo, error)
}

// start starts a server and waits until it answers. When it fails, or ctx ends first, nothing of it
// runs.
func start(ctx context.Context, p *product, conf Config) (*Server, error) {
	s, err := begin(ctx, p, conf)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.title, err)
	}
	return s, nil
}

func begin(ctx context.Context, p *product, conf Config) (*Server, error) {
	if conf.Dir == "" {
		return nil, errors.New("a state directory is required")
	}
	if conf.HeapMiB < 0 {
		return nil, fmt.Errorf(
			"a heap of %d MiB; want 1 or more, or 0 for the default",
			conf.HeapMiB,
		)
	}
	dir, err := filepath.Abs(conf.Dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	conf.Dir = dir
	conf.Addr = cmp.Or(conf.Addr, "127.0.0.1")
	conf.HeapMiB = cmp.Or(conf.HeapMiB, p.heap)
	conf.Journal = cmp.Or(conf.Journal, filepath.Join(dir, p.name+".journal"))
	if _, err := lab.Sweep(ctx, conf.Journal, stopTimeout); err != nil {
		return nil, err
	}
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	home, err := p.obtain(ctx, java)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"config", "data", "tmp"} {
		if err := lab.MkdirState(filepath.Join(dir, sub)); err != nil {
			return nil, fmt.Errorf("making the state directory: %w", err)
		}
	}
	for try := 1; ; try++ {
		s := &Server{
			product: p,
			conf:    conf,
			home:    home,
			port:    conf.Port,
			log:     filepath.Join(dir, p.name+".log"),
		}
		if s.port == 0 {
			if s.port, err = lab.FreePorts(2); err != nil {
				return nil, err
			}
		}
		err := s.launch(ctx, java)
		if err == nil {
			return s, nil
		}
		if conf.Port != 0 || try == maxTries || !portInUse(err.Error()) {
			return nil, err
		}
	}
}

// portInUse reports whether the last output of a server shows that another process has its port.
func portInUse(said string) bool {
	return strings.Contains(said, "Address already in use") ||
		strings.Contains(said, "is in use by another process") ||
		strings.Contains(said, "Failed to bind port")
}

// launch starts the process and waits until clients can use it.
func (s *Server) launch(ctx context.Context, java string) error {
	args, err := s.product.command(s)
	if err != nil {
		return err
	}
	if s.product.prepare != nil {
		if err := s.product.prepare(ctx, s, java); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	defer log.Close() // the child has its own
	spec := s.spec(java, append(s.jvm(), args...))
	spec.Stdout, spec.Stderr = log, log
	if s.Process, err = lab.Start(ctx, spec); err != nil {
		return err
	}
	if err := await.Ready(ctx, s.Process, readyTimeout, pollEvery, s.ready); err != nil {
		return errors.Join(
			fmt.Errorf("%w; its last output:\n%s", err, lastLines(s.Tail(), 25)),
			s.Kill(),
		)
	}
	return nil
}

// spec is one run of java.
func (s *Server) spec(java string, args []string) lab.Spec {
	return lab.Spec{
		Name: s.product.name,
		Path: filepath.Join(java, "java"),
		Args: args,
		Dir:  s.conf.Dir,
		// Nothing of ours that could change it, such as JAVA_TOOL_OPTIONS.
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin",
			"LC_ALL=C.UTF-8",
			"TZ=UTC",
			"HOME=" + s.conf.Dir,
		},
		CPUs:        s.conf.CPUs,
		NetNS:       s.conf.NetNS,
		Journal:     s.conf.Journal,
		StopTimeout: stopTimeout,
	}
}

// jvm are the arguments of java that all servers get.
func (s *Server) jvm() []string {
	heap := strconv.Itoa(s.conf.HeapMiB) + "m"
	return []string{
		"-Xms" + heap, "-Xmx" + heap, "-XX:MaxDirectMemorySize=" + heap, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError",
		"-XX:-UsePerfData", "-XX:ErrorFile=" + s.file("crash.log"), "-Djava.awt.headless=true", "-Djava.io.tmpdir=" + s.file("tmp"),
		"-cp", filepath.Join(s.home, "classes") + ":" + filepath.Join(s.home, "lib", "*"),
	}
}

// file returns the path of a file in the server's directory.
func (s *Server) file(name ...string) string {
	return filepath.Join(append([]string{s.conf.Dir}, name...)...)
}

// write writes a file of settings.
func (s *Server) write(name, text string) error {
	if err := os.WriteFile(s.file("config", name), []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the settings: %w", err)
	}
	return nil
}

// ready checks once whether the server can be used.
func (s *Server) ready(ctx context.Context) error {
	if err := await.Listener(ctx, s.Addr()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return s.product.ready(ctx, s)
}

// Addr is where clients connect, host:port.
func (s *Server) Addr() string { return net.JoinHostPort(s.conf.Addr, strconv.Itoa(s.port)) }

// node is where other nodes would connect, host:port.
func (s *Server) node() string { return net.JoinHostPort(s.conf.Addr, strconv.Itoa(s.port+1)) }

// Describe returns the server's own name and version, and the settings that decide the cost of a
// write.
func (s *Server) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d, err := s.product.describe(ctx, s)
	if err == nil && d.Version == "" {
		err = errors.New("it does not tell its version")
	}
	if err != nil {
		return d, fmt.Errorf("reading the description of %s: %w", s.product.title, err)
	}
	d.Name = s.product.title
	d.Settings["heap"] = strconv.Itoa(s.conf.HeapMiB) + "MiB"
	return d, nil
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
