package process

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/target"
)

// URL implements [target.Endpoint].
func (d *deployment) URL() string { return d.URLs()[0] }

// URLs implements [target.Endpoint].
func (d *deployment) URLs() []string {
	d.state.Lock()
	defer d.state.Unlock()
	if d.front.url != "" {
		return []string{d.front.url}
	}
	urls := make([]string, len(d.instances))
	for i, in := range d.instances {
		urls[i] = strings.TrimRight(in.URL, "/")
	}
	return urls
}

// MetricsURLs implements [target.Endpoint].
func (d *deployment) MetricsURLs() []string {
	if d.spec.MetricsURL == "" {
		return nil
	}
	d.state.Lock()
	defer d.state.Unlock()
	var urls []string
	for _, in := range d.instances {
		if url, err := d.instanceURL(in, d.spec.MetricsURL, "metrics URL"); err == nil {
			urls = append(urls, url)
		}
	}
	return urls
}

// ReadyURLs returns the addresses of a path or URL such as Spec.Ready where users reach the target,
// with the variables of each instance. Other references stay as they are, such as those to secrets.
func (d *deployment) ReadyURLs(ref string) []string {
	d.state.Lock()
	defer d.state.Unlock()
	var urls []string
	for _, in := range d.instances {
		vars, err := in.variables()
		if err != nil {
			continue // the start of the instance has reported it
		}
		own := os.Expand(ref, func(name string) string {
			switch v, ok := vars[name]; {
			case name == "$":
				return "$"
			case ok && !slices.Contains(plan.FilledSecrets, name):
				return v
			}
			return "${" + name + "}"
		})
		// by a proxy it is one for all
		if u := target.Join(cmp.Or(d.front.url, in.URL), own); !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}

// PIDs implements [target.Endpoint].
func (d *deployment) PIDs() map[string][]int {
	s := d.running()
	pids := map[string][]int{}
	add := func(role string, own ...int) {
		if len(own) > 0 {
			pids[role] = append(pids[role], own...)
		}
	}
	if s.proxy != nil {
		add(proxyRole, s.proxy.PIDs()...)
	}
	for _, p := range s.procs {
		select {
		case <-p.Done():
		default:
			add("app", p.PID())
		}
	}
	for role, c := range s.companions {
		add(role, c.PIDs()...)
	}
	for _, r := range s.replicas {
		add(replicaRole, r.PIDs()...)
	}
	if s.db != nil {
		add("db", s.db.PIDs()...)
	}
	return pids
}

// DSN returns the URL of the deployment's database, password included, for its probe; empty without
// one. It changes at Reset.
func (d *deployment) DSN() string {
	db := d.running().db
	if db == nil {
		return ""
	}
	return db.DSN(d.conf.Database)
}

// CompanionAddr returns where the companion of a role answers, host:port; false without one that
// runs. It changes at Reset.
func (d *deployment) CompanionAddr(role string) (addr string, ok bool) {
	c, ok := d.running().companions[role]
	if !ok {
		return "", false
	}
	return c.Addr(), true
}

// Describe implements [target.Deployment].
func (d *deployment) Describe() target.Description {
	desc := d.desc
	desc.Env = maps.Clone(desc.Env)
	desc.Command = slices.Clone(desc.Command)
	desc.URLs = slices.Clone(desc.URLs)
	desc.CPUs = slices.Clone(desc.CPUs)
	return desc
}

// environment returns the environment of every instance besides its own variables: ours, without
// variables that may hold secrets of this program or change a Go program's behavior unknown to the
// plan.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		k, _, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LD_LIBRARY_PATH"}, k) ||
			strings.HasPrefix(k, "LC_") {
			env = append(env, kv)
		}
	}
	return env
}

// portInUse recognizes a program that lost its port to another one.
func portInUse(output string) bool {
	return strings.Contains(strings.ToLower(output), "address already in use")
}
