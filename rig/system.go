package rig

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/dialect"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/sharedhost"
	"plimsoll/run/users"
	"plimsoll/target"
	"plimsoll/target/container"
	"plimsoll/target/external"
	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
)

// databases are the supervisors that drivers may start at a place, with the data of a dump unless it is nil.
func databases(filled *dump.Dump, at Side, around *plan.Topology) map[string]target.StartDatabase {
	from := ""
	if filled != nil {
		from = filled.Data()
	}
	all := map[string]target.StartDatabase{}
	for engine, replicable := range map[string]func() map[string]string{plan.PostgreSQL: postgresql.ForStandbys, plan.MySQL: mysql.ForMirrors} {
		all[engine] = func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			if filled != nil {
				if err := placeFiles(ctx, filled, filepath.Dir(dir)); err != nil { // in a directory that is ours by now
					return nil, err
				}
			}
			return startServer(ctx, engine, database.Config{Dir: dir, CPUs: cpus, Data: from, NetNS: at.NetNS, Addr: at.Addr,
				Settings: ofPrimary(around, replicable)})
		}
	}
	return all
}

// A System is one arm on one database: deployed, provisioned, and between runs halted, so that it neither uses the
// cores nor the memory of the system that is under test.
type System struct {
	Deployment target.Deployment
	Ready      string // URL or path that reports that it is
	device     string // network device towards it; "lo" when it is on this host
	dir        string // of its files, when they are on this host
	mix        []engine.Part
	secrets    func(string) string
	known      *plain.Secrets
	speaks     dialect.Set
	placement  *placement
	probes     []plan.Probe // of its arm, the plan's among them
	metrics    plan.MetricsServer
	commanded  *commanded // nil: the plan has no commands for it
	// local is nil where nothing of a target of others is on this host. told is where it runs, as last reported.
	local *sharedhost.Resident
	told  string
	// inTurns is true in a duet: nothing of others is paused, and a probe would count the turns of the other arms.
	inTurns bool
}

// A halter can stop its programs and keep its state for the next reset.
type halter interface {
	Halt(ctx context.Context) error
}

func (s *System) reset(ctx context.Context) error {
	err := s.Deployment.Reset(ctx)
	if errors.Is(err, target.ErrNoReset) {
		return nil // the description states that, and so does the report
	}
	return err
}

func (s *System) halt(ctx context.Context) error {
	if h, ok := s.Deployment.(halter); ok {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return h.Halt(ctx)
	}
	return nil
}

func (s *System) describe() target.Description { return s.Deployment.Describe() }
func (s *System) metricsURLs() []string        { return s.Deployment.MetricsURLs() }

// roles are the processes to watch.
func (s *System) roles() []probe.Role {
	var out []probe.Role
	for _, role := range slices.Sorted(maps.Keys(s.Deployment.PIDs())) {
		out = append(out, probe.Role{Name: role, PIDs: func() []int { return s.Deployment.PIDs()[role] }, CPU: s.placement.cpu(role)})
	}
	if !s.inTurns {
		for _, role := range s.local.Roles() {
			out = append(out, probe.Role{Name: role, PIDs: func() []int { return s.local.PIDs(role) }})
		}
	}
	return out
}

// named returns the processes that the plan names, by role.
func (s *System) named(ctx context.Context) (map[string][]int, error) {
	out := map[string][]int{}
	for i, p := range s.probes {
		if !p.OfProcess() {
			continue
		}
		pid := p.PID
		if p.Kind == plan.ProbeContainer {
			var err error
			if pid, err = container.Find(ctx, p.Container); err != nil {
				return nil, plan.Usagef("probes[%d]: %w", i, err)
			}
		}
		if probe.Command(pid) == "" {
			return nil, plan.Usagef("probes[%d].pid: there is no process %d on this host; want the number of the server's first process", i, pid)
		}
		out[p.Role] = append(out[p.Role], pid)
	}
	return out, nil
}

