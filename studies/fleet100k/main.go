// Command fleet100k holds a hundred thousand simulated users on one machine, and says what that
// took, or what stopped it.
//
// Agents and null servers are processes in network namespaces of their own on one switch, each with
// its own ports and its own limit of open files. The agents are led over pipes by a coordinator of
// package fleet. Each user has an HTTP connection and a WebSocket. The table of
// studies/results/fleet-100k.md has a row for every try; fleet-100k.jsonl beside it keeps them.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/studies/study"
)

func main() { study.Main(run) }

// A task is what is to be held, and how.
type task struct {
	program, results string
	self             string // this program, for the agents
	users            int
	agents, servers  int
	files            int // that one process may open
	ramp, hold       time.Duration
	push             float64
	table            bool  // of the tries that there are, and no try
	agentCPU, server []int // cores; empty for any
}

// settle is how long after the ramp the hold begins: a user's first actions are over by then.
const settle = 10 * time.Second

// perUser is how many sockets a user keeps, and reserve how many files a process may have open
// besides.
const (
	perUser = 2
	reserve = 600
)

// run checks the arguments, and carries them out in a network of its own.
func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == agentVerb:
		return serveAgent(ctx)
	case len(args) > 0 && args[0] == seatVerb:
		return seated(ctx, args[1:])
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.table {
		return write(s.results)
	}
	return s.isolate(ctx, args)
}

// seated carries the arguments out in the network of this program, which must be one of its own.
func seated(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if err := alone(ctx); err != nil {
		return err
	}
	row, err := s.try(ctx)
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		row.Stopped = study.OneLine(err.Error())
	}
	fmt.Print(table([]Try{row}))
	if s.results != "" {
		if err := errors.Join(study.Append(filepath.Join(s.results, dataFile), row), write(s.results)); err != nil {
			return err
		}
	}
	if row.Stopped != "" {
		return fmt.Errorf("%d users were not held: %s", s.users, row.Stopped)
	}
	return nil
}

func parse(args []string) (*task, error) {
	fs := flag.NewFlagSet("fleet100k", flag.ContinueOnError)
	var s task
	fs.StringVar(&s.program, "program", "bin/plimsoll", "`path` of plimsoll, for the null servers")
	fs.StringVar(
		&s.results,
		"results",
		"",
		"`directory` of fleet-100k.md and fleet-100k.jsonl, which get this try; empty: none",
	)
	fs.IntVar(&s.users, "users", 100_000, "users, 1 to 1,000,000")
	fs.IntVar(&s.agents, "agents", 0, "agents; 0: as many as the limit of open files demands")
	fs.IntVar(&s.servers, "servers", 0, "null servers; 0: likewise")
	fs.IntVar(
		&s.files,
		"files",
		20_000,
		"most `files` that one process may have open; it is never raised",
	)
	fs.DurationVar(
		&s.ramp,
		"ramp",
		0,
		"users begin evenly over this `time`; 0: four milliseconds for each",
	)
	fs.DurationVar(&s.hold, "hold", 10*time.Minute, "all users are held for this `time`")
	fs.Float64Var(
		&s.push,
		"push",
		0.02,
		"events per second that a null server sends to each WebSocket",
	)
	fs.BoolVar(&s.table, "table", false, "try nothing: write the table of the tries that there are")
	agentCPU := fs.String("agent-cores", "", "comma-separated `cores` of the agents; empty: any")
	server := fs.String(
		"server-cores",
		"",
		"comma-separated `cores` of the null servers; empty: any",
	)
	if err := study.Parse(fs, args); err != nil {
		return nil, err
	}
	var err error
	for _, c := range []struct {
		text string
		to   *[]int
	}{{*agentCPU, &s.agentCPU}, {*server, &s.server}} {
		if *c.to, err = study.Cores(c.text); err != nil {
			return nil, err
		}
	}
	room := (s.files - reserve) / perUser // users of one process
	switch {
	case s.users < 1 || s.users > 1_000_000:
		return nil, fmt.Errorf("-users %d: want 1 to 1,000,000", s.users)
	case room < 1:
		return nil, fmt.Errorf("-files %d: want more than %d", s.files, reserve+perUser)
	}
	least := (s.users + room - 1) / room
	s.agents, s.servers = cmp.Or(s.agents, least), cmp.Or(s.servers, least)
	if s.agents < least || s.servers < least || s.agents+s.servers > mostMachines {
		return nil, fmt.Errorf(
			"%d agents and %d servers: want at least %d each for %d users with %d sockets each, and at most %d together",
			s.agents,
			s.servers,
			least,
			s.users,
			perUser,
			mostMachines,
		)
	}
	s.ramp = cmp.Or(s.ramp, time.Duration(s.users)*4*time.Millisecond)
	s.self, err = os.Executable()
	return &s, errors.Join(err, study.Built(&s.program))
}
