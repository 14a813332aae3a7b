package deploy

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/deploy/stores"
	"plimsoll/target"
	"plimsoll/target/external"
	"plimsoll/target/process"
)

// driver returns the driver that a plan's target names, which has been checked. The database begins
// with a dump unless it is nil.
func (f *Deployments) driver(t plan.Target, provision func(context.Context, target.Endpoint) error,
	filled *dump.Dump, box *sandbox.Sandbox, dir string) target.Driver {
	if t.Driver == plan.External {
		return &external.Driver{
			ReadyTimeout:   t.Timeouts.Ready,
			InstallTimeout: t.Timeouts.Install,
			ResetTimeout:   t.Timeouts.Reset,
			Secrets:        f.Secrets,
		}
	}
	conf := process.Config{
		Databases: stores.Databases(filled, box.Stores(), t.Topology),
		Provision: provision,
		Placed:    box.Placed(dir),
	}
	if filled != nil {
		conf.Filled, conf.Database = true, filled.Manifest.Database
	}
	if own, ok := f.Drivers[t.Driver]; ok {
		conf.Name = t.Driver
		own.Configure(&conf, t.Profile, box.Stores())
	}
	if d, _ := f.Dialects.Driver(t.Driver); d.Release {
		conf.Version = f.releaseAt
	}
	stores.Surround(&conf, t.Topology, box.Side)
	return process.New(conf)
}

// releaseAt returns the number of the release that a server of the plan reports.
func (f *Deployments) releaseAt(ctx context.Context, at target.Endpoint) (string, error) {
	ctx, cancel := asking(ctx)
	defer cancel()
	env := workload.Env{URL: at.URL(), URLs: at.URLs(), Secrets: f.Secrets, Timeout: OpTimeout}
	names, err := f.Dialects.OfPlan(f.Plan).Release(ctx, env)
	if err != nil {
		return "", fmt.Errorf("reading the version of the server: %w", err)
	}
	return named("", names), nil
}

// spec translates the plan's target, with the arm laid over it.
func (f *Deployments) spec(t plan.Target, need Need, sys *System) (target.Spec, error) {
	spec := target.Spec{
		Name:        need.Arm,
		Version:     t.Version,
		Binary:      t.Binary,
		Args:        t.Args,
		Env:         map[string]string{},
		Secrets:     map[string]string{},
		Instances:   t.Instances,
		CPUs:        f.Targets,
		Engine:      need.Engine,
		Dir:         sys.Dir,
		URL:         t.URL.First(),
		URLs:        t.URL,
		Ready:       t.Ready,
		MetricsURL:  t.MetricsURL.First(),
		MetricsURLs: t.MetricsURL,
		StopSignal:  t.StopSignal,
		InstallCmd:  t.Install,
		ResetCmd:    t.Reset,
	}
	for k, v := range t.Env.For(need.Engine) {
		full, err := plan.Expand(v, f.Lookup)
		switch {
		case err != nil:
			return spec, plan.Usagef("target.env.%s: %w", k, err)
		case full == v:
			spec.Env[k] = v
		default:
			f.Secrets.Add(full)
			spec.Secrets[k] = full
		}
	}
	d, ok := f.Dialects.Driver(t.Driver)
	switch {
	case t.Driver == plan.External:
		spec.CPUs = nil // its processes already run
		spec.Ready = ReadyPage(f.Dialects, f.Plan, t)
	case ok:
		return spec, f.specOwn(&spec, d, t, need, sys)
	case t.Driver == plan.Process:
		spec.Ready = ReadyPage(f.Dialects, f.Plan, t)
		if len(t.Command) > 0 {
			specCommand(&spec, t)
		}
	}
	return spec, nil
}

// ReadyPage returns the page that shows that a server is ready whose driver knows none: the plan's,
// or the one of the users' kind of server, since the page "/" belongs to no API. A script asks for
// no page: any answer is enough.
func ReadyPage(speaks dialect.Set, p *plan.Plan, t plan.Target) string {
	d := speaks.OfPlan(p)
	switch {
	case t.Ready != "" || d == nil:
		return t.Ready
	case d.Any:
		return target.AnyAnswer
	case t.Driver == plan.External && len(d.Drivers) > 0:
		return d.Drivers[0].Ready
	}
	return ""
}

// specOwn completes the spec of a server of a dialect.
func (f *Deployments) specOwn(spec *target.Spec, d dialect.ServerDriver, t plan.Target,
	need Need, sys *System) error {
	if d.NeedsDatabase && need.Engine == "" {
		return plan.Usagef("database: %s needs one; name an engine, as in "+
			"database: {engine: postgresql}", f.Dialects.OfDriver(t.Driver).Title)
	}
	if d.Release {
		spec.WorkDir = spec.Binary
	} else if spec.Binary == "" {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		spec.Binary = exe
	}
	spec.Ready = cmp.Or(spec.Ready, d.Ready)
	spec.MetricsURL = cmp.Or(spec.MetricsURL, d.Metrics)
	for variable, secret := range d.Secrets {
		spec.Secrets[variable] = sys.secrets(secret)
	}
	return nil
}

// specCommand completes the spec of a server that a command starts, in the arm's release directory
// if it has one.
func specCommand(spec *target.Spec, t plan.Target) {
	spec.WorkDir, spec.Binary = spec.Binary, t.Command[0]
	relative := !filepath.IsAbs(spec.Binary) &&
		strings.ContainsRune(spec.Binary, filepath.Separator)
	if spec.WorkDir != "" && relative {
		spec.Binary = filepath.Join(spec.WorkDir, spec.Binary)
	}
	spec.Args = slices.Concat(t.Command[1:], t.Args)
}