// env is the environment that users of a run share, except for their recorder.
func (s *System) env(p *plan.Plan, at target.Endpoint) workload.Env {
	return workload.Env{
		URL: at.URL(), URLs: at.URLs(), HTTP2: p.Target.HTTP == plan.HTTP2, Seed: p.Seed, Pace: p.Workload.Pace, Cold: p.Workload.Login == plan.LoginCold, Params: s.expanded(p),
		Secret: s.secrets, Secrets: s.known, Timeout: opTimeout,
		Mix: p.Workload.ActionMix, Weights: s.speaks.Weights(p.Workload), Tally: new(workload.Tally), Ledger: workload.NewLedger(0, p.Seed),
	}
}

func params(p *plan.Plan) map[string]string {
	out := maps.Clone(p.Workload.Params)
	for k, v := range out {
		if strings.Contains(v, "${") {
			delete(out, k) // a reference to a secret; the secret is asked for by its name
		}
	}
	return out
}

// expanded are the settings of the behaviors, with references resolved where the setting is not a
// secret.
func (s *System) expanded(p *plan.Plan) map[string]string {
	out := params(p)
	for k := range p.Workload.Params {
		if s.speaks.IsSetting(k) && out[k] == "" {
			if v := s.secrets(k); v != "" {
				out[k] = v
			}
		}
	}
	return out
}

// Resolve replaces references in the target's addresses, and reports those of the behaviors' settings that lead
// nowhere.
func (pr *Program) Resolve(t plan.Target, w plan.Workload) (_ plan.Target, err error) {
	t = pr.resolve(t, w, func(key string, why error) { err = cmp.Or(err, plan.Usagef("%s: %w", key, why)) })
	return t, err
}

// resolve is Resolve that reports each reference that leads nowhere, with its key. One in an address stays there.
func (pr *Program) resolve(t plan.Target, w plan.Workload, report func(key string, err error)) plan.Target {
	t.URL, t.MetricsURL = slices.Clone(t.URL), slices.Clone(t.MetricsURL)
	ready := []string{t.Ready}
	for key, list := range map[string][]string{"url": t.URL, "ready": ready, "metrics_url": t.MetricsURL} {
		for i, at := range list {
			full, err := plan.Expand(at, pr.Lookup)
			if err != nil {
				report("target."+key, err)
				continue
			}
			list[i] = full
			pr.hide(full)
		}
	}
	t.Ready = ready[0]
	for k, v := range w.Params {
		// A secret that is not in the plan's place may be in the environment.
		if _, err := plan.Expand(v, pr.Lookup); err != nil && (pr.Dialects.IsSetting(k) || unreadable(err)) {
			report("workload.params."+k, err)
		}
	}
	return t
}

// newMix makes the behaviors of a plan, the main one first.
func newMix(speaks dialect.Set, p *plan.Plan) ([]engine.Part, error) {
	mix := p.Workload.Mix()
	names := slices.Sorted(maps.Keys(mix))
	if i := slices.Index(names, p.Workload.Behavior); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, p.Workload.Behavior)
	}
	if err := speaks.CheckSettings(names, p.Workload.Params); err != nil {
		return nil, plan.Usagef("workload.params: %w", err)
	}
	behaviors := speaks.Behaviors()
	var parts []engine.Part
	for _, n := range names {
		parts = append(parts, engine.Part{Name: n, Behavior: behaviors[n](), Share: mix[n]})
	}
	return parts, nil
}

// Deployments deploys the systems of a session when they are first needed and stops them all at its end.
type Deployments struct {
	s       *Session
	dir     string
	mu      sync.Mutex
	systems map[string]*System
	made    []string // state directories that Clear removes
	// Kept is true where the state directories stay after the command, however it ends, and after every later one. It is
	// set before the first System.
	Kept    bool
	grounds *grounds

	pausable bool // the systems are up at once and stand still by turns, as in a duet; set before the first System
}

