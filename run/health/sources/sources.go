package sources

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/agent"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/probe/postgresql"
	"plimsoll/watch/series"
)

// Patience bounds the first answer of a plan's probe, before a run; in a run each has a second.
const Patience = 10 * time.Second

// An Opened is a probe or a scraper that was opened.
type Opened struct {
	Name    string
	probe   probe.Probe   // nil for a scraper
	scraper probe.Scraper // nil for a probe
	close   func() error
}

// Try reads it once.
func (o Opened) Try(ctx context.Context) (err error) {
	if o.scraper != nil {
		_, _, err = o.scraper.Scrape(ctx)
		return err
	}
	_, err = o.probe.Sample(ctx, time.Now())
	return err
}

// addTo has a runner sample it.
func (o Opened) addTo(r *probe.Runner) {
	if o.scraper != nil {
		r.AddScraper(o.scraper)
		return
	}
	r.Add(o.probe)
}

// server returns the name that the server behind a probe reports; "" if the probe does not know.
func (o Opened) server() string {
	p := o.probe
	if n, ok := p.(named); ok {
		p = n.Probe
	}
	if v, ok := p.(interface{ Server() string }); ok {
		return v.Server()
	}
	return ""
}

// Close closes sources. Nothing was written, so errors are ignored.
func Close(opened []Opened) {
	for _, o := range opened {
		_ = o.close()
	}
}

// nothing closes sources that need no close.
func nothing() error { return nil }

// A named is a probe with a name of ours.
type named struct {
	probe.Probe
	name string
}

func (n named) Name() string { return n.name }

// A namedScraper is a scraper with a name of ours.
type namedScraper struct {
	probe.Scraper
	name string
}

func (n namedScraper) Name() string { return n.name }

type closer interface {
	probe.Probe
	Close() error
}

// opened returns a probe that was just opened, under its own name.
func opened(p closer, err error) (Opened, error) {
	if err != nil {
		return Opened{}, err
	}
	return Opened{Name: p.Name(), probe: p, close: p.Close}, nil
}

// labels returns the labels of the series of an instance.
func labels(role, instance string) []series.Label {
	return []series.Label{{Name: "role", Value: role}, {Name: "instance", Value: instance}}
}

// Open makes a probe of a kind of the plan. at may be a secret: the name of the probe is made of
// kind and instance alone.
func Open(kind, at, role, instance string) (out Opened, err error) {
	of := labels(role, instance)
	name := kind + " " + instance
	switch kind {
	case plan.ProbePrometheus:
		p, err := probe.NewScrape(at, map[string]string{"role": role, "instance": instance})
		if err != nil {
			return Opened{}, err
		}
		return Opened{Name: name, scraper: namedScraper{p, name}, close: p.Close}, nil
	case plan.ProbePprof:
		out, err = opened(probe.NewPprof(at, of...))
	case plan.ProbeNginx:
		out, err = opened(probe.NewNginx(at, of...))
	case plan.ProbePostgreSQL:
		out, err = opened(postgresql.New(at, of...))
	case plan.ProbeMySQL:
		out, err = opened(mysql.New(at, of...))
	default:
		err = fmt.Errorf("there is no probe of kind %q", kind)
	}
	out.Name = name
	out.probe = named{out.probe, name}
	return out, err
}

// An Opener opens the sources of the runs of a plan.
type Opener struct {
	*deploy.Resolver
	Plan     *plan.Plan
	Watchers *Watchers // nil when no agent of another host has probes
}

// A Scope is the run that samples are taken for.
type Scope struct {
	DB    probe.Store
	Clock *clock.Clock
	// Turns are the run's part of the time; nil: all time is the run's.
	Turns *probe.Turns
	Cores map[string][]int // of the roles with their own cores on this host
	// Watch returns a scraper that passes its pages to another reader too; nil for none.
	Watch func(probe.Scraper) probe.Scraper
}

// Run returns a runner that samples all sources once a second of the run's clock. The caller calls
// end when the runner has ended.
func (o *Opener) Run(x *deploy.System, run Scope) (runner *probe.Runner, end func(), err error) {
	all, err := o.ofHost(x, run)
	if err == nil {
		var more []Opened
		more, err = o.ofTarget(x)
		all = append(all, more...)
	}
	if err != nil {
		Close(all)
		return nil, nil, err
	}
	runner = probe.NewRunner(run.DB, time.Second)
	runner.UseClock(run.Clock)
	for _, src := range all {
		if src.scraper != nil && run.Watch != nil {
			src.scraper = run.Watch(src.scraper)
		}
		src.addTo(runner)
	}
	return runner, func() { Close(all) }, nil
}

// ofHost opens the sources of this host, of the target's processes on it and of this program, and
// the target's pages of metrics. The caller closes the returned sources, also after an error.
func (o *Opener) ofHost(x *deploy.System, run Scope) (out []Opened, err error) {
	host, err := opened(probe.NewHost(probe.HostOptions{Roles: run.Cores, Turns: run.Turns}))
	if err != nil {
		return nil, err
	}
	out = append(out, host)
	roles := x.Roles()
	if len(roles) > 0 {
		p := probe.NewProcesses(roles)
		out = append(out, Opened{Name: p.Name(), probe: p, close: p.Close})
	}
	self, err := probe.NewSelf()
	if err != nil {
		return out, err
	}
	self.UseTurns(run.Turns)
	neighbors := probe.NewNeighbors(func() (pids []int) {
		for _, r := range roles {
			pids = append(pids, r.PIDs()...)
		}
		return pids
	})
	out = append(out, Opened{probe: neighbors, close: nothing}, Opened{probe: self, close: nothing})
	for i, url := range x.Deployment.MetricsURLs() {
		of := map[string]string{"role": "app", "instance": fmt.Sprint("app-", i)}
		sc, err := probe.NewScrape(url, of)
		if err != nil {
			return out, plan.Usagef("metrics_url: %w", err)
		}
		out = append(out, Opened{scraper: sc, close: sc.Close})
	}
	return out, nil
}

