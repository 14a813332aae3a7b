package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/target/external"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/agent"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/probe/postgresql"
)

// probePatience bounds the first answer of a plan's probe, before a run; in a run each has a second.
const probePatience = 10 * time.Second

// A source is a probe or a scraper; the other is nil.
type source struct {
	probe   probe.Probe
	scraper probe.Scraper
	close   func() error
}

func (s source) addTo(r *probe.Runner) {
	if s.scraper != nil {
		r.AddScraper(s.scraper)
	} else {
		r.Add(s.probe)
	}
}

// try reads it once.
func (s source) try(ctx context.Context) (err error) {
	if s.scraper != nil {
		_, _, err = s.scraper.Scrape(ctx)
	} else {
		_, err = s.probe.Sample(ctx, time.Now())
	}
	return err
}

// sources returns the sources beside host, processes, this program and the target's metrics: control groups, the
// network device towards the target, its database, the servers around it, and the probes of the plan. Nothing is connected to yet. The
// caller closes the sources that it gets, also with an error.
func (s *Session) sources(sys *deploy.System) (out []source, err error) {
	if procs := sys.Roles(); len(procs) > 0 {
		c := probe.NewCgroups(procs)
		out = append(out, source{probe: c, close: c.Close})
	}
	if sys.Device != "" && sys.Device != "lo" {
		n, err := probe.NewNIC(sys.Device)
		if err != nil {
			return out, err
		}
		out = append(out, source{probe: n, close: n.Close})
	}
	if dsn := sys.DSN(); dsn != "" {
		kind := map[string]string{plan.PostgreSQL: plan.ProbePostgreSQL, plan.MySQL: plan.ProbeMySQL}[sys.Deployment.Describe().Engine]
		src, err := openProbe(kind, dsn, "db", "db-0")
		if err != nil {
			return out, err
		}
		out = append(out, src)
	}
	around, err := surroundings(sys)
	out = append(out, around...)
	if err != nil {
		return out, err
	}
	listed, err := s.listed(sys)
	return append(out, listed...), err
}

// listed opens the plan's probes. Each has an instance of its own, so that two of one role never share a series.
func (s *Session) listed(sys *deploy.System) (out []source, err error) {
	next := map[string]int{"app": len(sys.Deployment.MetricsURLs())}
	if sys.DSN() != "" {
		next["db"] = 1
	}
	if sys.Proxy() != nil {
		next["proxy"] = 1
	}
	for i, p := range sys.Probes {
		if p.OfProcess() { // among the roles
			continue
		}
		for _, v := range []*string{&p.URL, &p.DSN} {
			if *v, err = plan.Expand(*v, s.Lookup); err != nil {
				return out, plan.Usagef("probes[%d]: %w", i, err)
			}
		}
		s.Hide(p.DSN, p.URL)
		instance := fmt.Sprintf("%s-%d", p.Role, next[p.Role])
		var src source
		if p.OfAgent() {
			src, err = s.openAgent(sys.Probes, i, instance)
		} else {
			src, err = openProbe(p.Kind, p.URL+p.DSN, p.Role, instance)
		}
		if err != nil {
			return out, plan.Usagef("probes[%d]: %w", i, err)
		}
		next[p.Role]++
		out = append(out, src)
	}
	watched, err := s.watched(sys)
	return append(out, watched...), err
}

// openProbe makes a probe. at may be a secret: the name of the probe is made of kind and instance alone.
func openProbe(kind, at, role, instance string) (source, error) {
	labels, name := labelsOf(role, instance), kind+" "+instance
	var src source
	var err error
	switch kind {
	case plan.ProbePrometheus:
		p, err := probe.NewScrape(at, map[string]string{"role": role, "instance": instance})
		if err != nil {
			return source{}, err
		}
		return source{scraper: namedScraper{p, name}, close: p.Close}, nil
	case plan.ProbePprof:
		src, err = sourceOf(probe.NewPprof(at, labels...))
	case plan.ProbeNginx:
		src, err = sourceOf(probe.NewNginx(at, labels...))
	case plan.ProbePostgreSQL:
		src, err = sourceOf(postgresql.New(at, labels...))
	case plan.ProbeMySQL:
		src, err = sourceOf(mysql.New(at, labels...))
	default:
		err = fmt.Errorf("there is no probe of kind %q", kind)
	}
	src.probe = namedProbe{src.probe, name}
	return src, err
}

// sourceOf is a probe that was just opened.
func sourceOf(p closer, err error) (source, error) {
	if err != nil {
		return source{}, err
	}
	return source{probe: p, close: p.Close}, nil
}

type closer interface {
	probe.Probe
	Close() error
}

// openAgent makes the probe of another host, by its index.
func (s *Session) openAgent(probes []plan.Probe, index int, instance string) (source, error) {
	name, err := s.watchers.of(s.Plan, probes, index)
	if err != nil {
		return source{}, err
	}
	r := agent.NewRemote(agent.RemoteConfig{
		Ask: s.watchers.hall.Reader(name), Role: probes[index].Role, Instance: instance,
	})
	return source{probe: r, close: nothing}, nil
}

// nothing closes what needs no close.
func nothing() error { return nil }

