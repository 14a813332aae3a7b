package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/lab/netns"
	"plimsoll/target/lab/postgresql"
)

// Addresses are those that RFC 2544 sets aside for measuring networks: 198.18.0.0/15. Users and servers speak over
// the wires 1 to 3; probes have wires of their own, 11 to 13, so that faults on the first do not blind them.
const (
	proxyURL   = "http://198.18.1.2"
	appAddr    = "198.18.2.2"
	dbAddr     = "198.18.3.2"
	proxyWatch = "198.18.11.2"
	appWatch   = "198.18.12.2"
	dbWatch    = "198.18.13.2"
)

// The cores: the generator has one for itself.
var (
	serverCore    = []int{0}
	generatorCore = []int{1}
)

// appPorts are those of the two instances.
var appPorts = []int{8065, 8066}

// A layout holds the settings that a fault may change before anything runs.
type layout struct {
	appArgs  []string          // of both instances of refchat
	appEnv   []string          // beside ours
	dbWith   map[string]string // settings of PostgreSQL
	keep     int               // idle connections that nginx keeps to the instances; 0 for none
	slots    int               // connections of nginx's only worker
	settings map[string]string // of the kernel, in the app's network namespace
	appTLS   bool              // nginx speaks TLS to the instances, and resumes no session
}

// A topology is a generator's side, a proxy, two instances of the reference server and their database, each in a
// network namespace of its own on this host.
type topology struct {
	dir     string
	program string
	spaces  map[string]*netns.Namespace // by role
	groups  map[string]*cgroup.Group    // by role, made when a fault asks for one
	db      *postgresql.Server
	dsn     string // from the app's and the generator's side alike, except the address
	apps    []*lab.Process
	proxy   *lab.Process
	agents  []*lab.Process
	watched []string       // the agents as a plan's probes
	others  []*lab.Process // of faults
}

// build makes a topology in dir, which must be new. The caller must call down, also after an error.
func build(ctx context.Context, dir, program string, l layout) (*topology, error) {
	t := &topology{dir: dir, program: program, spaces: map[string]*netns.Namespace{}, groups: map[string]*cgroup.Group{}}
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		return t, err
	}
	for _, step := range []func(context.Context, layout) error{t.network, t.database, t.servers, t.nginx} {
		if err := step(ctx, l); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *topology) network(ctx context.Context, l layout) error {
	for _, role := range []string{"generator", "proxy", "app", "db"} {
		n, err := netns.Create(ctx, role)
		if err != nil {
			return err
		}
		t.spaces[role] = n
	}
	for _, w := range []struct{ a, b, net string }{
		{"generator", "proxy", "1"}, {"proxy", "app", "2"}, {"app", "db", "3"},
		{"generator", "proxy", "11"}, {"generator", "app", "12"}, {"generator", "db", "13"},
	} {
		device := func(to string) string {
			if len(w.net) > 1 {
				to = "watch-" + to
			}
			return to
		}
		a := netns.End{In: t.spaces[w.a], Device: device(w.b), Addr: "198.18." + w.net + ".1/24"}
		b := netns.End{In: t.spaces[w.b], Device: device(w.a), Addr: "198.18." + w.net + ".2/24"}
		if err := netns.Wire(ctx, a, b); err != nil {
			return err
		}
	}
	for k, v := range l.settings {
		if err := t.spaces["app"].Set(ctx, k, v); err != nil {
			return err
		}
	}
	return nil
}

func (t *topology) database(ctx context.Context, l layout) error {
	hba := filepath.Join(t.dir, "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all trust\nhost all all 198.18.0.0/15 scram-sha-256\n"), 0o644); err != nil {
		return err
	}
	settings := map[string]string{"listen_addresses": "*", "hba_file": hba}
	maps.Copy(settings, l.dbWith)
	var err error
	t.db, err = postgresql.Start(ctx, postgresql.Config{Dir: filepath.Join(t.dir, "pg"), CPUs: serverCore, NetNS: t.spaces["db"].Path(), Settings: settings})
	if err != nil {
		return err
	}
	if err := t.db.CreateDatabase(ctx, "chat"); err != nil {
		return err
	}
	t.dsn = t.db.DSN("chat")
	return nil
}