// NewDeployments returns the deployments of a session, with none yet. The caller calls Close.
func (s *Session) NewDeployments() *Deployments {
	return &Deployments{s: s, dir: filepath.Join(s.Store.Root(), "state"), systems: map[string]*System{}, grounds: newGrounds()}
}

// System returns the part's arm on its engine, deployed and provisioned for as many users as the part's tests may need.
func (f *Deployments) System(ctx context.Context, pt RunPart) (*System, error) {
	arm, eng := pt.Arm, pt.Engine
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.s.Plan
	name := strings.Trim(arm+"-"+eng, "-")
	at := cmp.Or(p.Place(arm, pt.Block).Name, arm)
	key := cmp.Or(name, "target") // of a plan without arms and databases; a directory below f.dir, which Clear removes
	if at != arm {                // the arms exchange their addresses
		key += "@" + at
	}
	if sys := f.systems[key]; sys != nil {
		return sys, nil
	}
	mix, err := newMix(f.s.Dialects, p)
	if err != nil {
		return nil, err
	}
	sys := &System{mix: mix, secrets: f.s.secretsOf(p), known: f.s.Secrets, speaks: f.s.Dialects, probes: p.ProbesOf(at), metrics: p.MetricsOf(at)}
	t := p.Target
	var how *plan.Deployment
	if p.Compare != nil {
		if a, ok := p.Compare.Arm(arm); ok {
			t, how = p.TargetOf(a, pt.Block), a.Deployment
		}
	}
	ready := t.Ready // with its references
	if t, err = f.s.Resolve(t, p.Workload); err != nil {
		return nil, err
	}
	spec, err := f.spec(t, arm, eng, filepath.Join(f.dir, key), sys)
	if err != nil {
		return nil, err
	}
	var filled *dump.Dump
	if t.Filled() {
		if filled, err = f.s.datasetFor(ctx, t, eng); err != nil {
			return nil, err
		}
		spec.Dataset = DatasetText(filled)
	}
	most := f.s.Users(pt)
	if _, err := users.LayOut(ctx, f.s.Plan, f.s.crew, cmp.Or(t.URL.First(), "http://127.0.0.1"), mix, most); err != nil {
		return nil, err
	}
	provisioned := func(ctx context.Context, at target.Endpoint) error {
		f.s.Progress.Doing("provisioning", 0)
		env := sys.env(p, at)
		env.Log = func(format string, args ...any) { f.s.Progress.Step("provisioning", fmt.Sprintf(format, args...), 0) }
		return users.Provision(ctx, env, mix, most, f.s.accounts)
	}
	sys.Ready, sys.dir = cmp.Or(ready, spec.Ready), spec.Dir
	if t.Driver != plan.External { // which has no state here
		if err := f.claim(spec.Dir, pt.Comparison); err != nil {
			return nil, err
		}
	}
	f.s.Progress.Doing("deploying", 0)
	if sys.placement, err = f.place(ctx, t, how, eng, len(f.systems)); err != nil {
		return nil, err
	}
	spec.URL = cmp.Or(sys.placement.url(), spec.URL)
	if sys.Deployment, err = f.driver(t, provisioned, filled, sys.placement, spec.Dir).Deploy(ctx, spec); err != nil {
		err = errors.Join(err, sys.placement.close(context.WithoutCancel(ctx)))
		if errors.Is(err, target.ErrProvision) && ctx.Err() == nil && f.ofNewArm(pt) {
			f.made = slices.DeleteFunc(f.made, func(dir string) bool { return dir == spec.Dir }) // its log is to be read
			spec.Driver = t.Driver
			sys.Deployment = unprovisioned{spec: spec, cause: err}
			return sys, nil // each run of the arm tries again
		}
		return nil, err
	}
	f.systems[key] = sys // from here on close stops it
	f.s.learn(sys)
	if sys.commanded, err = f.commandsOf(sys, t, name, eng, provisioned); err != nil || sys.commanded != nil {
		return sys, err // each run prepares it
	}
	if err := f.s.survey(ctx, sys); err != nil {
		return nil, err
	}
	if t.Driver == plan.External {
		if err := provisioned(ctx, sys.Deployment); err != nil {
			return nil, fmt.Errorf("provisioning: %w", err)
		}
	}
	return sys, nil
}

