// Package redis supervises a private Redis server for tests and measurements.
//
// [Start] finds redis-server in PATH and the usual directories and starts it on a private port of
// 127.0.0.1, or of an address in a network namespace, with its files in a directory of its own. No
// configuration file of the system is read: persistence and memory stay at the server's own
// defaults, unless changed by [Config].Settings.
//
// # Out of scope
//
// Keys, and who uses them. It uses only the part of the protocol that shows that the server is
// ready.
package redis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/target/lab"
)

const (
	startTimeout = 15 * time.Second
	stopTimeout  = 3 * time.Second
	pollEvery    = 10 * time.Millisecond
	maxTries     = 4
)

// A Config configures a server. Only Dir is required.
type Config struct {
	Dir  string // state directory; kept between starts
	CPUs []int  // cores that the server may use; nil means those of this program
	Port int    // 0 means a free one
	// Path of the network namespace that the server runs in; empty means that of this program.
	NetNS string
	// IPv4 address that it listens on; empty means 127.0.0.1. Clients that reach another are let
	// in.
	Addr     string
	Settings map[string]string // more settings by name, such as maxmemory
}

// A Server is a running server. Its methods may be called from several goroutines.
type Server struct {
	proc *lab.Process
	addr string
}

// find returns the program's path.
func find() (string, error) {
	for _, name := range []string{"redis-server", "/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/redis/bin/redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New(
		"no redis-server on this host: install it, on Debian and Ubuntu with apt-get install redis-server",
	)
}

// Start starts a server and waits until it answers. When it fails, or ctx ends first, nothing of it
// runs. A server that an earlier, killed program left on the same directory is ended first.
func Start(ctx context.Context, conf Config) (*Server, error) {
	s, err := start(ctx, conf)
	if err != nil {
		return nil, fmt.Errorf("starting Redis: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, conf Config) (*Server, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	if conf.Dir == "" {
		return nil, errors.New("a state directory is required")
	}
	if err := lab.MkdirState(conf.Dir); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	journal := filepath.Join(conf.Dir, "redis.journal")
	if _, err := lab.Sweep(ctx, journal, stopTimeout); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		port := conf.Port
		if port == 0 {
			if port, err = lab.FreePort(); err != nil {
				return nil, err
			}
		}
		s, err := startOn(ctx, path, conf, port, journal)
		if err == nil || conf.Port != 0 || try == maxTries ||
			!strings.Contains(err.Error(), "Address already in use") {
			return s, err
		}
	}
}

func startOn(
	ctx context.Context,
	path string,
	conf Config,
	port int,
	journal string,
) (*Server, error) {
	addr := cmp.Or(conf.Addr, "127.0.0.1")
	args := []string{
		"--port",
		strconv.Itoa(port),
		"--bind",
		addr,
		"--dir",
		conf.Dir,
		"--daemonize",
		"no",
	}
	if conf.Addr != "" {
		args = append(args, "--protected-mode", "no")
	}
	for _, k := range slices.Sorted(maps.Keys(conf.Settings)) {
		args = append(args, "--"+k, conf.Settings[k])
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name:        "redis-server",
		Path:        path,
		Args:        args,
		Dir:         conf.Dir,
		CPUs:        conf.CPUs,
		NetNS:       conf.NetNS,
		Journal:     journal,
		StopTimeout: stopTimeout,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{proc: p, addr: net.JoinHostPort(addr, strconv.Itoa(port))}
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(p.Failed(err), p.Kill())
	}
	return s, nil
}

// wait sends PING until the server answers PONG; while it loads its file it answers with an error.
// Another server may have the port.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		startTimeout,
		fmt.Errorf("not ready within %v", startTimeout),
	)
	defer cancel()
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		if ping(ctx, s.addr) == nil {
			if text, err := ask(ctx, s.addr, "INFO server"); err == nil &&
				field(text, "process_id") == strconv.Itoa(s.proc.PID()) {
				return nil
			}
		}
		select {
		case <-s.proc.Done():
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}

func ping(ctx context.Context, addr string) error {
	text, err := ask(ctx, addr, "PING")
	if err == nil && text != "PONG" {
		err = fmt.Errorf("it answers %.100q", text)
	}
	return err
}

// ask sends an inline command and returns the answer: a line, the bytes of a text, or the lines of
// a list.
func ask(ctx context.Context, addr, command string) (string, error) {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:])) // 0 for a line, which is complete
	switch line[0] {
	case '+':
		return strings.TrimSpace(line[1:]), nil
	case '$':
		b := make([]byte, min(max(n, 0), 1<<20))
		_, err := io.ReadFull(r, b)
		return string(b), err
	case '*':
		var text strings.Builder
		for range 2 * n {
			line, err := r.ReadString('\n')
			if err != nil {
				return "", err
			}
			text.WriteString(line)
		}
		return text.String(), nil
	}
	return "", fmt.Errorf("it answers %.100q", line)
}

// field returns the value of a field in the answer to INFO; empty if it has none.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Addr is where the server answers, host:port.
func (s *Server) Addr() string { return s.addr }

// PIDs returns the server's process; none once it has ended.
func (s *Server) PIDs() []int {
	select {
	case <-s.proc.Done():
		return nil
	default:
		return []int{s.proc.PID()}
	}
}

// Watched returns the server for a [lab.Crashes].
func (s *Server) Watched() lab.Watched { return s.proc.Watched() }

// Describe returns the server's own version and the settings that decide the cost of a write.
func (s *Server) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Name: "Redis", Settings: map[string]string{}}
	text, err := ask(ctx, s.addr, "INFO server")
	if err != nil {
		return d, fmt.Errorf("asking Redis for its version: %w", err)
	}
	d.Version = field(text, "redis_version")
	for _, name := range []string{"save", "appendonly", "maxmemory"} {
		text, err := ask(ctx, s.addr, "CONFIG GET "+name)
		if err != nil {
			return d, fmt.Errorf("asking Redis for its setting %s: %w", name, err)
		}
		// $4, save, $n, its value, nothing
		if lines := strings.Split(text, "\r\n"); len(lines) == 5 {
			d.Settings[name] = lines[3]
		}
	}
	return d, nil
}

// Stop ends the server, and kills it after three seconds or when ctx ends.
func (s *Server) Stop(ctx context.Context) error { return s.proc.Stop(ctx) }

// Kill kills the server.
func (s *Server) Kill() error { return s.proc.Kill() }
