// Package hosts holds the verbs for the hosts of a test: agent, fleet, calibrate and doctor.
package hosts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/load/fleet"
	"plimsoll/plan"
	"plimsoll/run/users"
	"plimsoll/watch/probe/agent"
)

// watchFlags are what a host without users sends.
type watchFlags struct {
	cpus string
	what agent.What
}

func (f *watchFlags) register(fs *flag.FlagSet) {
	fs.StringVar(
		&f.what.Role,
		"role",
		"",
		"-join: this host has no users, and sends what its probes read, for a plan's probes of kind agent (docs/probes.md); its `role`, such as proxy, becomes the label of all series",
	)
	fs.StringVar(
		&f.cpus,
		"cpus",
		"",
		"-role: `cores` of the role when it shares the host, such as 0,2-3 (default: all)",
	)
	fs.Func(
		"pid",
		"-role: also watch a process with its children and control group: `ROLE=FILE` that holds its number, or ROLE=NUMBER; again for more",
		f.addPID,
	)
	fs.Func("nic", "-role: also watch this network `device`; again for more", func(s string) error {
		f.what.NICs = append(f.what.NICs, s)
		return nil
	})
	fs.StringVar(
		&f.what.Nginx,
		"nginx",
		"",
		"-role: also watch the nginx with this stub_status `URL`",
	)
	fs.StringVar(
		&f.what.Pprof,
		"pprof",
		"",
		"-role: also watch the Go server with profiles at this `URL`, which ends in /debug/pprof",
	)
	fs.BoolFunc("probe", "gone: an agent joins runs; see -join and -role", func(string) error {
		return errors.New(
			"an agent serves no page any more; it joins runs: plimsoll agent -join URL -token-file FILE -role ROLE, and the plan has probes: [{kind: agent, role: ROLE}]",
		)
	})
}

func (f *watchFlags) addPID(s string) error {
	role, from, ok := strings.Cut(s, "=")
	if !ok || role == "" || from == "" {
		return fmt.Errorf("want ROLE=FILE or ROLE=NUMBER")
	}
	for i := range f.what.Processes {
		if p := &f.what.Processes[i]; p.Role == role {
			p.From = append(p.From, from)
			return nil
		}
	}
	f.what.Processes = append(f.what.Processes, agent.Processes{Role: role, From: []string{from}})
	return nil
}

// watch is what a host without users sends; nil for one with users.
func watch(a *app.App, f watchFlags) (*agent.What, error) {
	if f.what.Role == "" {
		if f.any() {
			return nil, plan.Usagef(
				"-cpus, -pid, -nic, -nginx and -pprof are of a host without users: give its -role, such as -role proxy",
			)
		}
		return nil, nil
	}
	if f.cpus != "" {
		if err := f.what.SetCPUs(f.cpus); err != nil {
			return nil, plan.Usagef("-cpus: %w", err)
		}
	}
	f.what.Panicked = a.Panicked
	return &f.what, nil
}

// any reports whether something is to be watched.
func (f *watchFlags) any() bool {
	w := f.what
	return f.cpus != "" || len(w.Processes)+len(w.NICs) > 0 || w.Nginx+w.Pprof != ""
}

// Agent is the verb: this program as an agent of a run that another process leads, with users or
// with the probes of this host.
func Agent(ctx context.Context, a *app.App) error {
	fs := a.Flags
	stdio := fs.Bool(
		"stdio",
		false,
		"take requests from stdin and reply on stdout; \"run\" and its like start agents so when one process cannot hold all users",
	)
	joins := fs.String(
		"join",
		"",
		"join runs that a coordinator at this `URL` leads: nats://HOST:PORT, or tls://HOST:PORT of a cluster (docs/agents.md)",
	)
	token := fs.String(
		"token-file",
		"",
		"-join: `file` that plimsoll fleet -new-token has made; only its owner and group may read it",
	)
	labels, root := labelFlag(fs), a.StoreFlag()
	rate := fs.Bool(
		"calibrate",
		false,
		"-join: rate this host for 20 s first when the store has no rating of it, for placement.share: rating",
	)
	var wf watchFlags
	wf.register(fs)
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	watch, err := watch(a, wf)
	switch {
	case err != nil:
		return err
	case *stdio && (*joins != "" || watch != nil):
		return plan.Usagef(
			"-stdio has users of a run on this host, and -join and -role are for runs on another: choose one",
		)
	case *joins != "":
		attendance := users.Attendance{URL: *joins, TokenFile: *token, Labels: labels, Watch: watch}
		return a.Program().Attend(ctx, attendance, *root, *rate)
	case !*stdio:
		return plan.Usagef(
			"what is this agent for? -join: users of runs on another host, or with -role this host's numbers for them; -stdio: users of a run on this host",
		)
	}
	out, _ := a.Raw() // of messages, whose errors are gated where they are made
	return fleet.Serve(ctx, a.Stdin, out, a.Program().AgentBuilder().Build)
}
