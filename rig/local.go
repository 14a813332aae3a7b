package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/deploy"
	"plimsoll/target/container"
	"plimsoll/target/external"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// Programs that listen in the place of others, by their names.
var (
	tunnelNames   = []string{"ssh", "kubectl"} // to another host
	proxyNames    = []string{"apache2", "caddy", "docker-proxy", "envoy", "haproxy", "httpd", "nginx", "rootlessport", "traefik"}
	databaseNames = []string{"mariadbd", "mysqld", "postgres"}
)

// A local is the part of a target of others that runs on this host.
type local struct {
	at        []netip.AddrPort // where it is reached, by addresses of this host
	listening []int            // the processes that accept connections there
	roles     map[string][]int // the first processes of each role that was found
	// apart is true if none of them may run on the generator's cores.
	apart    bool
	confined *lab.Confinement
	text     string // reported last
	// inTurns is true in a duet: nothing of others is paused, so that a probe would count the turns of the other arms.
	inTurns bool
}

// reachedHere returns the addresses of this host that URLs lead to.
func reachedHere(urls []string) (out []netip.AddrPort) {
	own := ownAddresses()
	for _, at := range urls {
		u, err := url.Parse(at)
		if err != nil {
			continue
		}
		for _, x := range endpointsOf(u, lookUpHost) {
			if own.has(x.Addr()) {
				out = append(out, x)
			}
		}
	}
	return out
}

// besides reports whether servers of others are on this host, so that the generator needs cores of its own: those of
// the plan's target and arms that are yet to be installed, or whose processes are seen. A server that cannot be
// looked up is reported when it is deployed.
func (pr *Program) besides(p *plan.Plan) bool {
	if p.Target.OwnHost() || p.Placement.Agents != nil {
		return false
	}
	urls := slices.Clone(p.Target.URL)
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			urls = append(urls, a.URL...)
		}
	}
	t, err := pr.Resolve(plan.Target{URL: urls}, plan.Workload{})
	if err != nil {
		return false
	}
	for _, at := range reachedHere(t.URL) {
		pids, listens, err := probe.Listeners(at)
		if err == nil && (!listens && len(p.Target.Install) > 0 || len(pids) > 0 && !tunnel(pids)) {
			return true
		}
	}
	return false
}

// tunnel reports whether processes listen for a server on another host.
func tunnel(pids []int) bool { return slices.Contains(tunnelNames, probe.Command(pids[0])) }

// locate finds the processes of a target of others on this host, and keeps them off the generator's cores unless the
// plan places the generator itself. It is called before each run, because a reset may have restarted the target.
func (s *Session) locate(ctx context.Context, sys *deploy.System, inTurns bool) error {
	site, ok := sys.Deployment.(*external.Site)
	if !ok {
		return nil
	}
	named, err := namedProcesses(ctx, sys)
	if err != nil {
		return err
	}
	l := cmp.Or(localOf(sys), new(local))
	l.inTurns = inTurns
	if err := l.find(ctx, reachedHere(site.URLs()), site.URL(), sys.Ready); err != nil {
		return err
	}
	if len(l.at) == 0 && len(named) == 0 {
		return nil
	}
	for role, pids := range l.roles {
		l.roles[role] = slices.DeleteFunc(pids, func(pid int) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(named)), func(own []int) bool { return slices.Contains(own, pid) })
		})
	}
	maps.DeleteFunc(l.roles, func(_ string, pids []int) bool { return len(pids) == 0 })
	maps.Copy(l.roles, named)
	sys.Local = l
	if len(s.generator) > 0 && s.fleet == nil {
		s.confine(l)
	}
	if text := s.placeText(l); text != l.text {
		l.text = text
		s.Progress.Say("%s", text)
	}
	site.Note(hereFact, l.rolesText())
	return nil
}

// hereFact is the fact of a description that names the processes of the target on this host.
const hereFact = "processes here"