// dsnAt returns the database's address as seen over one of its wires.
func (t *topology) dsnAt(addr string) (string, error) {
	u, err := url.Parse(t.dsn)
	if err != nil {
		return "", errors.New("the database's address cannot be parsed")
	}
	u.Host = addr + ":" + u.Port()
	return u.String(), nil
}

func (t *topology) servers(ctx context.Context, l layout) error {
	dsn, err := t.dsnAt(dbAddr)
	if err != nil {
		return err
	}
	for i, port := range appPorts {
		args := []string{"refchat", "-listen=:" + strconv.Itoa(port), "-hash=bcrypt:4", "-files=" + filepath.Join(t.dir, "files"),
			fmt.Sprintf("-bus=127.0.0.1:%d", 9065+i), fmt.Sprintf("-peer=127.0.0.1:%d", 9065+1-i)}
		p, err := lab.Start(ctx, lab.Spec{
			Name: "refchat", Path: t.program, Args: append(args, l.appArgs...), CPUs: serverCore, NetNS: t.spaces["app"].Path(),
			Env: append(os.Environ(), append([]string{"REFCHAT_DSN=" + dsn, "REFCHAT_ADMIN_PASSWORD=" + adminPassword}, l.appEnv...)...),
		})
		if err != nil {
			return err
		}
		t.apps = append(t.apps, p)
		if err := said(ctx, p, "listening on"); err != nil {
			return err
		}
	}
	return nil
}

// adminPassword is the administrator's, in namespaces that nothing else reaches.
const adminPassword = "Faults-sample-1"

