// Package nginx supervises a private nginx before several servers, for tests and measurements.
//
// [Start] finds the system's nginx, writes a configuration and starts it in the foreground. It
// passes requests to the upstreams in turn over connections that it keeps, and WebSockets through.
// The page [Proxy.Status] is made by stub_status, and the file [Proxy.Log] has a line for each
// request with the upstream that answered it and the time that it took. As root, nginx runs as the
// user www-data or as nobody.
//
// # Out of scope
//
// Other proxies, TLS towards users, caches and limits of requests: a system that has them is
// deployed by its owner, and its plan has the driver external. nginx does not try another upstream
// after a failure, since that would hide it.
package nginx

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

// Defaults of a Config.
const (
	DefaultKeep  = 64
	DefaultSlots = 8192
)

const (
	readyTimeout = 10 * time.Second
	stopTimeout  = 3 * time.Second
	statusPath   = "/nginx_status"
)

// A Config configures a server. Dir, Listen and Upstreams are required.
type Config struct {
	Dir  string // state: configuration, log, temporary files, journal; made when missing
	CPUs []int  // cores, of which each gets a worker; nil means one worker on those of this program
	// Path of the network namespace that it runs in; empty means this program's.
	NetNS     string
	Listen    string   // host:port; an empty host means all addresses
	Upstreams []string // host:port of each server
	// idle connections that each worker keeps to the upstreams; 0 means DefaultKeep, less than 0
	// none
	Keep  int
	Slots int  // connections of each worker; 0 means DefaultSlots
	TLS   bool // speak TLS to the upstreams, and resume no session
	Root  bool // run as this program's user, also as root: for ports below 1024
}

// A Proxy is a running nginx. Its methods may be called by several goroutines.
type Proxy struct {
	conf Config
	path string
	dir  string // where the state really is
	proc *lab.Process
}

// Find returns the path of the system's nginx.
func Find() (string, error) {
	path := lab.FindProgram("nginx", "/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin")
	if path == "" {
		return "", errors.New("nginx is not installed; install the package nginx")
	}
	return path, nil
}

// Start starts a server and returns when it listens. When it fails, or ctx ends first, nothing of
// it runs. A server that an earlier, killed program left on the same directory is ended first.
func Start(ctx context.Context, conf Config) (*Proxy, error) {
	s := &Proxy{conf: conf}
	if err := s.start(ctx); err != nil {
		err = fmt.Errorf("starting nginx: %w", err)
		if s.proc != nil {
			err = errors.Join(err, s.proc.Kill())
		}
		return nil, err
	}
	return s, nil
}

func (s *Proxy) start(ctx context.Context) (err error) {
	if s.conf.Dir == "" || len(s.conf.Upstreams) == 0 {
		return errors.New("a state directory and an upstream are required")
	}
	_, port, err := net.SplitHostPort(s.conf.Listen)
	if err != nil {
		return fmt.Errorf("the address to listen on: %w", err)
	}
	if s.path, err = Find(); err != nil {
		return err
	}
	if err := lab.MkdirState(s.conf.Dir); err != nil {
		return err
	}
	if _, err := lab.Sweep(ctx, s.journal(), stopTimeout); err != nil {
		return err
	}
	var uid, gid uint32
	if !s.conf.Root {
		uid, gid = lab.Unprivileged("www-data", "nginx")
	}
	if s.dir, err = lab.PrivateDir(s.conf.Dir, uid); err != nil {
		return err
	}
	tmp := filepath.Join(s.dir, "tmp")
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := lab.MkdirFor(tmp, uid, gid); err != nil {
		return err
	}
	if err := os.WriteFile(s.Log(), nil, 0o644); err != nil {
		return fmt.Errorf("making the log: %w", err)
	}
	if uid != 0 || gid != 0 { // zeros mean ourselves
		if err := os.Chown(s.Log(), int(uid), int(gid)); err != nil {
			return fmt.Errorf("making the log: %w", err)
		}
	}
	conf := filepath.Join(s.dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(s.text()), 0o644); err != nil {
		return err
	}
	s.proc, err = lab.Start(ctx, lab.Spec{
		Name:        "nginx",
		Path:        s.path,
		Args:        []string{"-p", s.dir, "-c", conf, "-e", "stderr"},
		Dir:         s.dir,
		UID:         uid,
		GID:         gid,
		CPUs:        s.conf.CPUs,
		NetNS:       s.conf.NetNS,
		Journal:     s.journal(),
		StopSignal:  syscall.SIGTERM,
		StopTimeout: stopTimeout,
	})
	if err != nil {
		return err
	}
	return s.wait(ctx, port)
}

