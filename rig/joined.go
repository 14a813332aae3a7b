package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/health/sources"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/agent"
)

// FleetDoor is where agents on other hosts come to.
type FleetDoor struct {
	// URL is tls://HOST:PORT of a cluster; empty for a server in this process, at Listen.
	URL, Listen string
	// Keys is the coordinator's key file; empty for the one in the store.
	Keys string
}

// FleetKeys is the key file of a store.
func FleetKeys(root string) string { return filepath.Join(root, "fleet.json") }

// readKeys reads a key file.
func readKeys(path string) (*join.Keys, error) {
	keys, err := join.ReadKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, plan.Usagef("no agent is known: there is no key file %s; to make it with the token of the first: plimsoll fleet -new-token FILE", path)
	}
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	return keys, nil
}

// door is where the agents of a program's runs join.
func (pr *Program) door(root string) (d FleetDoor) {
	d = pr.Fleet
	d.Keys = cmp.Or(d.Keys, FleetKeys(root))
	return d
}

// OpenFleet opens the door to the agents that the key file knows. say gets a line for each message that is refused.
func (pr *Program) OpenFleet(d FleetDoor, say func(string, ...any)) (*join.Hall, error) {
	keys, err := readKeys(d.Keys)
	if err != nil {
		return nil, err
	}
	pr.Secrets.Add(keys.Secrets()...)
	build, err := join.Build()
	if err != nil {
		return nil, err
	}
	c := join.HallConfig{Keys: keys, URL: d.URL, Build: build, Version: pr.Version, Say: say}
	if c.URL == "" {
		c.Listen = cmp.Or(d.Listen, join.DefaultListen)
	}
	return join.Open(c)
}

// JoinCommand is the command that an agent needs. A server at all addresses of this host has no name that leads to it
// from everywhere: HOST stands for one.
func JoinCommand(h *join.Hall) string {
	addr := strings.NewReplacer("//[::]:", "//HOST:", "//0.0.0.0:", "//HOST:").Replace(h.Addr())
	return fmt.Sprintf("plimsoll agent -join %s -token-file FILE", addr)
}

// introduce describes this host to a coordinator.
func (pr *Program) introduce(labels map[string]string) join.Introduction {
	in := join.Introduction{Cores: runtime.NumCPU(), Version: pr.Version, Labels: labels}
	in.Host, _ = os.Hostname() // a name for people
	if l, err := probe.ReadLimits(); err == nil {
		in.Files = l.Files
	}
	if c, err := Examine("agent"); err == nil {
		for _, f := range c.Findings {
			if f.Severity == probe.Problem {
				in.Findings = append(in.Findings, f.Check+": "+f.Have)
			}
		}
	}
	return in
}

// An Attendance is how this program is an agent of runs on another host.
type Attendance struct {
	// URL is where the coordinator or the cluster is, and TokenFile the agent's.
	URL, TokenFile string
	Labels         map[string]string
	// Store is the directory that may hold the rating of this host. With Calibrate, a host without one is rated first.
	Store     string
	Calibrate bool
	// Watch is what a host without users sends, for its role; nil for one with users.
	Watch *agent.What
}

// Attend is this program as an agent, until ctx ends.
func (pr *Program) Attend(ctx context.Context, a Attendance) error {
	var readers *agent.Readers
	if a.Watch != nil {
		var err error
		if readers, err = agent.NewReaders(*a.Watch, pr.Version); err != nil {
			return plan.UsageError{Err: err}
		}
		defer readers.Close()
	}
	token, err := join.ReadToken(a.TokenFile)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	pr.Secrets.Add(token.Secrets()...)
	build, err := join.Build()
	if err != nil {
		return err
	}
	progress := NewReporter(pr.RawErr, pr.Secrets, false)
	in := pr.introduce(a.Labels)
	c := join.AgentConfig{Token: token, URL: a.URL, Build: build, Introduce: func() join.Introduction { return in },
		Say: func(format string, args ...any) { progress.Say("agent "+token.Name+": "+format, args...) }}
	if readers != nil {
		in.Role, c.Sample = a.Watch.Role, readers.Answer
	} else {
		in.Rating, c.Serve = pr.ratingOf(ctx, a, progress), pr.serveUsers(progress)
	}
	progress.Say("agent %s: build %s", token.Name, build)
	return join.Attend(ctx, c)
}

