package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/dataset/dump"
	data "plimsoll/dataset/refchat"
	"plimsoll/dialect/mattermost"
	"plimsoll/engine"
	"plimsoll/lab/mysql"
	"plimsoll/lab/postgresql"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/target"
	"plimsoll/target/external"
	"plimsoll/target/process"
	"plimsoll/workload"
)

// known are the names that plans may use with this program.
func known() plan.Known {
	return plan.Known{
		Drivers:   []string{"refchat", "refnull", feedDriver, "process", "external"},
		Profiles:  map[string][]string{feedDriver: {feedQuick, feedFull}},
		Behaviors: slices.Sorted(maps.Keys(behaviors())),
		Ops:       opNames(),
		Apart:     mattermost.Apart(),
		Mixes:     mixNames(),
		Actions:   actionNames(),
		Arrivals:  arrivalBehaviors(behaviors()),
		Storms:    stormKinds(behaviors()),
		Refused:   refused,
		Roles:     map[string][]string{"refchat": {"app", "target", "generator"}, "refnull": {"app", "target", "generator"}, feedDriver: feedRoles, "process": {"app", "target", "generator"}, "external": {"generator"}},
	}
}

// databases are the supervisors that drivers may start at a place, with the data of a dump unless it is nil.
func databases(filled *dump.Dump, at side) map[string]target.StartDatabase {
	from := ""
	if filled != nil {
		from = filled.Data()
	}
	all := map[string]target.StartDatabase{
		plan.PostgreSQL: func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			s, err := postgresql.Start(ctx, postgresql.Config{Dir: dir, CPUs: cpus, Data: from, NetNS: at.netns, Addr: at.addr})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		plan.MySQL: func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			s, err := mysql.Start(ctx, mysql.Config{Dir: dir, CPUs: cpus, Data: from, NetNS: at.netns, Addr: at.addr})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
	if filled == nil {
		return all
	}
	for engine, start := range all {
		all[engine] = func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			if err := placeFiles(ctx, filled, filepath.Dir(dir)); err != nil { // in a directory that is ours by now
				return nil, err
			}
			return start(ctx, dir, cpus)
		}
	}
	return all
}

// A system is one arm on one database: deployed, provisioned, and between runs halted, so that it neither uses the
// cores nor the memory of the system that is under test.
type system struct {
	dep     target.Deployment
	ready   string // URL or path that says that it is
	device  string // network device towards it; "lo" when it is on this host
	dir     string // of its files, when they are on this host
	mix     []engine.Part
	secrets func(string) string
	known   *plain.Secrets
	house   *housing
}

// A halter can stop its programs and keep its state for the next reset.
type halter interface {
	Halt(ctx context.Context) error
}

func (s *system) reset(ctx context.Context) error {
	err := s.dep.Reset(ctx)
	if errors.Is(err, target.ErrNoReset) {
		return nil // the description says so, and so does the report
	}
	return err
}

func (s *system) halt(ctx context.Context) error {
	if h, ok := s.dep.(halter); ok {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return h.Halt(ctx)
	}
	return nil
}

func (s *system) describe() target.Description { return s.dep.Describe() }
func (s *system) metricsURLs() []string        { return s.dep.MetricsURLs() }

// roles are the processes to watch.
func (s *system) roles() []probe.Role {
	var out []probe.Role
	for _, role := range slices.Sorted(maps.Keys(s.dep.PIDs())) {
		out = append(out, probe.Role{Name: role, PIDs: func() []int { return s.dep.PIDs()[role] }})
	}
	return out
}