// wait returns when the server listens.
func (s *Proxy) wait(ctx context.Context, port string) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		readyTimeout,
		fmt.Errorf("it does not listen within %v", readyTimeout),
	)
	defer cancel()
	for {
		if listens(s.proc.PID(), port) {
			return nil
		}
		select {
		case <-s.proc.Done():
			return fmt.Errorf(
				"it ended: %w%w",
				cmp.Or(s.proc.Err(), errors.New("exit status 0")),
				plain.Output(s.proc.Tail()),
			)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// listens reports whether a process has a socket that listens on a port. It reads the kernel's
// tables, since a connection from here may not reach another network, and another program may have
// the port.
func listens(pid int, port string) bool {
	n, err := strconv.Atoi(port)
	if err != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return false
	}
	const listening = "0A"
	suffix := fmt.Sprintf(":%04X", n)
	sockets := map[string]bool{} // as links of open files name them
	for l := bufio.NewScanner(bytes.NewReader(b)); l.Scan(); {
		if f := strings.Fields(l.Text()); len(f) > 9 && strings.HasSuffix(f[1], suffix) &&
			f[3] == listening {
			sockets["socket:["+f[9]+"]"] = true
		}
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(links, func(link string) bool {
		to, err := os.Readlink(link)
		return err == nil && sockets[to]
	})
}

func (s *Proxy) journal() string { return filepath.Join(s.conf.Dir, "nginx.journal") }

// workers is the number of worker processes.
func (s *Proxy) workers() int { return max(1, len(s.conf.CPUs)) }

func (s *Proxy) slots() int { return cmp.Or(s.conf.Slots, DefaultSlots) }

func (s *Proxy) keep() int { return max(0, cmp.Or(s.conf.Keep, DefaultKeep)) }

// layout is the configuration, whose log has "upstream status seconds".
const layout = `daemon off; worker_processes %[1]d; error_log stderr error; pid %[2]s/tmp/pid; worker_rlimit_nofile %[3]d;
events { worker_connections %[3]d; }
http {
  log_format upstream '$upstream_addr $upstream_status $upstream_response_time';
  access_log %[4]s upstream buffer=32k flush=500ms;
%[5]s  client_max_body_size 50m; client_body_buffer_size 1m; proxy_buffers 16 64k; keepalive_requests 1000000; keepalive_timeout 5m;
  upstream app {
%[6]s  }
  map $http_upgrade $upstream_connection { default upgrade; '' %[7]s; }
  server {
    listen %[8]s backlog=4096;
    location / {
%[9]s      proxy_pass %[10]s://app; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $upstream_connection;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
      proxy_connect_timeout 10s; proxy_read_timeout 10m; proxy_next_upstream off;
    }
    location = %[11]s { stub_status; access_log off; }
  }
}
`

// text is the configuration.
func (s *Proxy) text() string {
	temporary, upstreams := "", ""
	for kind := range strings.FieldsSeq("client_body proxy fastcgi uwsgi scgi") {
		temporary += fmt.Sprintf("  %s_temp_path %s/tmp/%s;\n", kind, s.dir, kind)
	}
	for _, u := range s.conf.Upstreams {
		upstreams += "    server " + u + " max_fails=0;\n"
	}
	rest := "close" // of the connection to the upstream
	if s.keep() > 0 {
		upstreams += fmt.Sprintf("    keepalive %d; keepalive_requests 1000000;\n", s.keep())
		rest = "''"
	}
	scheme, verify := "http", ""
	if s.conf.TLS {
		scheme, verify = "https", "      proxy_ssl_verify off; proxy_ssl_session_reuse off;\n"
	}
	return fmt.Sprintf(layout, s.workers(), s.dir, s.slots(), s.Log(), temporary, upstreams, rest,
		strings.TrimPrefix(s.conf.Listen, ":"), verify, scheme, statusPath)
}

// Addr returns where it listens, host:port.
func (s *Proxy) Addr() string { return s.conf.Listen }

// Status returns the URL of the page of stub_status.
func (s *Proxy) Status() string { return "http://" + s.conf.Listen + statusPath }

// Log returns the file with a line for each request that an upstream answered: its address, the
// status, and the seconds until the last byte of the answer, with a space between. Lines come half
// a second late.
func (s *Proxy) Log() string { return filepath.Join(s.dir, "upstream.log") }

// PIDs returns the process id of the first process, the parent of all workers; empty when it has
// ended.
func (s *Proxy) PIDs() []int { return s.proc.PIDs() }

// Watched returns it for a [lab.Crashes].
func (s *Proxy) Watched() lab.Watched { return s.proc.Watched() }

// Done is closed when it has ended.
func (s *Proxy) Done() <-chan struct{} { return s.proc.Done() }

// Describe reads its version. The settings come from the configuration.
func (s *Proxy) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.path, "-v").CombinedOutput()
	if err != nil {
		return lab.ProgramInfo{}, fmt.Errorf("asking nginx for its version: %w", err)
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(out)), "nginx/")
	return lab.ProgramInfo{Name: "nginx", Version: version, Settings: map[string]string{
		"worker_processes":   strconv.Itoa(s.workers()),
		"worker_connections": strconv.Itoa(s.slots()),
		"keepalive":          strconv.Itoa(s.keep()),
		"upstreams":          strings.Join(slices.Clone(s.conf.Upstreams), " "),
	}}, nil
}

// Stop ends it, within 4 seconds, and at once when ctx has ended. It may be called again.
func (s *Proxy) Stop(ctx context.Context) error {
	if err := s.proc.Stop(ctx); err != nil {
		return fmt.Errorf("stopping nginx: %w", err)
	}
	return nil
}

// Kill ends it at once.
func (s *Proxy) Kill() error { return s.proc.Kill() }