// said waits until a process has written text.
func said(ctx context.Context, p *lab.Process, text string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("not ready within 10 s"))
	defer cancel()
	for !strings.Contains(p.Tail(), text) {
		select {
		case <-p.Done():
			return fmt.Errorf("a process of the topology ended: %w\n%s", p.Err(), p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w\n%s", text, context.Cause(ctx), p.Tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

const nginxConf = `daemon off; worker_processes 1; error_log stderr error; pid %[1]s/nginx.pid; worker_rlimit_nofile 8192;
events { worker_connections %[2]d; }
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  client_max_body_size 50m; client_body_buffer_size 1m; proxy_buffers 16 64k; keepalive_requests 1000000; keepalive_timeout 5m;
  upstream app { server %[3]s:%[4]d max_fails=0; server %[3]s:%[5]d max_fails=0; %[6]s }
  map $http_upgrade $upstream_connection { default upgrade; '' ''; }
  server {
    listen 80 backlog=4096;
    location / {
      proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection %[7]s;
      proxy_connect_timeout 10s; proxy_read_timeout 10m; proxy_next_upstream off;
    }
    location = /nginx_status { stub_status; }
  }
}
`

func (t *topology) nginx(ctx context.Context, l layout) error {
	keep, connection := "", "$connection_or_close"
	if l.keep > 0 {
		keep, connection = fmt.Sprintf("keepalive %d;", l.keep), "$upstream_connection"
	}
	text := fmt.Sprintf(nginxConf, t.dir, l.slots, appAddr, appPorts[0], appPorts[1], keep, connection)
	if l.keep == 0 {
		text = strings.Replace(text, "  server {", "  map $http_upgrade $connection_or_close { default upgrade; '' close; }\n  server {", 1)
	}
	if l.appTLS {
		text = strings.Replace(text, "proxy_pass http://app;", "proxy_pass https://app; proxy_ssl_verify off; proxy_ssl_session_reuse off;", 1)
	}
	conf := filepath.Join(t.dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return err
	}
	path := "nginx"
	if _, err := os.Stat("/usr/sbin/nginx"); err == nil {
		path = "/usr/sbin/nginx"
	}
	var err error
	t.proxy, err = lab.Start(ctx, lab.Spec{Name: "nginx", Path: path, Args: []string{"-c", conf, "-e", "stderr"}, CPUs: serverCore, NetNS: t.spaces["proxy"].Path(),
		StopSignal: unix.SIGTERM})
	return err
}

// token is the token of the agents, in namespaces that nothing else reaches.
const token = "faults-sample-token-of-no-worth-0123456789"

// watch starts an agent with probes in each role's namespace, when the processes are in their control groups.
func (t *topology) watch(ctx context.Context) error {
	file := filepath.Join(t.dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return err
	}
	for _, a := range []struct{ role, addr string }{{"proxy", proxyWatch}, {"app", appWatch}, {"db", dbWatch}} {
		args := []string{"agent", "-probe", "-listen=" + a.addr + ":9443", "-token-file=" + file, "-role=" + a.role, "-cpus=0"}
		for _, pid := range t.pids(a.role) {
			args = append(args, fmt.Sprintf("-pid=%s=%d", a.role, pid))
		}
		if a.role == "proxy" {
			args = append(args, "-nginx=http://127.0.0.1/nginx_status")
		}
		p, err := lab.Start(ctx, lab.Spec{Name: "agent of " + a.role, Path: t.program, Args: args, CPUs: serverCore, NetNS: t.spaces[a.role].Path()})
		if err != nil {
			return err
		}
		t.agents = append(t.agents, p)
		if err := said(ctx, p, "fingerprint="); err != nil {
			return err
		}
		_, print, _ := strings.Cut(p.Tail(), "fingerprint=")
		print, _, _ = strings.Cut(print, "\n")
		t.watched = append(t.watched, fmt.Sprintf(`{kind: agent, role: %s, url: "https://%s:9443", token: "${ENV:FAULTS_TOKEN}", fingerprint: "%s"}`, a.role, a.addr, strings.TrimSpace(print)))
	}
	return nil
}

// group returns the control group of a role, with the role's processes in it once a limit is set by limit.
func (t *topology) group(role string, limit func(*cgroup.Group) error) error {
	g := t.groups[role]
	if g == nil {
		var err error
		if g, err = cgroup.Create(role); err != nil {
			return err
		}
		t.groups[role] = g
	}
	if err := limit(g); err != nil {
		return err
	}
	for _, pid := range t.pids(role) {
		if err := g.Add(pid); err != nil {
			return err
		}
	}
	return nil
}

// pids returns the first processes of a role.
func (t *topology) pids(role string) []int {
	switch role {
	case "app":
		var out []int
		for _, p := range t.apps {
			out = append(out, p.PID())
		}
		return out
	case "db":
		return t.db.PIDs()
	case "proxy":
		return []int{t.proxy.PID()}
	}
	return nil
}

// down ends everything and removes all traces. It may be called after any failure of build.
func (t *topology) down(ctx context.Context) error {
	var errs []error
	var ps []*lab.Process
	ps = append(ps, t.others...)
	ps = append(ps, t.agents...)
	if t.proxy != nil {
		ps = append(ps, t.proxy)
	}
	for _, p := range append(ps, t.apps...) {
		errs = append(errs, p.Kill()) // nothing of them is kept
	}
	if t.db != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel() // at once: the data goes too
		errs = append(errs, t.db.Stop(ended))
	}
	for _, g := range t.groups {
		errs = append(errs, g.Remove())
	}
	for _, n := range t.spaces {
		errs = append(errs, n.Delete(ctx))
	}
	return errors.Join(append(errs, os.RemoveAll(t.dir))...)
}

// sweep removes leftovers of killed programs.
func sweep(ctx context.Context) error {
	if _, err := netns.Sweep(ctx); err != nil {
		return err
	}
	_, err := cgroup.Sweep()
	return err
}