// ofNewArm reports whether a part is of a comparison's arm that is not the base. Without the base there is nothing to
// compare with.
func (f *Deployments) ofNewArm(pt RunPart) bool {
	c := f.s.Plan.Compare
	return pt.Comparison != "" && c != nil && pt.Arm != c.Arms[0].Name
}

// driver returns the driver that a plan's target names, which has been checked. The database begins with a dump, if
// there is one.
func (f *Deployments) driver(t plan.Target, provision func(context.Context, target.Endpoint) error, filled *dump.Dump, h *placement, dir string) target.Driver {
	conf := process.Config{Databases: databases(filled, h.stores(), t.Topology), Provision: provision, Placed: h.placed(dir)}
	if filled != nil {
		conf.Filled, conf.Database = true, filled.Manifest.Database
	}
	if t.Driver == plan.External {
		return &external.Driver{ReadyTimeout: t.Timeouts.Ready, InstallTimeout: t.Timeouts.Install, ResetTimeout: t.Timeouts.Reset, Secrets: f.s.Secrets}
	}
	if own, ok := f.s.Drivers[t.Driver]; ok {
		conf.Name = t.Driver
		own.Configure(&conf, t.Profile, h.stores())
	}
	if d, _ := f.s.Dialects.Driver(t.Driver); d.Release {
		conf.Version = f.s.releaseAt
	}
	surround(&conf, t.Topology, h)
	return process.New(conf)
}

// spec translates the plan's target, with the arm laid over it.
func (f *Deployments) spec(t plan.Target, arm, eng, dir string, sys *System) (target.Spec, error) {
	spec := target.Spec{Name: arm, Version: t.Version, Binary: t.Binary, Args: t.Args, Env: map[string]string{}, Secrets: map[string]string{},
		Instances: t.Instances, CPUs: f.s.targets, Engine: eng, Dir: dir, URL: t.URL.First(), URLs: t.URL, Ready: t.Ready, MetricsURL: t.MetricsURL.First(), MetricsURLs: t.MetricsURL, StopSignal: t.StopSignal, InstallCmd: t.Install, ResetCmd: t.Reset}
	if t.Driver == plan.External { // whose processes are there already
		spec.CPUs = nil
	}
	for k, v := range t.Env.For(eng) {
		full, err := plan.Expand(v, f.s.Lookup)
		if err != nil {
			return spec, plan.Usagef("target.env.%s: %w", k, err)
		}
		if full != v {
			f.s.Secrets.Add(full)
			spec.Secrets[k] = full
		} else {
			spec.Env[k] = v
		}
	}
	if d := f.s.Dialects.OfPlan(f.s.Plan); t.Driver == plan.External && d != nil && len(d.Drivers) > 0 {
		spec.Ready = cmp.Or(spec.Ready, d.Drivers[0].Ready) // the page "/" belongs to no API
	}
	if d, ok := f.s.Dialects.Driver(t.Driver); ok {
		if d.NeedsDatabase && eng == "" {
			return spec, plan.Usagef("database: %s needs one; name an engine, as in database: {engine: postgresql}", f.s.Dialects.OfDriver(t.Driver).Title)
		}
		if d.Release {
			spec.WorkDir = spec.Binary
		} else if spec.Binary == "" {
			var err error
			if spec.Binary, err = lab.Executable(); err != nil {
				return spec, err
			}
		}
		spec.Ready, spec.MetricsURL = cmp.Or(spec.Ready, d.Ready), cmp.Or(spec.MetricsURL, d.Metrics)
		for variable, secret := range d.Secrets {
			spec.Secrets[variable] = sys.secrets(secret)
		}
	} else if t.Driver == plan.Process && len(t.Command) > 0 {
		if spec.Binary != "" { // the arm's release directory, in which the command runs
			spec.WorkDir = spec.Binary
			spec.Binary = t.Command[0]
			if !filepath.IsAbs(spec.Binary) && strings.ContainsRune(spec.Binary, filepath.Separator) {
				spec.Binary = filepath.Join(spec.WorkDir, spec.Binary)
			}
		} else {
			spec.Binary = t.Command[0]
		}
		spec.Args = slices.Concat(t.Command[1:], t.Args)
	}
	return spec, nil
}

