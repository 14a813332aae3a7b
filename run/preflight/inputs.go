package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/files"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/run/users"
)

// inputs checks the files, the directories and the variables that the plan names.
func (f *Inspection) inputs(ctx context.Context, log *Log) {
	f.users, _ = f.mostUsers()
	if ca := f.Plan.Target.CA; ca != "" {
		problem(log, "target.ca", Trust(ca))
	}
	file, err := users.ReadUsersFile(f.Plan)
	problem(log, "workload.users_file", err)
	f.accounts = file
	if file != nil && file.Caution != "" {
		log.Caution("workload.users_file", "%s", file.Caution)
	}
	seen := map[string]bool{}
	for i := range f.arms {
		a := &f.arms[i]
		f.program(log, *a)
		for _, engine := range a.engines {
			f.variables(log, *a, engine)
			if _, _, err := f.Data(a.target, engine); err != nil && !seen[err.Error()] {
				seen[err.Error()] = true
				problem(log, "target.dataset", err)
			}
		}
		a.target = f.ResolveAll(a.target, f.Plan.Workload, func(key string, err error) {
			key = strings.TrimPrefix(key, "target.")
			own := key == "url" && len(a.own.URL) > 0 ||
				key == "metrics_url" && len(a.own.MetricsURL) > 0
			if !strings.HasPrefix(key, "workload.") {
				key = a.at(key, own)
			}
			log.Problem(key, "%v", err)
		})
	}
	f.probeInputs(ctx, log)
	f.secrets(log)
}

// program checks that what an arm starts is there.
func (f *Inspection) program(log *Log, a armTarget) {
	t := a.target
	key := a.at("binary", a.own.Binary != "")
	if !t.OwnHost() || f.gone(log, key, t.Binary) {
		return
	}
	if len(t.Command) == 0 || t.Driver != plan.Process {
		if info, err := os.Stat(t.Binary); err == nil && !info.IsDir() {
			runnable(log, key, t.Binary)
		}
		return
	}
	name := t.Command[0]
	if strings.Contains(name, "$") { // it is filled in for each instance
		return
	}
	key = "target.command[0]"
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) && t.Binary != "" {
		name = filepath.Join(t.Binary, name)
		key = a.at("binary", a.own.Binary != "")
		if info, err := os.Stat(t.Binary); err == nil && !info.IsDir() {
			log.Problem(
				key,
				"%s is a file, and target.command is run in a directory; name the directory of the release",
				t.Binary,
			)
			return
		}
	}
	runnable(log, key, name)
}

// gone notes that a path of the plan leads to nothing; "" is no path.
func (f *Inspection) gone(log *Log, key, path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return false
	case errors.Is(err, fs.ErrNotExist):
		log.Problem(
			key,
			"%s is not there%s; build it, or write its path from the directory where plimsoll runs",
			path,
			from(path),
		)
	default:
		log.Problem(key, "%v", err)
	}
	return true
}

// from names the directory that a path is looked for in, unless it is a whole one.
func from(path string) string {
	dir, err := os.Getwd()
	if err != nil || filepath.IsAbs(path) {
		return ""
	}
	return " (looked for in " + dir + ")"
}

// runnable notes that a program cannot be run.
func runnable(log *Log, key, name string) {
	_, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
	case errors.Is(err, fs.ErrPermission):
		log.Problem(key, "%s is no program that may be run; make it one (chmod +x %s)", name, name)
	case strings.ContainsRune(name, filepath.Separator):
		log.Problem(
			key,
			"the program %s is not there%s; build it, or write its path from the directory where plimsoll runs",
			name,
			from(name),
		)
	default:
		log.Problem(key, "there is no program %s in PATH; install it, or write its path", name)
	}
}

// variables checks the references of an arm's environment.
func (f *Inspection) variables(log *Log, a armTarget, engine string) {
	env := a.target.Env.For(engine)
	own := a.own.Env.For(engine)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if _, err := plan.Expand(env[name], f.Lookup); err != nil {
			_, its := own[name]
			log.Problem(a.at("env."+name, its), "%v; set it where plimsoll runs", err)
		}
	}
}

// probeInputs checks the references of the plan's probes and of its Prometheus server.
func (f *Inspection) probeInputs(ctx context.Context, log *Log) {
	for i, p := range f.Plan.Probes {
		key := fmt.Sprintf("probes[%d]", i)
		for name, v := range map[string]string{"url": p.URL, "dsn": p.DSN} {
			full, err := plan.Expand(v, f.Lookup)
			if err != nil {
				log.Problem(key+"."+name, "%v; set it where plimsoll runs", err)
			}
			f.Hide(full)
		}
	}
	_, err := (&deploy.System{Probes: f.Plan.Probes}).Named(ctx)
	problem(log, "probes", err)
	full, err := plan.Expand(f.Plan.Metrics.Prometheus, f.Lookup)
	if err != nil {
		log.Problem("metrics.prometheus", "%v; set it where plimsoll runs", err)
	}
	f.Hide(full)
}

// secrets checks that those are given that the users need.
func (f *Inspection) secrets(log *Log) {
	d := f.Dialects.OfPlan(f.Plan)
	if d == nil || d.Wants == nil {
		return
	}
	env := f.envOf("")
	if env.Accounts == nil && f.Plan.Workload.UsersFile != "" { // it could not be read
		env.Accounts = new(workload.Accounts)
	}
	names, why := d.Wants(env, slices.Sorted(maps.Keys(f.Plan.Workload.Mix())))
	if len(names) == 0 {
		return
	}
	var variables []string
	key, unset := "workload.params."+names[0], ""
	for _, name := range names {
		variables = append(variables, deploy.Variable(name))
		if ref, ok := f.Plan.Workload.Params[name]; ok {
			_, err := plan.Expand(ref, f.Lookup)
			if files.Unreadable(err) { // which was reported
				return
			}
			if err != nil {
				key, unset = "workload.params."+name, fmt.Sprintf(" (%v)", err)
			}
		}
	}
	log.Problem(key, "no secret is given, and %s%s; set %s in the environment where plimsoll runs",
		why, unset, strings.Join(variables, " or "))
}