// serveUsers is this program as an agent with users in one session.
func (pr *Program) serveUsers(progress *Reporter) func(context.Context, *join.Responder) error {
	start := func(ctx context.Context, n int) ([]io.ReadWriteCloser, func(), error) {
		exe, err := ownProgram()
		if err != nil {
			return nil, nil, err
		}
		l, err := launch(ctx, exe, n, nil, progress.Say)
		if err != nil {
			return nil, nil, err
		}
		return l.links, func() { l.end(ctx) }, nil
	}
	return func(ctx context.Context, st *join.Responder) error {
		watched, err := probe.NewAgentHost(runningProgram)
		if err != nil {
			return err
		}
		defer watched.Close()
		return fleet.ServeHost(ctx, st, st, fleet.HostAgent{Silent: st.Silent, Samples: watched.Sample, Launch: start})
	}
}

// A launched holds processes of this host with users.
type launched struct {
	links    []io.ReadWriteCloser
	children []*lab.Process
	say      func(string, ...any)
}

// launch starts so many processes with users on this host.
func launch(ctx context.Context, exe string, n int, cpus []int, say func(string, ...any)) (*launched, error) {
	l := &launched{say: say}
	for k := range n {
		p, to, err := startAgent(ctx, exe, k, cpus)
		if err != nil {
			l.end(ctx)
			return nil, err
		}
		l.children, l.links = append(l.children, p), append(l.links, to)
	}
	return l, nil
}

func (l *launched) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	closeLinks(l.links)
	for _, p := range l.children {
		if err := p.Stop(ctx); err != nil {
			l.say("agent: %v", err)
		}
	}
}

// tails are the last words of the processes, joined to an error.
func (l *launched) tails(err error) error {
	if l == nil {
		return err
	}
	all := []error{err}
	for k, p := range l.children {
		if t := p.Tail(); t != "" {
			all = append(all, fmt.Errorf("agent %d ended%w", k, plain.Output(t)))
		}
	}
	return errors.Join(all...)
}

// joined are the agents on other hosts of one invocation.
type joined struct {
	hall *join.Hall
	lost []string // the names of those that were lost: runs after that do without
	crew []string // the names of those of the run before; the next one has the same, without those that were lost
}

// openFleet opens the door when the plan's users or probes are on other hosts, and prints what an agent needs. The caller calls
// closed.
func (s *Session) openFleet(root string) (closed func(), err error) {
	if s.Plan.Placement.Agents == nil && !s.Plan.WatchedByAgents() {
		return func() {}, nil
	}
	hall, err := s.OpenFleet(s.door(root), s.Progress.Say)
	if err != nil {
		return nil, err
	}
	s.Progress.Say("agents join by: %s", JoinCommand(hall))
	s.watchers = sources.NewWatchers(hall, JoinCommand(hall))
	if s.Plan.Placement.Agents != nil {
		s.fleet = &joined{hall: hall}
	}
	return hall.Close, nil
}

// chosen returns the agents of a plan among those that answer, and whether they suffice. After the first run they are
// its own, without those that were lost: the runs of one invocation are compared with each other. One that is busy is
// waited for: it may still end the users of the run before.
func (j *joined) chosen(a *plan.Agents, all []join.Member, missing int) ([]join.Member, bool) {
	crew := slices.DeleteFunc(slices.Clone(j.crew), func(name string) bool { return slices.Contains(j.lost, name) })
	var out []join.Member
	busy := 0
	for _, m := range all {
		switch {
		case m.Role != "", !a.Matches(m.Labels), slices.Contains(j.lost, m.Name), len(crew) > 0 && !slices.Contains(crew, m.Name):
		case m.Busy:
			busy++
		default:
			out = append(out, m)
		}
	}
	switch {
	case len(crew) > 0:
		return out, len(out) == len(crew)
	case a.Count == 0:
		return out, len(out) > 0 && missing == 0 && busy == 0
	}
	want := max(a.Count-len(j.lost), 1)
	if len(out) >= want {
		return out[:want], true
	}
	return out, false
}