// agentOf returns the role and instance of an agent in a probe's name.
func agentOf(name string) (role, instance string, ok bool) {
	instance, ok = strings.CutPrefix(name, plan.ProbeAgent+" ")
	if i := strings.LastIndexByte(instance, '-'); ok && i > 0 {
		return instance[:i], instance, true
	}
	return "", "", false
}

// agentSteal returns the keys of the samples of steal on the hosts that have an agent, other than those of users.
func agentSteal(runner *probe.Runner) (keys []string) {
	for _, st := range runner.Status() {
		if role, instance, ok := agentOf(st.Name); ok && role != "generator" {
			keys = append(keys, fmt.Sprintf("plimsoll_cpu_steal_ratio{instance=%q,role=%q}", instance, role))
		}
	}
	return keys
}

// clockBound is how far another host's clock may be away, so that its log files fit a run to the second that they are
// read by.
const clockBound = 500 * time.Millisecond

// clockFindings names the agents whose clocks are not this host's. Series do not depend on them: see watch/probe/agent.
func clockFindings(runner *probe.Runner) (out []record.Finding) {
	for _, st := range runner.Status() {
		role, instance, ok := agentOf(st.Name)
		if !ok {
			continue
		}
		of := fmt.Sprintf("{instance=%q,role=%q}", instance, role)
		offset, _, known := runner.Last("plimsoll_agent_clock_offset_seconds" + of)
		way, _, _ := runner.Last("plimsoll_agent_round_trip_seconds" + of)
		f := record.Finding{Gate: "clock of agent", Level: record.Amber, Value: offset, Limit: clockBound.Seconds(), Unit: "s"}
		which := "ahead of"
		if offset < 0 {
			which = "behind"
		}
		switch {
		case !known: // it has no data, which is a finding of its own
			continue
		case math.Abs(offset) > clockBound.Seconds():
			f.Text = fmt.Sprintf("the clock of %s is %.3f s %s this host's (±%.3f s): series are stored by this host's and stay right, but log files there do not fit the run; let both follow NTP, as chrony does",
				instance, math.Abs(offset), which, way/2)
		case way/2 > clockBound.Seconds():
			f.Value = way / 2
			f.Text = fmt.Sprintf("the clock of %s can only be compared to ±%.3f s, so slow are its answers", instance, way/2)
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

type namedProbe struct {
	probe.Probe
	name string
}

func (p namedProbe) Name() string { return p.name }

type namedScraper struct {
	probe.Scraper
	name string
}

func (p namedScraper) Name() string { return p.name }

// survey finds the network device towards a deployed target and tries each of the plan's probes once, so that a
// wrong address or a missing privilege is known before the first run and not after it.
func (s *Session) survey(ctx context.Context, sys *deploy.System) error {
	u, err := url.Parse(sys.Deployment.URL())
	if err != nil {
		return errors.New("the target's URL cannot be parsed")
	}
	if err := s.awaitWatchers(ctx, sys.Probes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	if sys.Device, err = probe.RouteDevice(ctx, u.Hostname()); err != nil {
		return err
	}
	sources, err := s.listed(sys)
	defer closeSources(sources)
	if err != nil {
		return err
	}
	asked := slices.DeleteFunc(slices.Clone(sys.Probes), plan.Probe.OfProcess)
	for i, src := range sources {
		err = src.try(ctx)
		if err != nil && i >= len(asked) {
			return fmt.Errorf("metrics.prometheus of the plan (%s): %w", src.probe.Name(), err)
		}
		if err != nil {
			p := asked[i]
			i = slices.Index(sys.Probes, p)
			return fmt.Errorf("probes[%d] of the plan (%s, role %s): %w", i, p.Kind, p.Role, err)
		}
	}
	if site, ok := sys.Deployment.(*external.Site); ok {
		site.Note(seenFact, seenText(sources, sys.Deployment.MetricsURLs(), s.Secrets))
	}
	return nil
}

// seenFact is the fact of a description that names the servers that probes found.
const seenFact = "seen"

// mostServer bounds the name that a server gives itself, in bytes.
const mostServer = 80

// seenText is what a survey saw of a target that others run: the servers that its probes found, and how many servers
// are known by a page of metrics. Empty if it saw nothing. Secrets in what a server calls itself are replaced.
func seenText(sources []source, pages []string, secrets *plain.Secrets) string {
	var seen []string
	if len(pages) > 1 {
		seen = append(seen, fmt.Sprintf("metrics of %d servers", len(pages)))
	}
	agents := map[string]int{}
	for _, src := range sources {
		if src.probe == nil {
			continue
		}
		if role, _, ok := agentOf(src.probe.Name()); ok {
			agents[role]++
			continue
		}
		p := src.probe
		if named, ok := p.(namedProbe); ok {
			p = named.Probe
		}
		if v, ok := p.(interface{ Server() string }); ok && v.Server() != "" {
			_, instance, _ := strings.Cut(src.probe.Name(), " ")
			seen = append(seen, instance+" "+plain.Excerpt(secrets.Redact(v.Server()), mostServer))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(agents)) {
		seen = append(seen, fmt.Sprintf("%d × agent of %s", agents[role], role))
	}
	return strings.Join(seen, "; ")
}

func closeSources(sources []source) {
	for _, s := range sources {
		_ = s.close() // nothing was written
	}
}