// ofTarget opens the other sources: control groups, the network device towards the target, its
// database, the servers around it, and the probes of the plan. It opens no connection yet. The
// caller closes the returned sources, also after an error.
func (o *Opener) ofTarget(x *deploy.System) (out []Opened, err error) {
	if roles := x.Roles(); len(roles) > 0 {
		c := probe.NewCgroups(roles)
		out = append(out, Opened{probe: c, close: c.Close})
	}
	if x.Device != "" && x.Device != "lo" {
		n, err := opened(probe.NewNIC(x.Device))
		if err != nil {
			return out, err
		}
		out = append(out, n)
	}
	if dsn := x.DSN(); dsn != "" {
		kinds := map[string]string{
			plan.PostgreSQL: plan.ProbePostgreSQL,
			plan.MySQL:      plan.ProbeMySQL,
		}
		db, err := Open(kinds[engineOf(x)], dsn, "db", "db-0")
		if err != nil {
			return out, err
		}
		out = append(out, db)
	}
	around, err := surroundings(x)
	out = append(out, around...)
	if err != nil {
		return out, err
	}
	listed, err := o.listed(x)
	return append(out, listed...), err
}

// listed opens the plan's probes, and then its Prometheus server.
func (o *Opener) listed(x *deploy.System) (out []Opened, err error) {
	next := map[string]int{"app": len(x.Deployment.MetricsURLs())}
	if x.DSN() != "" {
		next["db"] = 1
	}
	if x.Proxy() != nil {
		next["proxy"] = 1
	}
	for i, p := range x.Probes {
		if p.OfProcess() { // among the roles
			continue
		}
		src, err := o.listedProbe(x, i, fmt.Sprintf("%s-%d", p.Role, next[p.Role]))
		if err != nil {
			return out, plan.Usagef("probes[%d]: %w", i, err)
		}
		next[p.Role]++
		out = append(out, src)
	}
	watched, err := o.Prometheus(x.Metrics, len(x.Deployment.MetricsURLs()) > 0)
	return append(out, watched...), err
}

// listedProbe opens a probe of the plan, by its index.
func (o *Opener) listedProbe(x *deploy.System, index int, instance string) (Opened, error) {
	p := x.Probes[index]
	if p.OfAgent() {
		return o.ofAgent(x.Probes, index, instance)
	}
	at, err := plan.Expand(p.URL+p.DSN, o.Lookup) // it has one of the two
	if err != nil {
		return Opened{}, err
	}
	o.Hide(at)
	return Open(p.Kind, at, p.Role, instance)
}

// ofAgent makes the probe of another host, by its index.
func (o *Opener) ofAgent(probes []plan.Probe, index int, instance string) (Opened, error) {
	name, err := o.Watchers.of(o.Plan, probes, index)
	if err != nil {
		return Opened{}, err
	}
	r := agent.NewRemote(agent.RemoteConfig{
		Ask: o.Watchers.hall.Reader(name), Role: probes[index].Role, Instance: instance,
	})
	return Opened{Name: r.Name(), probe: r, close: nothing}, nil
}

// Survey tries each of the plan's probes once, so that a wrong address or a missing privilege is
// known before the first run and not after it. It returns its findings on a target that others run:
// the servers that the probes found, and how many servers are known by a page of metrics; empty if
// it saw nothing. Secrets in the name of a server are replaced.
func (o *Opener) Survey(ctx context.Context, x *deploy.System) (seen string, err error) {
	all, err := o.listed(x)
	defer Close(all)
	if err != nil {
		return "", err
	}
	asked := slices.DeleteFunc(slices.Clone(x.Probes), plan.Probe.OfProcess)
	for i, src := range all {
		err := src.Try(ctx)
		switch {
		case err != nil && i >= len(asked):
			return "", fmt.Errorf("metrics.prometheus of the plan (%s): %w", src.Name, err)
		case err != nil:
			p := asked[i]
			return "", fmt.Errorf("probes[%d] of the plan (%s, role %s): %w",
				slices.Index(x.Probes, p), p.Kind, p.Role, err)
		}
	}
	return seenText(all, x.Deployment.MetricsURLs(), o.Secrets), nil
}

// mostServer bounds the name that a server gives itself, in bytes.
const mostServer = 80

func seenText(all []Opened, pages []string, secrets *plain.Secrets) string {
	var seen []string
	if len(pages) > 1 {
		seen = append(seen, fmt.Sprintf("metrics of %d servers", len(pages)))
	}
	agents := map[string]int{}
	var roles []string
	for _, src := range all {
		if role, _, ok := ofAgentProbe(src.Name); ok {
			if agents[role]++; agents[role] == 1 {
				roles = append(roles, role)
			}
			continue
		}
		if name := src.server(); name != "" {
			_, instance, _ := strings.Cut(src.Name, " ")
			seen = append(seen, instance+" "+plain.Excerpt(secrets.Redact(name), mostServer))
		}
	}
	slices.Sort(roles)
	for _, role := range roles {
		seen = append(seen, fmt.Sprintf("%d × agent of %s", agents[role], role))
	}
	return strings.Join(seen, "; ")
}