// await waits for the plan's agents. With some missing at its end, the error has a line for each.
func (s *Session) await(ctx context.Context) ([]join.Member, error) {
	a, hall := s.Plan.Placement.Agents, s.fleet.hall
	var got []join.Member
	s.Progress.Doing("waiting for agents", s.Plan.Fleet.Join)
	all, err := hall.Await(ctx, s.Plan.Fleet.Join, func(ms []join.Member) (ok bool) {
		got, ok = s.fleet.chosen(a, ms, len(s.missing()))
		return ok
	})
	if !errors.Is(err, join.ErrMissing) {
		return got, err
	}
	lines := s.missing()
	for _, m := range all {
		switch {
		case m.Role != "":
			lines = append(lines, fmt.Sprintf("agent %s: it has the probes of role %s and no users", m.Name, m.Role))
		case m.Busy:
			lines = append(lines, fmt.Sprintf("agent %s: another run has it", m.Name))
		case !a.Matches(m.Labels):
			lines = append(lines, fmt.Sprintf("agent %s: its labels do not match", m.Name))
		}
	}
	want := "all that are known"
	if a.Count > 0 {
		want = fmt.Sprint(a.Count)
	}
	if n := len(lines) + len(got); n < a.Count {
		lines = append(lines, fmt.Sprintf("the key file knows %d agents; to add one: plimsoll fleet -new-token FILE", n))
	}
	return nil, fmt.Errorf("%d agents have joined within %v, want %s; on each host: %s\n  %s", len(got), s.Plan.Fleet.Join, want, JoinCommand(hall), strings.Join(lines, "\n  "))
}

// missing are the lines of agents that have not joined, without those that were lost.
func (s *Session) missing() []string {
	return slices.DeleteFunc(s.fleet.hall.Missing(), func(line string) bool {
		return slices.ContainsFunc(s.fleet.lost, func(name string) bool { return strings.HasPrefix(line, "agent "+name+":") })
	})
}

// lead opens links to the agents of a run and returns them with their names. They have answered a moment ago: one that is
// silent now is waited for as it is in a run, for so long.
func (j *joined) lead(ctx context.Context, members []join.Member, resend time.Duration) (links []io.ReadWriteCloser, names []string, err error) {
	if _, err := j.hall.Await(ctx, resend, func(ms []join.Member) bool {
		there := map[string]bool{}
		for _, m := range ms {
			there[m.Name] = true
		}
		return !slices.ContainsFunc(members, func(m join.Member) bool { return !there[m.Name] })
	}); err != nil && !errors.Is(err, join.ErrMissing) { // which a link will name
		return nil, nil, err
	}
	for _, m := range members {
		to, err := j.hall.Link(m.Name)
		if err != nil {
			closeLinks(links)
			return nil, nil, err
		}
		links, names = append(links, to), append(names, m.Name)
	}
	j.crew = names
	return links, names, nil
}

// lostAgents is how many agents on other hosts this invocation has lost.
func (s *Session) lostAgents() int {
	if s.fleet == nil {
		return 0
	}
	return len(s.fleet.lost)
}

// endFleet notes which agents were lost in a run, and keeps what is known of the clocks.
func (s *Session) endFleet(driver *fleet.RemoteDriver, d driving) {
	for _, name := range driver.Lost() {
		if !slices.Contains(s.fleet.lost, name) {
			s.fleet.lost = append(s.fleet.lost, name)
			s.Progress.Say("agent %s is lost: runs after this one do without it", name)
		}
	}
	for _, c := range driver.Readings() {
		text := fmt.Sprintf("clock of %s: %v ahead, give or take %v, drift %.1f ppm; its instants are mapped by that", c.Agent, c.Ahead.Round(time.Microsecond), c.Within.Round(time.Microsecond), 1e6*c.Drift)
		_ = d.w.Event(record.Event{At: d.clock.Now(), Kind: "agent", Text: text})
	}
}

// stalls voids a run in which an agent elsewhere stood still while it was measured: each agent is a generator with a lag
// of its own.
func stalls(d *fleet.RemoteDriver, phases []record.Phase) (out []record.Finding) {
	if d == nil {
		return nil
	}
	type worst struct {
		lag   time.Duration
		ticks int
	}
	agents := map[string]*worst{}
	for _, st := range d.Stalls() {
		counts := slices.ContainsFunc(phases, func(p record.Phase) bool {
			return (p.Name == "measure" || p.Name == "search") && st.At > p.From && st.At <= p.To
		})
		if !counts {
			continue
		}
		w := agents[st.Agent]
		if w == nil {
			w = new(worst)
			agents[st.Agent] = w
		}
		w.lag, w.ticks = max(w.lag, st.Lag), w.ticks+1
	}
	for name, w := range agents {
		out = append(out, record.Finding{Gate: "lag", Level: record.Red, Value: w.lag.Seconds() * 1e3, Limit: 1000, Unit: "ms",
			Text: fmt.Sprintf("%s stood still: it was late by up to %v in %d ticks of the measured time", name, w.lag.Round(time.Millisecond), w.ticks)})
	}
	slices.SortFunc(out, func(a, b record.Finding) int { return strings.Compare(a.Text, b.Text) })
	return out
}