// namedProcesses returns the processes that the plan names, by role.
func namedProcesses(ctx context.Context, sys *deploy.System) (map[string][]int, error) {
	out := map[string][]int{}
	for i, p := range sys.Probes {
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

// find looks for the processes that listen at addresses of this host, and for those that they hand requests to.
func (l *local) find(ctx context.Context, at []netip.AddrPort, server, ready string) error {
	l.at = nil
	var listening []int
	found := map[string][]int{}
	for _, x := range at {
		pids, listens, err := probe.Listeners(x)
		if err != nil {
			return fmt.Errorf("looking for the process that listens at %s: %w", x, err)
		}
		if !listens || len(pids) > 0 && tunnel(pids) {
			continue
		}
		l.at = append(l.at, x)
		listening = append(listening, pids...)
		for _, pid := range pids {
			addTo(found, programRole(pid, "app"), pid)
		}
	}
	if l.roles != nil && slices.Equal(listening, l.listening) {
		return nil
	}
	l.roles = found
	l.listening = listening
	if front := found["proxy"]; len(front) > 0 && len(found["app"]) == 0 {
		for _, pid := range slices.Concat(callees(front), behind(ctx, cmp.Or(ready, server), server, l.at)) {
			addTo(found, programRole(pid, "app"), pid)
		}
	}
	for _, pid := range callees(found["app"]) {
		if programRole(pid, "") == "db" {
			addTo(found, "db", pid)
		}
	}
	return nil
}

func addTo(roles map[string][]int, role string, pid int) {
	for _, pids := range roles {
		if slices.Contains(pids, pid) {
			return
		}
	}
	roles[role] = append(roles[role], pid)
}

// programRole returns the role of a process by the name of its program, or another one if that is not known.
func programRole(pid int, other string) string {
	switch name := probe.Command(pid); {
	case slices.Contains(proxyNames, name):
		return "proxy"
	case slices.Contains(databaseNames, name):
		return "db"
	}
	return other
}

// callees returns the processes of this host that some others have connections to.
func callees(pids []int) []int {
	if len(pids) == 0 {
		return nil
	}
	to, _ := probe.Callees(pids)
	return listenersAt(to)
}

// listenersAt returns the processes that accept connections at those addresses that are of this host.
func listenersAt(all []netip.AddrPort) (pids []int) {
	own := ownAddresses()
	for _, at := range all {
		if own.has(at.Addr()) {
			found, _, _ := probe.Listeners(at)
			pids = append(pids, found...)
		}
	}
	return pids
}

// knocks are how many requests are sent through a proxy to find the server behind it, one set after another: a proxy may
// open a connection for each of them alone, and other servers of the host do not get as many in each set by chance.
var knocks = []int{7, 20, 3}

// behind returns the processes behind a proxy at front: the one address that gets as many connections as requests for a
// page of the server are sent. It returns none if there are several.
func behind(ctx context.Context, page, server string, front []netip.AddrPort) []int {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	if strings.HasPrefix(page, "/") {
		page = strings.TrimSuffix(server, "/") + page
	}
	var to []netip.AddrPort
	for i, n := range knocks {
		opened, err := knock(ctx, page, n)
		if err != nil {
			return nil
		}
		fits := func(at netip.AddrPort) bool { return opened[at] == n || opened[at] == n+1 }
		if i == 0 {
			to = slices.Collect(maps.Keys(opened))
		}
		to = slices.DeleteFunc(to, func(at netip.AddrPort) bool { return !fits(at) || slices.Contains(front, at) })
	}
	if len(to) != 1 {
		return nil
	}
	return listenersAt(to)
}

// knock requests a page so often, and returns how many connections were opened meanwhile, by address.
func knock(ctx context.Context, page string, times int) (map[netip.AddrPort]int, error) {
	before, err := probe.Connections()
	if err != nil {
		return nil, err
	}
	for range times {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return nil, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return nil, err
		}
	}
	after, err := probe.Connections()
	opened := map[netip.AddrPort]int{}
	for c := range after {
		if !before[c] {
			opened[c.To]++
		}
	}
	return opened, err
}

// localOf returns the part of a system of others that runs on this host; nil if there is none.
func localOf(sys *deploy.System) *local {
	l, _ := sys.Local.(*local)
	return l
}

// PIDs implements [deploy.Local].
func (l *local) PIDs() map[string][]int { return l.roles }

// Watched implements [deploy.Local].
func (l *local) Watched() bool { return !l.inTurns }

// pids returns the first processes of all roles.
func (l *local) pids() (all []int) {
	for _, role := range slices.Sorted(maps.Keys(l.roles)) {
		all = append(all, l.roles[role]...)
	}
	return all
}

// confine keeps the target off the generator's cores where it may run there, unless the plan names these, and notes
// whether it is off them.
func (s *Session) confine(l *local) {
	family, err := probe.Family(l.pids())
	if err != nil || len(family) == 0 {
		l.apart = false
		return
	}
	free := func() bool {
		return !slices.ContainsFunc(family, func(pid int) bool {
			cpus, err := lab.AllowedCPUs(pid)
			return err == nil && slices.ContainsFunc(cpus, func(c int) bool { return slices.Contains(s.generator, c) })
		})
	}
	if l.apart = free(); l.apart || len(s.Plan.Placement.Generator) > 0 || len(s.targets) == 0 {
		return
	}
	c, err := lab.Confine(family, s.targets)
	if err != nil {
		return
	}
	if l.confined == nil { // else of a server that was started again
		l.confined = c
	}
	l.apart = free()
}

// End lets the target run where it ran before.
func (l *local) End() error {
	if l.confined == nil {
		return nil
	}
	family, err := probe.Family(l.pids())
	return errors.Join(err, l.confined.End(family))
}

// onOneHost reports whether a system is on this host, with the generator.
func (s *Session) onOneHost(sys *deploy.System) bool {
	l := localOf(sys)
	return s.Plan.Target.OwnHost() || l != nil && len(l.at) > 0 && s.fleet == nil
}

// coresOf returns the cores of a system on this host that are not the generator's; nil where it may use all.
func (s *Session) coresOf(sys *deploy.System) []int {
	if l := localOf(sys); s.Plan.Target.OwnHost() || l != nil && l.apart {
		return s.targets
	}
	return nil
}

// placeText describes where the target and the generator run.
func (s *Session) placeText(l *local) string {
	text := "the target is on this host"
	if of := l.rolesText(); of != "" {
		text += ": " + of
	} else {
		text += ", in a process that is not seen: it is this program's or another user's; run as root, or name it (probes: kind pid)"
	}
	if len(l.roles["proxy"]) > 0 && len(l.roles["app"]) == 0 {
		text += "; the server behind it was not found: name it (probes: kind pid)"
	}
	switch {
	case len(s.generator) == 0 || s.fleet != nil:
	case l.apart && l.confined != nil:
		text += fmt.Sprintf("; the generator has core %s for itself, and the target is kept on %s until the end", report.Cores(s.generator), report.Cores(s.targets))
	case l.apart:
		text += fmt.Sprintf("; the generator has core %s for itself", report.Cores(s.generator))
	default:
		text += fmt.Sprintf("; it may run on the generator's core %s too: taskset -acp %s PID keeps it off", report.Cores(s.generator), report.Cores(s.targets))
	}
	return text
}

// rolesText names the processes of each role: "nginx 12 (proxy), postgres 34 (db)".
func (l *local) rolesText() string {
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(l.roles)) {
		for _, pid := range l.roles[role] {
			parts = append(parts, fmt.Sprintf("%s %d (%s)", probe.Command(pid), pid, role))
		}
	}
	return strings.Join(parts, ", ")
}
