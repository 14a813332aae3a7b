package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	disk "plimsoll/internal/files"
	"plimsoll/load/fleet/join"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/lab/netns"
	"plimsoll/target/lab/nginx"
	"plimsoll/target/lab/postgresql"
)

// The hosts, of which each role has one. The generator is on the same switch; probes have a network
// of their own, so that faults on the first do not blind them.
var hosts = []string{"proxy", "app", "db"}

// The cores: the generator has one for itself.
var (
	serverCore    = []int{0}
	generatorCore = []int{1}
)

// appPorts are those of the two instances.
var appPorts = []int{8065, 8066}

// tlsAbove is how much further up the ports for TLS are.
const tlsAbove = 1000

// A layout holds the settings that a fault may change before anything runs.
type layout struct {
	appArgs  []string          // of both instances of refchat
	appEnv   []string          // beside ours
	dbWith   map[string]string // settings of PostgreSQL
	keep     int               // idle connections that nginx keeps to the instances; 0 for none
	slots    int               // connections of nginx's only worker
	settings map[string]string // of the kernel, in the app's network namespace
	around   string            // both instances, see around; PORT is above theirs
	// nginx speaks TLS to the instances at that port, and resumes no session
	appTLS bool
}

// A topology is a generator's side, a proxy, two instances of the reference server and their
// database, each a host of the network that plans have with target.topology.hosts: netns; the
// instances share one.
type topology struct {
	*study.Lab
	dir     string
	program string
	groups  map[string]*cgroup.Group // by role, made when a fault asks for one
	apps    []*lab.Process
	proxy   *nginx.Proxy
	watched []string       // the agents as a plan's probes
	others  []*lab.Process // of faults
}

// build makes a topology in dir, which must be new. The caller must call down, also after an error.
func build(ctx context.Context, dir, program string, l layout) (*topology, error) {
	t := &topology{
		Lab:     new(study.Lab),
		dir:     dir,
		program: program,
		groups:  map[string]*cgroup.Group{},
	}
	if _, err := cgroup.Sweep(); err != nil {
		return t, err
	}
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
	if t.Lab, err = study.NewLab(ctx, "generator", netns.LANConfig{
		Hosts:   hosts,
		Watched: true,
	}); err != nil {
		return err
	}
	for k, v := range l.settings {
		if err := t.Host("app").Set(ctx, k, v); err != nil {
			return err
		}
	}
	return nil
}

// url is where users reach the proxy.
func (t *topology) url() string { return "http://" + t.Addr("proxy") }

// metrics returns the pages of the instances, on the network of probes.
func (t *topology) metrics() (pages []string) {
	for _, port := range appPorts {
		pages = append(pages, fmt.Sprintf("http://%s:%d/metrics", t.WatchAddr("app"), port))
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
	return t.Serve(ctx, "db", postgresql.Config{
		Dir:      filepath.Join(t.dir, "pg"),
		CPUs:     serverCore,
		Settings: settings,
	})
}

func (t *topology) servers(ctx context.Context, l layout) error {
	dsn, err := t.DSN(t.Addr("db"))
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, port := range appPorts {
		args := []string{
			serverVerb,
			strings.Replace(l.around, "PORT", strconv.Itoa(port+tlsAbove), 1),
			"-listen=:" + strconv.Itoa(port),
			"-hash=bcrypt:4",
			"-files=" + filepath.Join(t.dir, "files"),
			fmt.Sprintf("-bus=127.0.0.1:%d", 9065+i),
			fmt.Sprintf("-peer=127.0.0.1:%d", 9065+1-i),
		}
		p, err := t.Start(ctx, "app", lab.Spec{
			Name: "refchat",
			Path: self,
			Args: append(args, l.appArgs...),
			CPUs: serverCore,
			Env: append(
				os.Environ(),
				append(
					[]string{"REFCHAT_DSN=" + dsn, "REFCHAT_ADMIN_PASSWORD=" + adminPassword},
					l.appEnv...)...),
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
		if l.appTLS {
			port += tlsAbove
		}
		upstreams = append(upstreams, fmt.Sprintf("%s:%d", t.Addr("app"), port))
	}
	keep := l.keep
	if keep == 0 {
		keep = -1 // none
	}
	t.proxy, err = nginx.Start(ctx, nginx.Config{
		Dir:       filepath.Join(t.dir, "proxy"),
		CPUs:      serverCore,
		NetNS:     t.Host("proxy").Path(),
		Listen:    ":80",
		Upstreams: upstreams,
		Keep:      keep,
		Slots:     l.slots,
		TLS:       l.appTLS,
		Root:      true,
	})
	return err
}

// joinAt is where the agents join the search, and fleetKeys the file with their keys.
func (t *topology) joinAt() string    { return t.WatchUsersAddr() + ":4222" }
func (t *topology) fleetKeys() string { return filepath.Join(t.dir, "fleet.json") }

// watch starts an agent with probes in each role's namespace, when the processes are in their
// control groups.
func (t *topology) watch(ctx context.Context) error {
	for _, role := range hosts {
		token := filepath.Join(t.dir, role+".nk")
		if _, err := join.NewToken(disk.OS{}, t.fleetKeys(), token); err != nil {
			return err
		}
		args := []string{
			"agent",
			"-join=nats://" + t.joinAt(),
			"-token-file=" + token,
			"-role=" + role,
			"-cpus=0",
		}
		for _, pid := range t.pids(role) {
			args = append(args, fmt.Sprintf("-pid=%s=%d", role, pid))
		}
		if role == "proxy" {
			args = append(args, "-nginx=http://127.0.0.1/nginx_status")
		}
		p, err := t.Start(ctx, role, lab.Spec{
			Name: "agent of " + role,
			Path: t.program,
			Args: args,
			CPUs: serverCore,
		})
		if err != nil {
			return err
		}
		if err := p.Says(ctx, "no coordinator", 10*time.Second); err != nil {
			return err
		}
		t.watched = append(t.watched, fmt.Sprintf(`{kind: agent, role: %s}`, role))
	}
	return nil
}

// group returns the control group of a role, with the role's processes in it once a limit is set by
// limit.
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
		return t.DB.PIDs()
	case "proxy":
		return t.proxy.PIDs()
	}
	return nil
}

// down ends everything and removes all traces. It may be called after any failure of build.
func (t *topology) down(ctx context.Context) error {
	var errs []error
	if t.proxy != nil {
		errs = append(errs, t.proxy.Kill())
	}
	for _, p := range t.others {
		errs = append(errs, p.Kill())
	}
	errs = append(errs, t.Down(ctx))
	for _, g := range t.groups {
		errs = append(errs, g.Remove())
	}
	return errors.Join(append(errs, os.RemoveAll(t.dir))...)
}
