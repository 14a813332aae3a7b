// Command fleetshow puts the users of one plan into one process and onto agents on several hosts,
// and says whether the two loads are the same.
//
// Hosts are network namespaces on one switch: the reference server with its database, and those of
// the agents, which join over nats://. The coordinator, the agents and the process that has all
// users alone are the program under test, bin/plimsoll, each started as a person would. Between two
// runs the database is restored and the server restarted.
//
// The scene counts prints a table of operations by name and class, and of deliveries; see [compare]
// for how far two counts may be apart. The scene clock compares the medians of deliveries, with the
// clock of one host 3 s ahead and gaining 50 millionths.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"plimsoll/studies/study"
	"plimsoll/target/lab/netns"
)

func main() { study.Main(run) }

// scenes are what can be shown, by name.
var scenes = map[string]struct {
	play   func(context.Context, *stage) error
	server []string // arguments of the reference server
}{"counts": {play: counts}, "clock": {clock, []string{slowHub}}, "resume": {play: resume}}

// A show is what the flags ask for.
type show struct {
	scene                       string
	program, dir                string
	self                        string // this program
	serverArgs                  []string
	hosts, agents, processes    int // hosts, agents of each, processes of each agent
	users, channels, yardsticks int
	seed                        uint64
	ramp, settle, measure       time.Duration
	pace                        float64
	serverCPUs, agentCPUs       []int
}

// run checks the arguments and carries out the scene.
func run(ctx context.Context, args []string) (err error) {
	if len(args) > 0 && args[0] == skewVerb {
		return skewedAgent(ctx, args[1:])
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	if err := netns.Possible(); err != nil {
		return err
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "fleetshow-"); err != nil {
			return err
		}
		if err := os.Chmod(s.dir, 0o755); err != nil { // the database has a user of its own
			return err
		}
		defer os.RemoveAll(s.dir)
	}
	scene := scenes[s.scene]
	s.serverArgs = scene.server
	st, err := s.build(ctx)
	defer func() { err = errors.Join(err, st.Down(ctx)) }()
	if err != nil {
		return err
	}
	return scene.play(ctx, st)
}

func parse(args []string) (*show, error) {
	fs := flag.NewFlagSet("fleetshow", flag.ContinueOnError)
	var s show
	fs.StringVar(
		&s.scene,
		"scene",
		"counts",
		"the `name` of what is shown: counts, clock or resume",
	)
	fs.StringVar(&s.program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(
		&s.dir,
		"dir",
		"",
		"`directory` for stores and the database, which stay; empty: one that is removed at the end",
	)
	fs.IntVar(&s.hosts, "hosts", 5, "hosts with agents, 1 to 20")
	fs.IntVar(&s.agents, "agents", 2, "agents of each host, 1 to 10")
	fs.IntVar(&s.processes, "processes", 1, "processes of each agent, 1 to 16")
	fs.IntVar(&s.users, "users", 1000, "users, 2 to 100,000")
	fs.IntVar(&s.channels, "channels", 0, "channels; 0: one for ten users")
	fs.IntVar(
		&s.yardsticks,
		"one",
		2,
		"runs of one process, 2 to 10: they differ by what the wall clock decides",
	)
	fs.Uint64Var(&s.seed, "seed", 7, "seed of all runs")
	fs.DurationVar(&s.ramp, "ramp", 20*time.Second, "users begin evenly over this `time`")
	fs.DurationVar(&s.settle, "settle", 10*time.Second, "`time` until the measured phase")
	fs.DurationVar(&s.measure, "measure", 3*time.Minute, "`time` of the measured phase")
	fs.Float64Var(&s.pace, "pace", 1, "pace of the users")
	server := fs.String(
		"server-cores",
		"",
		"comma-separated `cores` of server and database; empty: any",
	)
	agent := fs.String(
		"agent-cores",
		"",
		"comma-separated `cores` of agents and coordinator; empty: any",
	)
	if err := study.Parse(fs, args); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name      string
		n, lo, hi int
	}{{"hosts", s.hosts, 1, 20}, {"agents", s.agents, 1, 10}, {"processes", s.processes, 1, 16}, {"users", s.users, 2, 100_000}, {"one", s.yardsticks, 2, 10}} {
		if c.n < c.lo || c.n > c.hi {
			return nil, fmt.Errorf("-%s %d: want %d to %d", c.name, c.n, c.lo, c.hi)
		}
	}
	if _, ok := scenes[s.scene]; !ok {
		return nil, fmt.Errorf("-scene %q: there is no such scene", s.scene)
	}
	if s.channels == 0 {
		s.channels = max(2, s.users/10)
	}
	var err error
	if s.serverCPUs, err = study.Cores(*server); err != nil {
		return nil, fmt.Errorf("-server-cores: %w", err)
	}
	if s.agentCPUs, err = study.Cores(*agent); err != nil {
		return nil, fmt.Errorf("-agent-cores: %w", err)
	}
	s.self, err = os.Executable()
	return &s, errors.Join(err, study.Absolute(&s.dir), study.Built(&s.program))
}

// plan is the plan of all runs; placement is the only difference. The hosts share one machine, so
// that the server is a neighbor of every agent: the gate others is open.
func (s *show) plan(url, placement string) string {
	return fmt.Sprintf(`name: fleetshow
seed: %d
target: {driver: external, url: %q, ready: /api/v4/system/ping}
%s
workload: {behavior: poster, share: 50%%, with: {mattermost: 50%%}, pace: %g, params: {channels: "%d", admin_password: "${ENV:FLEETSHOW_ADMIN}"}}
bounded: {users: %d, ramp: %v, settle: %v, measure: %v}
gates: {others: {amber: 100%%, red: 100%%}}
`, s.seed, url, placement, s.pace, s.channels, s.users, s.ramp, s.settle, s.measure)
}

// placement has the users on the agents.
func (s *show) placement() string {
	return fmt.Sprintf("placement: {agents: %d, processes: %d}", s.hosts*s.agents, s.processes)
}