// endPatience is how long the programs of a system may take to end, and how long the removal of its networks and control
// groups.
const endPatience = 15 * time.Second

// end stops programs, and then removes what they were in, each within its own time: the second is tried too when the
// first took all of its.
func end(stop, remove func(context.Context) error) error {
	var errs []error
	for _, f := range []func(context.Context) error{stop, remove} {
		ctx, cancel := context.WithTimeout(context.Background(), endPatience)
		errs = append(errs, f(ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// Close stops all systems.
func (f *Deployments) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wg sync.WaitGroup
	for _, sys := range f.systems {
		wg.Go(func() {
			err := errors.Join(sys.local.End(), end(sys.Deployment.Stop, sys.placement.close))
			if err != nil {
				f.s.Progress.Say("stopping: %v", err)
			}
		})
	}
	wg.Wait()
	f.systems = map[string]*System{}
}

// A databased deployment has a database of its own.
type databased interface {
	// DSN returns its address, password included; empty without one. It changes at Reset.
	DSN() string
}

// A replicated deployment may have copies of its database.
type replicated interface {
	// ReplicaDSNs returns their addresses, passwords included. They change at Reset.
	ReplicaDSNs() []string
}

// learn adds the secrets of a system that has been deployed or reset.
func (s *Session) learn(sys *System) {
	if d, ok := sys.Deployment.(databased); ok {
		s.hide(d.DSN())
	}
	if d, ok := sys.Deployment.(replicated); ok {
		s.hide(d.ReplicaDSNs()...)
	}
}

// secretsOf returns where behaviors find their secrets: the plan's own references under their names, then the
// environment as PLIMSOLL_NAME. The administrator of a server that we start gets a password of its own, unless the
// environment has one for people who want to log in.
func (pr *Program) secretsOf(p *plan.Plan) func(string) string {
	own := ""
	// A server whose database we make begins without accounts, unless the users have theirs already.
	if p.Target.OwnHost() && (p.Target.Driver != plan.Process || len(p.Database.Engine) > 0 && p.Workload.UsersFile == "") {
		var b [12]byte
		if _, err := rand.Read(b[:]); err != nil {
			panic(err) // crypto/rand never fails on a system that runs
		}
		own = "Aa1!" + hex.EncodeToString(b[:])
	}
	value := func(name string) string {
		if v, ok := p.Workload.Params[name]; ok {
			if full, err := plan.Expand(v, pr.Lookup); err == nil && full != v {
				return full
			}
		}
		if v := pr.Env(variableOf(name)); v != "" {
			return v
		}
		if name == "admin_password" {
			return own
		}
		if name == "user_password" && p.Target.Filled() {
			return pr.Drivers[p.Target.Driver].UserPassword // the people are there already
		}
		return ""
	}
	return func(name string) string {
		v := value(name)
		if !pr.Dialects.IsSetting(name) {
			pr.Secrets.Add(v)
		}
		return v
	}
}

// Lookup resolves a plan's references.
func (pr *Program) Lookup(kind, name string) (string, error) {
	if kind == "ENV" {
		if v := pr.Env(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	b, err := files.ReadText(name, MaxSecret)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

var _ target.Database = (*database.Server)(nil)
