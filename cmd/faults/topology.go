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
	"time"

	disk "plimsoll/internal/files"
	"plimsoll/load/fleet/join"
	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/lab/netns"
	"plimsoll/target/lab/nginx"
	"plimsoll/target/lab/postgresql"
)

// The hosts, of which each role has one. The generator is on the same switch; probes have a network of their own, so
// that faults on the first do not blind them.
var hosts = []string{"proxy", "app", "db"}

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

// A topology is a generator's side, a proxy, two instances of the reference server and their database, each a host of
// the network that plans have with target.topology.hosts: netns; the instances share one.
type topology struct {
	dir     string
	program string
	users   *netns.Namespace // the generator's side
	lan     *netns.LAN
	groups  map[string]*cgroup.Group // by role, made when a fault asks for one
	db      *postgresql.Server
	dsn     string // from the app's and the generator's side alike, except the address
	apps    []*lab.Process
	proxy   *nginx.Proxy
	agents  []*lab.Process
	watched []string       // the agents as a plan's probes
	others  []*lab.Process // of faults
}

// build makes a topology in dir, which must be new. The caller must call down, also after an error.
func build(ctx context.Context, dir, program string, l layout) (*topology, error) {
	t := &topology{dir: dir, program: program, groups: map[string]*cgroup.Group{}}
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		return t, err
	}
	for _, step := range []func(context.Context, layout) error{t.network, t.database, t.servers, t.before} {
		if err := step(ctx, l); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *topology) network(ctx context.Context, l layout) (err error) {
	if t.users, err = netns.Create(ctx, "generator"); err != nil {
		return err
	}
	if t.lan, err = netns.NewLAN(ctx, netns.LANConfig{Hosts: hosts, Users: t.users, Watched: true}); err != nil {
		return err
	}
	for k, v := range l.settings {
		if err := t.lan.Host("app").Set(ctx, k, v); err != nil {
			return err
		}
	}
	return nil
}

// url is where users reach the proxy.
func (t *topology) url() string { return "http://" + t.lan.Addr("proxy") }

// metrics returns the pages of the instances, on the network of probes.
func (t *topology) metrics() (pages []string) {
	for _, port := range appPorts {
		pages = append(pages, fmt.Sprintf("http://%s:%d/metrics", t.lan.WatchAddr("app"), port))
	}
	return pages
}

func (t *topology) database(ctx context.Context, l layout) error {
	hba := filepath.Join(t.dir, "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all trust\nhost all all 198.18.0.0/15 scram-sha-256\n"), 0o644); err != nil {
		return err
	}
	settings := map[string]string{"listen_addresses": "*", "hba_file": hba}
	maps.Copy(settings, l.dbWith)
	var err error
	t.db, err = postgresql.Start(ctx, postgresql.Config{Dir: filepath.Join(t.dir, "pg"), CPUs: serverCore, NetNS: t.lan.Host("db").Path(), Settings: settings})
	if err != nil {
		return err
	}
	if err := t.db.CreateDatabase(ctx, "chat"); err != nil {
		return err
	}
	t.dsn = t.db.DSN("chat")
	return nil
}

// dsnAt returns the database's address as seen over one of its networks.
func (t *topology) dsnAt(addr string) (string, error) {
	u, err := url.Parse(t.dsn)
	if err != nil {
		return "", errors.New("the database's address cannot be parsed")
	}
	u.Host = addr + ":" + u.Port()
	return u.String(), nil
}

func (t *topology) servers(ctx context.Context, l layout) error {
	dsn, err := t.dsnAt(t.lan.Addr("db"))
	if err != nil {
		return err
	}
	for i, port := range appPorts {
		args := []string{"refchat", "-listen=:" + strconv.Itoa(port), "-hash=bcrypt:4", "-files=" + filepath.Join(t.dir, "files"),
			fmt.Sprintf("-bus=127.0.0.1:%d", 9065+i), fmt.Sprintf("-peer=127.0.0.1:%d", 9065+1-i)}
		p, err := lab.Start(ctx, lab.Spec{
			Name: "refchat", Path: t.program, Args: append(args, l.appArgs...), CPUs: serverCore, NetNS: t.lan.Host("app").Path(),
			Env: append(os.Environ(), append([]string{"REFCHAT_DSN=" + dsn, "REFCHAT_ADMIN_PASSWORD=" + adminPassword}, l.appEnv...)...),
		})
		if err != nil {
			return err
		}
		t.apps = append(t.apps, p)
		if err := p.Says(ctx, "listening on", 10*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// adminPassword is the administrator's, in namespaces that nothing else reaches.
const adminPassword = "Faults-sample-1"

// before starts the proxy before the instances.
func (t *topology) before(ctx context.Context, l layout) (err error) {
	var upstreams []string
	for _, port := range appPorts {
		upstreams = append(upstreams, fmt.Sprintf("%s:%d", t.lan.Addr("app"), port))
	}
	keep := l.keep
	if keep == 0 {
		keep = -1 // none
	}
	t.proxy, err = nginx.Start(ctx, nginx.Config{Dir: filepath.Join(t.dir, "proxy"), CPUs: serverCore, NetNS: t.lan.Host("proxy").Path(), Listen: ":80",
		Upstreams: upstreams, Keep: keep, Slots: l.slots, TLS: l.appTLS, Root: true})
	return err
}

// joinAt is where the agents join the search, and fleetKeys the file with their keys.
func (t *topology) joinAt() string    { return t.lan.WatchUsersAddr() + ":4222" }
func (t *topology) fleetKeys() string { return filepath.Join(t.dir, "fleet.json") }

// watch starts an agent with probes in each role's namespace, when the processes are in their control groups.
func (t *topology) watch(ctx context.Context) error {
	for _, role := range hosts {
		token := filepath.Join(t.dir, role+".nk")
		if _, err := join.NewToken(disk.OS{}, t.fleetKeys(), token); err != nil {
			return err
		}
		args := []string{"agent", "-join=nats://" + t.joinAt(), "-token-file=" + token, "-role=" + role, "-cpus=0"}
		for _, pid := range t.pids(role) {
			args = append(args, fmt.Sprintf("-pid=%s=%d", role, pid))
		}
		if role == "proxy" {
			args = append(args, "-nginx=http://127.0.0.1/nginx_status")
		}
		p, err := lab.Start(ctx, lab.Spec{Name: "agent of " + role, Path: t.program, Args: args, CPUs: serverCore, NetNS: t.lan.Host(role).Path()})
		if err != nil {
			return err
		}
		t.agents = append(t.agents, p)
		if err := p.Says(ctx, "no coordinator", 10*time.Second); err != nil {
			return err
		}
		t.watched = append(t.watched, fmt.Sprintf(`{kind: agent, role: %s}`, role))
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
		return t.proxy.PIDs()
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
		errs = append(errs, t.proxy.Kill())
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
	if t.lan != nil {
		errs = append(errs, t.lan.Close(ctx))
	}
	if t.users != nil {
		errs = append(errs, t.users.Delete(ctx))
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