// env is what users of a run share, but for where they record.
func (s *system) env(p *plan.Plan, url string) workload.Env {
	return workload.Env{
		URL: url, Seed: p.Seed, Pace: p.Workload.Pace, Cold: p.Workload.Login == plan.LoginCold, Params: expanded(p, s.secrets),
		Secret: s.secrets, Secrets: s.known, Timeout: opTimeout,
		Mix: p.Workload.ActionMix, Weights: weights(p.Workload), Tally: new(workload.Tally), Ledger: workload.NewLedger(0, p.Seed),
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

// expanded are the settings of the behaviors, with references resolved where the setting is no secret.
func expanded(p *plan.Plan, value func(string) string) map[string]string {
	out := params(p)
	for k := range p.Workload.Params {
		if isSetting(k) && out[k] == "" {
			if v := value(k); v != "" {
				out[k] = v
			}
		}
	}
	return out
}

// resolve replaces references in the target's addresses, and reports those of the behaviors' settings that lead nowhere.
func (s *session) resolve(t plan.Target, w plan.Workload) (plan.Target, error) {
	for key, at := range map[string]*string{"url": &t.URL, "ready": &t.Ready, "metrics_url": &t.MetricsURL} {
		full, err := plan.Expand(*at, s.lookup)
		if err != nil {
			return t, usagef("target.%s: %w", key, err)
		}
		*at = full
		s.hide(full)
	}
	for k, v := range w.Params {
		// A secret that is not in the plan's place may be in the environment.
		if _, err := plan.Expand(v, s.lookup); err != nil && (isSetting(k) || unreadable(err)) {
			return t, usagef("workload.params.%s: %w", k, err)
		}
	}
	return t, nil
}

// newMix makes the behaviors of a plan, the main one first.
func newMix(p *plan.Plan) ([]engine.Part, error) {
	mix := p.Workload.Mix()
	names := slices.SortedFunc(maps.Keys(mix), func(a, b string) int {
		if a == p.Workload.Behavior || b == p.Workload.Behavior {
			return cmp.Compare(b2i(a != p.Workload.Behavior), b2i(b != p.Workload.Behavior))
		}
		return cmp.Compare(a, b)
	})
	if err := errors.Join(checkReferences(p.Workload.Params), checkSettings(names, params(p))); err != nil {
		return nil, usagef("workload.params: %w", err)
	}
	var parts []engine.Part
	for _, n := range names {
		parts = append(parts, engine.Part{Name: n, Behavior: behaviors()[n](), Share: mix[n]})
	}
	return parts, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// deployments deploys the systems of a session when they are first needed and stops them all at its end.
type deployments struct {
	s       *session
	dir     string
	mu      sync.Mutex
	systems map[string]*system
}

func (s *session) newDeployments() *deployments {
	return &deployments{s: s, dir: filepath.Join(s.store.Root(), "state"), systems: map[string]*system{}}
}

// system returns the part's arm on its engine, deployed and provisioned for as many users as the part's tests may need.
func (f *deployments) system(ctx context.Context, pt part) (*system, error) {
	arm, eng := pt.arm, pt.engine
	f.mu.Lock()
	defer f.mu.Unlock()
	key := strings.Trim(arm+"-"+eng, "-")
	if sys := f.systems[key]; sys != nil {
		return sys, nil
	}
	p := f.s.plan
	mix, err := newMix(p)
	if err != nil {
		return nil, err
	}
	sys := &system{mix: mix, secrets: f.s.secretsOf(p), known: f.s.secrets}
	t := p.Target
	var how *plan.Deployment
	if p.Compare != nil {
		if a, ok := p.Compare.Arm(arm); ok {
			t, how = t.With(a), a.Deployment
		}
	}
	ready := t.Ready // with its references
	if t, err = f.s.resolve(t, p.Workload); err != nil {
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
		spec.Dataset = datasetText(filled)
	}
	users := f.s.users(pt)
	if _, err := f.s.layout(ctx, cmp.Or(t.URL, "http://127.0.0.1"), mix, users); err != nil {
		return nil, err
	}
	provisioned := func(ctx context.Context, at target.Endpoint) error {
		f.s.prog.doing("provisioning", 0)
		env := sys.env(p, at.URL())
		env.Log = func(format string, args ...any) { f.s.prog.doing(fmt.Sprintf(format, args...), 0) }
		return provision(ctx, env, mix, users)
	}
	sys.ready, sys.dir = cmp.Or(ready, spec.Ready), spec.Dir
	f.s.prog.doing("deploying", 0)
	if sys.house, err = f.house(ctx, how, len(f.systems)); err != nil {
		return nil, err
	}
	spec.URL = cmp.Or(sys.house.url(), spec.URL)
	if sys.dep, err = f.driver(t, provisioned, filled, sys.house, spec.Dir).Deploy(ctx, spec); err != nil {
		return nil, errors.Join(err, sys.house.close(context.WithoutCancel(ctx)))
	}
	f.systems[key] = sys // from here on close stops it
	f.s.learn(sys)
	if err := f.s.survey(ctx, sys); err != nil {
		return nil, err
	}
	if t.Driver == "external" {
		if err := provisioned(ctx, sys.dep); err != nil {
			return nil, fmt.Errorf("provisioning: %w", err)
		}
	}
	return sys, nil
}

// driver returns the driver that a plan's target names, which has been checked. The database begins with a dump, if there is one.
func (f *deployments) driver(t plan.Target, provision func(context.Context, target.Endpoint) error, filled *dump.Dump, h *housing, dir string) target.Driver {
	conf := process.Config{Databases: databases(filled, h.stores()), Provision: provision, Placed: h.placed(dir)}
	if filled != nil {
		conf.Filled, conf.Database = true, filled.Manifest.Database
	}
	switch t.Driver {
	case "external":
		return &external.Driver{}
	case "refchat":
		conf.Name, conf.Command = t.Driver, refchatCommand
	case "refnull":
		conf.Name, conf.Databases, conf.Command = t.Driver, nil, refnullCommand
	case feedDriver:
		conf.Name, conf.Database = t.Driver, "newsfeed"
		conf.Command, conf.Companions = feedCommand(t.Profile), feedCompanions(t.Profile, h.stores())
	}
	return process.New(conf)
}

// spec translates the plan's target, with the arm laid over it.
func (f *deployments) spec(t plan.Target, arm, eng, dir string, sys *system) (target.Spec, error) {
	spec := target.Spec{Name: arm, Version: t.Version, Binary: t.Binary, Args: t.Args, Env: map[string]string{}, Secrets: map[string]string{},
		Instances: t.Instances, CPUs: f.s.targets, Engine: eng, Dir: dir, URL: t.URL, Ready: t.Ready, MetricsURL: t.MetricsURL, StopSignal: t.StopSignal}
	for k, v := range t.Env {
		full, err := plan.Expand(v, f.s.lookup)
		if err != nil {
			return spec, usagef("target.env.%s: %w", k, err)
		}
		if full != v {
			f.s.secrets.Add(full)
			spec.Secrets[k] = full
		} else {
			spec.Env[k] = v
		}
	}
	switch t.Driver {
	case "refchat", "refnull":
		if spec.Binary == "" {
			exe, err := os.Executable()
			if err != nil {
				return spec, fmt.Errorf("finding this program: %w", err)
			}
			spec.Binary = exe
		}
		spec.Ready = cmp.Or(spec.Ready, "/api/v4/system/ping")
		if t.Driver == "refchat" {
			spec.MetricsURL = cmp.Or(spec.MetricsURL, "/metrics")
			spec.Secrets["REFCHAT_ADMIN_PASSWORD"] = sys.secrets("admin_password")
		}
	case feedDriver:
		if eng == "" {
			return spec, usagef("database: the news feed needs one; name an engine, as in database: {engine: postgresql}")
		}
		if spec.Binary == "" {
			exe, err := os.Executable()
			if err != nil {
				return spec, fmt.Errorf("finding this program: %w", err)
			}
			spec.Binary = exe
		}
		spec.Ready, spec.MetricsURL = cmp.Or(spec.Ready, "/health"), cmp.Or(spec.MetricsURL, "/metrics")
	case "process":
		if len(t.Command) > 0 {
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
	}
	return spec, nil
}

// refchatCommand starts this program's reference server, or another build of it.
func refchatCommand(spec target.Spec, in process.Instance) (process.Command, error) {
	args := []string{"refchat", "-listen=${HOSTPORT}"}
	if v := played(spec.Version); v != "" {
		args = append(args, "-version="+v)
	}
	if spec.Instances > 1 || spec.Dataset != "" {
		args = append(args, "-files=${DIR}/files")
	}
	if spec.Instances > 1 {
		args = append(args, fmt.Sprintf("-bus=127.0.0.1:%d", in.Ports[1]))
		for i, p := range in.Peers {
			if i != in.Index {
				args = append(args, fmt.Sprintf("-peer=127.0.0.1:%d", p[1]))
			}
		}
	}
	cores := len(spec.CPUs)
	env := map[string]string{"REFCHAT_DSN": "${DSN}"}
	if cores > 0 {
		env["GOMAXPROCS"] = fmt.Sprint(cores)
	}
	return process.Command{Path: spec.Binary, Args: append(args, spec.Args...), Env: env}, nil
}

// refnullCommand starts this program's null server.
func refnullCommand(spec target.Spec, _ process.Instance) (process.Command, error) {
	env := map[string]string{}
	if n := len(spec.CPUs); n > 0 {
		env["GOMAXPROCS"] = fmt.Sprint(n)
	}
	return process.Command{Path: spec.Binary, Args: append([]string{"refnull", "-listen=${HOSTPORT}"}, spec.Args...), Env: env}, nil
}

// releaseRE is the form of the releases that the reference server plays.
var releaseRE = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}(\.[0-9]{1,9}(-[0-9A-Za-z.]+)?)?$`)

// played returns the version of a plan that the reference server is to play, or "" for one that is only a text for people: with another
// form it would not start.
func played(v string) string {
	if !releaseRE.MatchString(v) {
		return ""
	}
	return v
}

// close stops all systems.
func (f *deployments) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, sys := range f.systems {
		wg.Go(func() {
			if err := errors.Join(sys.dep.Stop(ctx), sys.house.close(ctx)); err != nil {
				f.s.prog.say("stopping: %v", err)
			}
		})
	}
	wg.Wait()
	f.systems = map[string]*system{}
}

// learn remembers what may not be shown of a system that has been deployed or reset.
func (s *session) learn(sys *system) {
	if d, ok := sys.dep.(databased); ok {
		s.hide(d.DSN())
	}
}

// hide remembers an address with a password in it, and the password.
func (a *app) hide(addresses ...string) {
	for _, at := range addresses {
		if password := plan.PasswordIn(at); password != "" {
			a.secrets.Add(at, password)
			if raw, err := url.PathUnescape(password); err == nil {
				a.secrets.Add(raw)
			}
		}
	}
}

// secretsOf returns where behaviors find their secrets: the plan's own references under their names, then the
// environment as PLIMSOLL_NAME. The administrator of a server that we start gets a password of its own, unless the
// environment has one for people who want to log in.
func (s *session) secretsOf(p *plan.Plan) func(string) string {
	own := ""
	// A server whose database we make begins without accounts.
	if ownsHost(p) && (p.Target.Driver != "process" || len(p.Database.Engine) > 0) {
		var b [12]byte
		if _, err := rand.Read(b[:]); err != nil {
			panic(err) // crypto/rand never fails on a system that runs
		}
		own = "Aa1!" + hex.EncodeToString(b[:])
	}
	value := func(name string) string {
		if v, ok := p.Workload.Params[name]; ok {
			if full, err := plan.Expand(v, s.lookup); err == nil && full != v {
				return full
			}
		}
		if v := s.env("PLIMSOLL_" + strings.ToUpper(name)); v != "" {
			return v
		}
		if name == "admin_password" {
			return own
		}
		if name == "user_password" && p.Target.Driver == "refchat" && p.Target.Filled() {
			return data.DefaultPassword // the people are there already
		}
		return ""
	}
	return func(name string) string {
		v := value(name)
		if !isSetting(name) {
			s.secrets.Add(v)
		}
		return v
	}
}

// lookup resolves a plan's references.
func (s *session) lookup(kind, name string) (string, error) {
	if kind == "ENV" {
		if v := s.env(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	b, err := readRegular(name, maxSecret)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

var _ target.Database = (*postgresql.Server)(nil)
var _ target.Database = (*mysql.Server)(nil)
