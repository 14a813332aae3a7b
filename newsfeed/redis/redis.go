// Package redis supervises a private Redis server for tests and measurements.
//
// [Start] finds redis-server in PATH and the usual directories and starts it on a private port of
// 127.0.0.1, or of an address in a network namespace, with its files in a directory of its own. No
// configuration file of the system is read: persistence and memory stay at the server's own
// defaults, unless changed by [Config].Settings.
//
// # Out of scope
//
// Keys, and who uses them.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"plimsoll/newsfeed/await"
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
	*lab.Process
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
	args := []string{"--port", strconv.Itoa(port), "--bind", addr, "--dir", conf.Dir, "--daemonize", "no"}
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
	s := &Server{p, net.JoinHostPort(addr, strconv.Itoa(port))}
	if err := await.Ready(ctx, p, startTimeout, pollEvery, s.ready); err != nil {
		return nil, errors.Join(p.Failed(err), p.Kill())
	}
	return s, nil
}

// ready reports whether the server answers PONG to PING, which it does not while it loads its file,
// and is the one that was started: another server may have the port.
func (s *Server) ready(ctx context.Context) error {
	if err := await.Listener(ctx, s.addr); err != nil {
		return err
	}
	c := s.client()
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil {
		return err
	}
	info, err := c.InfoMap(ctx, "server").Result()
	if err == nil && info["Server"]["process_id"] != strconv.Itoa(s.PID()) {
		err = errors.New("another server answers")
	}
	return err
}

func (s *Server) client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:            s.addr,
		Protocol:        2,
		DisableIdentity: true,
		MaxRetries:      -1,
		DialerRetries:   1,
		DialTimeout:     time.Second,
		ReadTimeout:     time.Second,
	})
}

// Addr is where the server answers, host:port.
func (s *Server) Addr() string { return s.addr }

// Describe returns the server's own version and the settings that decide the cost of a write.
func (s *Server) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Name: "Redis", Settings: map[string]string{}}
	c := s.client()
	defer c.Close()
	info, err := c.InfoMap(ctx, "server").Result()
	if err != nil {
		return d, fmt.Errorf("asking Redis for its version: %w", err)
	}
	d.Version = info["Server"]["redis_version"]
	for _, name := range []string{"save", "appendonly", "maxmemory"} {
		values, err := c.ConfigGet(ctx, name).Result()
		if err != nil {
			return d, fmt.Errorf("asking Redis for its setting %s: %w", name, err)
		}
		d.Settings[name] = values[name]
	}
	return d, nil
}
